"""Verification of printed Python: the file is executed, and each `Part` must emit its slice of the source.

The trace has the Python line of each statement, and the page has the rewrite of each line. So the statements that the
lines of a rewrite emit are compared with its slice. Rewrites that differ, or whose lines raise, are rejected.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from itertools import zip_longest
from types import SimpleNamespace
from typing import TYPE_CHECKING, TypeAlias

from pyptx_dsl import ptx, reg
from pyptx_dsl.modules.beginning import module
from pyptx_dsl.modules.builder import ModuleBuilder
from pyptx_dsl.modules.compression import decompress
from pyptx_dsl.modules.pieces import text_body
from pyptx_dsl.modules.statement_locations import places_of
from pyptx_dsl.tracing.trivia import UsualLead
from pyptx_dsl.types import BY_NAME
from pyptx_ir.errors import PyptxError
from pyptx_ir.syntax.style import Style
from pyptx_transpile.errors import ProofError
from pyptx_transpile.printing.outlined import called
from pyptx_transpile.reading.rows import Row, spelling_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx_ir.syntax.style.items import Item
    from pyptx_transpile.planning.plan import Rewrite, RewritePlan
    from pyptx_transpile.printing.module_printer import Part, Printed
    from pyptx_transpile.printing.outlined import Helper
    from pyptx_transpile.progress import Progress
    from pyptx_transpile.reading.rows import Body

Faults: TypeAlias = "dict[int, dict[Rewrite, str]]"
"""Faulty rewrites with reasons, by start index of the function body."""

Owned: TypeAlias = "list[tuple[Rewrite | None, Item]]"

_HEAD = "<printed>"
_CHECKED = "_checked_"  # name of the function that checks variables; variables of a printed file begin with a letter


class Proof:
    """Verifier of printed files of one module: executes a file and compares the emitted module with the source."""

    def __init__(self, row: Row, style: Style, progress: Progress | None = None) -> None:
        """Store the source module, without the whitespace that its style implies."""
        self._row, self._style, self._progress = row, style, progress
        self._raising: set[Helper] = set()
        self._by_returns = True
        self._others: dict[int, list[Rewrite]] = {}
        """Rewrites that bind names to unexpected values, by start index of the function body."""

    def faults(self, printed: Printed) -> Faults:
        """Execute a printed file; return the faulty rewrites. Raise ProofError on any other difference.

        Uses of a name emit wrong operands if the name is bound wrongly. So a faulty file with names is executed again
        with the expected values bound: then each rewrite is right or wrong by itself. If all are right, a result of a
        call is wrong.
        """
        bound = {part.body.start: part.page.naming() for part in printed.parts if part.body}
        bound = {start: rewrites for start, rewrites in bound.items() if rewrites}
        found: Faults = {start: {} for start in bound}
        try:
            found = self._faults(printed)
        except ProofError:
            if not bound:
                raise
        if not bound or not found:
            return found
        try:
            self._by_returns, self._others = False, {}
            by_itself = self._faults(printed)
        finally:
            self._by_returns = True
        # A wrong value of a variable is found by `_checked`, but not a wrong loop counter.
        counted = {
            part.body.start: list(part.page.counted) for part in printed.parts if part.body and part.page.counted
        }
        names = self._others or {start: counted[start] for start in found if start in counted}
        names = names or {start: bound[start] for start in found if start in bound} or bound
        return by_itself or {
            start: dict.fromkeys(rewrites, "a register does not match") for start, rewrites in names.items()
        }

    def _checked(self, part: Part, number: int, given: object, wanted: object) -> object:
        """Return the expected value of a bound name; record the rewrite if its call returned another value."""
        if part.body is not None and repr(given) != repr(wanted):
            self._others.setdefault(part.body.start, []).append(list(part.page.bound)[number])
        return wanted

    def _faults(self, printed: Printed) -> Faults:
        names: dict[str, object] = {**BY_NAME, "partial": partial, "ptx": ptx, "reg": reg}
        builder = self._begun(printed, names)
        found: Faults = {}
        ran: list[Part] = []
        broken: dict[Helper, str] = {}
        lost: set[str] = set()
        for part in printed.parts:
            error = self._raised(part, names)
            if self._progress is not None and part.body is not None:
                self._progress.step(part.body)
            if error is None:
                ran += [part] if part.body is not None else []
            elif isinstance(error, NameError) and error.name in lost:
                continue  # the definition of a function that this `Part` calls has raised
            elif part.helper is not None:
                broken[part.helper] = _reason(error)
            elif part.body is not None:
                found[part.body.start] = {_rewrite_of(part, error): _reason(error)}
                lost |= {line[len("def ") : line.index("(")] for line in part.page.lines if line.startswith("def ")}
            else:
                raise ProofError("Python printed without any rule raises") from error
        self._blame(printed, ran, found, broken)
        row = Row(builder.module())
        for item in row.items:
            # Whitespace that the module builder added, not the printed file.
            if isinstance(item.leading_trivia, UsualLead):
                item.leading_trivia = None
        if not found and _equal(row, self._row):
            return {}
        for part, emitted, places in zip(ran, row.bodies(), places_of(builder), strict=True):
            if part.body is not None and part.plan is not None:
                wrong = dict(
                    _differences(_wanted(part.body, part.plan, part.page.folded), _emitted(part, emitted, places))
                )
                if wrong:
                    found[part.body.start] = wrong
        if not found:
            raise ProofError("the printed Python emits a different module, although each function matches")
        return found

    def _raised(self, part: Part, names: dict[str, object]) -> Exception | None:
        """Execute a `Part` of the printed file; return the error that it raises, or None."""
        lines = part.page.lines if self._by_returns else part.page.without_returns(_CHECKED)
        names[_CHECKED] = partial(self._checked, part)
        try:
            exec(compile("\n".join(lines), _file(part), "exec"), names)  # noqa: S102  code printed by this package
        except Exception as error:  # noqa: BLE001  a rule may print any code
            return error
        return None

    def _blame(self, printed: Printed, ran: Sequence[Part], found: Faults, broken: dict[Helper, str]) -> None:
        """Add to `found` all calls of faulty helpers: helpers in `broken`, or whose calls raise in every calling body.

        The calls must raise in at least two bodies, or in the verification of two printed files.
        """
        if not found and not broken:
            return
        calls = called({part.body.start: part.plan for part in printed.parts if part.body and part.plan})
        returned = called({part.body.start: part.plan for part in ran if part.body and part.plan}).keys()
        raised = [rewrite.helper for wrong in found.values() for rewrite in wrong if rewrite.helper is not None]
        for helper in raised:
            if helper not in returned and (helper in self._raising or raised.count(helper) > 1):
                broken.setdefault(helper, f"{helper.name} raises")
        self._raising |= set(raised)
        for helper, reason in broken.items():
            for start, rewrite in calls[helper]:
                found.setdefault(start, {}).setdefault(rewrite, reason)

    def _begun(self, printed: Printed, names: dict[str, object]) -> ModuleBuilder:
        """Execute the printed file's head and return its module builder; a stand-in replaces the package `pyptx`."""
        facade = SimpleNamespace(module=module, decompress=decompress, text_body=text_body)
        names |= {"pyptx": facade, "Style": Style}
        try:
            exec(compile(printed.opening, _HEAD, "exec"), names)  # noqa: S102  code printed by this package
        except PyptxError as error:
            raise ProofError("the printed module header raises") from error
        builder = names["module"]
        if not isinstance(builder, ModuleBuilder) or names["STYLE"] != self._style:
            raise ProofError("the style in the printed Python differs from the module's")
        return builder


