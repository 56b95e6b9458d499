"""Rewrites of waits for an mbarrier phase: each pattern of libraries and compilers becomes one call.

Arguments that the waits of a module share are bound once: `wait = partial(ptx.mbarrier.wait, form=…)`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias, cast

from pyptx_dsl.instructions.groups.wait_forms import FORMS, SPACE, WaitOptions
from pyptx_ir.plugins.rows import SugarRule
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.planning.plan import Constant, Rewrite
from pyptx_transpile.printing.layout import call
from pyptx_transpile.printing.values import number, quoted
from pyptx_transpile.rules.wait_shapes import waits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyptx_transpile.planning.plan import RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.printing.layout import Expression
    from pyptx_transpile.reading.rows import Body, Row
    from pyptx_transpile.rules.wait_shapes import WaitMatch

__all__ = ["WAIT", "Options", "common", "keywords", "literal"]

Options: TypeAlias = "tuple[tuple[str, object], ...]"
"""Keyword arguments of `ptx.mbarrier.wait` that are strings, names and numbers."""

_USUAL: Mapping[str, object] = {
    "form": "retry",
    "poll": "try_wait",
    "parity": True,
    "space": SPACE,
    "uniform": False,
    "nanoseconds": tree.Immediate("20"),
    "selp": "selp.b32",
    "setp": "setp.eq.s32",
    **dict.fromkeys(("sem", "scope", "loc")),
}
"""Defaults of `ptx.mbarrier.wait`."""

_KEYWORDS = tuple(WaitOptions.__annotations__)
# Keywords of `ptx.mbarrier.wait` that differ between calls, so that no constant holds them.
_OF_ONE = frozenset({"loc"})
# Names of printed constants for keywords that several waits share; reserved by names.py.
_NAMES = ("wait", "wait_2", "wait_3")
_LEAST = 2  # minimum number of mbarrier waits that share keywords, and of keywords that they share


def find(body: Body, _plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield a rewrite for each mbarrier wait of a body."""
    for found in waits(body):
        yield _rewrite(found, body.row.derived(_named).get(common(found)))


def _rewrite(found: WaitMatch, constant: Constant | None) -> Rewrite:
    def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
        printer.deviation(found.start)
        arguments: list[Expression] = [_computed(printer, found, name) for name in ("mbar", "phase")]
        arguments += keywords(printer, found, () if constant is None else common(found))
        printer.page.say(call("ptx.mbarrier.wait" if constant is None else constant.name, arguments))

    loops = "again:" in FORMS[found.form].steps
    shared = () if constant is None else (constant,)
    return Rewrite("wait", found.start, found.end, write, opens=0, shared=shared, loops=loops, lines=1)


def keywords(printer: BodyPrinter, found: WaitMatch, said: Options) -> list[str]:
    """Return a wait's keyword arguments, except those in `said`, which the printed file's `wait` constant binds."""
    names = {name for name, _ in said}
    literals = {name: value for name, value in _literals(found).items() if name not in names}
    operands = _more(found, is_number=False)
    written = [f"{name}={literal(value)}" for name, value in literals.items()]
    return [*written, *(f"{name}={printer.values.expression(value)}" for name, value in operands.items())]


def _computed(printer: BodyPrinter, found: WaitMatch, name: str) -> str:
    """Return the Python expression for the mbarrier or phase; a lambda if each poll computes the operand."""
    operand = found.operands[name]
    if isinstance(operand, tree.Address) and operand.offset is None:
        operand = operand.base if isinstance(operand.base, tree.Register) else operand
    for at in found.computed:
        node = printer.body.branch(at)
        if node.operands[0] == operand:
            return f"lambda: {printer.called(node)}"
    return printer.values.expression(operand)


def _literals(found: WaitMatch) -> dict[str, object]:
    """Return the keywords whose values are strings, names and numbers, except default values."""
    knobs = {"form": found.form, **found.knobs, **_more(found, is_number=True)}
    return {name: knobs[name] for name in _KEYWORDS if name in knobs and _USUAL.get(name, ...) != knobs[name]}


def _more(found: WaitMatch, *, is_number: bool) -> dict[str, tree.Operand]:
    """Return a wait's operands other than mbarrier and phase: the constants if `is_number`, else the registers."""
    more = {name: value for name, value in found.operands.items() if name not in {"mbar", "phase"}}
    return {name: value for name, value in more.items() if isinstance(value, tree.Immediate) == is_number}


def literal(value: object) -> str:
    """Return the Python expression for a keyword's value: a string, a name, a number, or a tuple of these."""
    match value:
        case str():
            return quoted(value)
        case tree.Immediate(text):
            return number(text, 0)
        case tuple():
            return f"({', '.join(map(literal, cast('tuple[object, ...]', value)))})"
        case _:
            return repr(value)


# --- shared keywords --------------------------------------------------------------------------------


def common(found: WaitMatch) -> Options:
    """Return the keywords of a wait that other waits may share: those without labels of its function."""
    own = _OF_ONE if found.declares and found.form != "poll_retry" else {*_OF_ONE, "label", "past_label"}
    return tuple([(name, value) for name, value in _literals(found).items() if name not in own])


def _named(row: Row) -> dict[Options, Constant]:
    """Return the sets of keywords that waits of a module share, each with a constant's name; most frequent first."""
    counts = Counter(common(found) for body in row.bodies() for found in waits(body))
    shared = [options for options, count in counts.most_common() if count >= _LEAST and len(options) >= _LEAST]
    return {options: Constant(name, _partial(options)) for name, options in zip(_NAMES, shared, strict=False)}


def _partial(shared: Options) -> Expression:
    return call("partial", ["ptx.mbarrier.wait", *[f"{name}={literal(value)}" for name, value in shared]])


WAIT = SugarRule(
    name="wait",
    summary="a spin loop on an mbarrier, in each form of `ptx.mbarrier.wait`",
    before="{\n\t.reg .pred P1;\nLAB_WAIT:\n\tmbarrier.try_wait.parity.shared::cta.b64 P1, [%r1], %r2;\n\t"
    "@P1 bra DONE;\n\tbra LAB_WAIT;\nDONE:\n\t}",
    after='ptx.mbarrier.wait(r[1], r[2], form="scoped_done", label="LAB_WAIT", past_label="DONE", done="P1")',
    find=find,
)