def _equal(row: Row, other: Row) -> bool:
    """Return whether two flattened modules are equal, including whitespace and source text."""
    # `==` of modules ignores whitespace and source text.
    if len(row.items) != len(other.items) or row.module != other.module:
        return False
    return all(
        one.leading_trivia == two.leading_trivia and spelling_of(one) == spelling_of(two)
        for one, two in zip(row.items, other.items, strict=True)
    )


def _file(part: Part) -> str:
    """Return the file name under which a `Part` is executed, to recognize it in the trace and in tracebacks."""
    return f"<printed {part.body.start if part.body is not None else part.helper and part.helper.name}>"


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _rewrite_of(part: Part, error: Exception) -> Rewrite:
    """Return the innermost rewrite whose printed line raised the error."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    found = part.rewrites[line - 1] if line is not None else None
    traceback = error.__traceback__ if line is None else None
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == _file(part):
            found = part.rewrites[traceback.tb_lineno - 1] or found
        traceback = traceback.tb_next
    if found is None:
        raise ProofError("Python printed without any rule raises") from error
    return found


def _differences(wanted: Owned, emitted: Owned) -> Iterator[tuple[Rewrite, str]]:
    """Yield the rewrites of a body whose lines do not emit their slices."""
    expected, got = _by_rewrite(wanted), _by_rewrite(emitted)
    wrong = [rewrite for rewrite in {**expected, **got} if expected[rewrite] != got[rewrite]]
    if not wrong:  # each rewrite emits its statements, but the statements may be in a wrong order
        pairs = zip_longest(wanted, emitted, fillvalue=(None, None))
        wrong = next(([one, other] for (one, _), (other, _) in pairs if one is not other), wrong)
    rewrites = [rewrite for rewrite in wrong if rewrite is not None]
    if wrong and not rewrites:
        raise ProofError(f"{_first(expected[None], got[None])}, printed without any rule, does not match")
    for rewrite in rewrites:
        yield rewrite, f"{_first(expected[rewrite], got[rewrite])} does not match"


def _first(expected: list[object], got: list[object]) -> str:
    return next((repr(one or other) for one, other in zip_longest(expected, got) if one != other), "the order")


def _by_rewrite(row: Owned) -> dict[Rewrite | None, list[object]]:
    found: dict[Rewrite | None, list[object]] = defaultdict(list)
    for rewrite, item in row:
        found[rewrite].append(_meaning(item))
    return found


def _meaning(item: Item) -> object:
    """Return the compared properties of a statement or brace: syntax node, leading trivia and source text."""
    return item.kind if item.node is None or item.kind == "{" else item.node, item.leading_trivia, spelling_of(item)


def _wanted(body: Body, plan: RewritePlan, folded: set[Rewrite]) -> Owned:
    """Return the statements and braces of a body, each with the innermost rewrite whose lines print it."""
    owners: list[Rewrite | None] = [None] * (body.end - body.start + 1)
    within = body.start
    for rewrite in plan.rewrites():  # `rewrites` yields an outer rewrite before the rewrites nested in it
        if rewrite.start >= within:
            owners[rewrite.start - body.start : rewrite.end - body.start] = [rewrite] * (rewrite.end - rewrite.start)
            within = rewrite.end if rewrite in folded else within
    return list(zip(owners, body.items[body.start : body.end + 1], strict=True))


def _emitted(part: Part, body: Body, places: Sequence[tuple[str, int] | None]) -> Owned:
    """Return the statements and braces that a body's Python emitted, each with the innermost rewrite of the line."""
    file = _file(part)
    owners = [None if place is None or place[0] != file else part.rewrites[place[1] - 1] for place in places]
    return list(zip(owners, body.items[body.start : body.end + 1], strict=True))
