"""Rewrites of counting loops: `for _ in counted(0, 8, counter=r[1], pred=p[1])`.

The body ends with the step of the counter, its test and the branch back, as `ptx.range_` emits them for a `spelling`. A
module has one constant for each spelling: `counted = partial(ptx.range_, spelling="mov.b32 add.s32 setp.ne.s32")`.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from pyptx_dsl.registers.exact import operation_of
from pyptx_dsl.types import from_name
from pyptx_ir.plugins.rows import SugarRule
from pyptx_ir.syntax import nodes, spell
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.planning.plan import Constant, Rewrite
from pyptx_transpile.printing.layout import WIDTH, call
from pyptx_transpile.printing.values import WHOLE, quoted
from pyptx_transpile.reading.spelling import banks_of
from pyptx_transpile.rules.conditions import Predicate
from pyptx_transpile.rules.loops import entry, exit_label, latches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyptx_transpile.planning.plan import RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.reading.rows import Body, Jump, Row
    from pyptx_transpile.reading.spelling import Banks

__all__ = ["RANGE"]

# Names of printed constants for `ptx.range_` with `spelling=…`; reserved by names.py.
_NAMES = ("counted", "counted_2", "counted_3")
_INVERSE = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq", "": ""}
_BEHIND = 3  # number of instructions after a loop's body: step, test and branch


@dataclass(frozen=True, slots=True)
class Counted:
    """Loop from `head` to `latch` whose `counter` is increased by `step` and compared with `stop` before the latch.

    `moved`: whether a `mov` before the loop sets the counter to `start`; otherwise `start` is the counter.
    """

    head: int
    latch: int
    counter: tree.Operand
    start: tree.Operand
    stop: tree.Operand
    step: tree.Operand
    spelling: str
    moved: bool


def find(body: Body, _plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield rewrites for each counting loop; with the label after the loop if branches exit to that label."""
    names = body.row.derived(_named)
    for loop in _loops(body):
        end = exit_label(body, loop.head, loop.latch)
        for until in (None,) if end is None else (end, None):
            yield _rewrite(loop, names.get(loop.spelling), until)


def _loops(body: Body) -> Iterator[Counted]:
    found, banks = latches(body), banks_of(body)
    for head, latch in sorted(found.items()):
        loop = _counted(body, banks, latch) if latch.guarded and latch.at - _BEHIND >= head else None
        if loop is not None and entry(body, head, latch.at) is None and len(body.jumps_to(head)) == 1:
            yield _from_start(body, banks, loop) or loop


def _counted(body: Body, banks: Banks, latch: Jump) -> Counted | None:
    """Return the loop that a branch ends, if the instructions before it count like Python's `range`; else None."""
    at = latch.at
    if any(map(body.deviates, (at - 2, at - 1, at))):
        return None
    match body.instruction(at - 2), body.instruction(at - 1), body.branch(at).guard:
        case (
            nodes.Instruction(("add", _) as step, (counter, before, by), None),
            nodes.Instruction(("setp", _, _) as test, (tree.Register(written), tested, stop), None),
            nodes.Guard(guard, negated),
        ) if before == counter == tested and written == guard:
            relation = operation_of(".".join(test)) or ""
            if _goes_on(_INVERSE[relation] if negated else relation, by) and _are_alike(banks, counter, by, stop):
                spelling = f"{'.'.join(step)} {'.'.join(test)}"
                return Counted(latch.target, at, counter, counter, stop, by, spelling, moved=False)
        case _:
            pass
    return None


def _goes_on(relation: str, step: tree.Operand) -> bool:
    """Return whether `ptx.range_` can emit a loop that repeats while the counter has this relation to its end value."""
    number = _number(step)
    if number is None:
        return relation in {"lt", "gt", "ne"}
    return number != 0 and relation in {"ne", "lt" if number > 0 else "gt"}


def _are_alike(banks: Banks, counter: tree.Operand, *others: tree.Operand) -> bool:
    """Return whether operands are registers of the counter's width, or numbers that fit it as signed and unsigned."""
    dtype = banks.type_of(counter)
    if dtype is None or not from_name(dtype).is_integer:
        return False
    bits = from_name(dtype).bits
    for each in others:
        other, number = banks.type_of(each), _number(each)
        if number is None and (other is None or not from_name(other).is_integer or from_name(other).bits != bits):
            return False
        if number is not None and (abs(number) >= 1 << (bits - 1) or (each is others[-1] and number < 0)):
            return False
    return True


def _number(operand: tree.Operand) -> int | None:
    return int(operand.text) if isinstance(operand, tree.Immediate) and WHOLE.match(operand.text) else None


def _from_start(body: Body, banks: Banks, loop: Counted) -> Counted | None:
    """Return a loop including the `mov` directly before it that sets its counter; None without such a `mov`."""
    node = body.instruction(loop.head - 1) if loop.head > body.start else None
    if node is None or node.opcode[0] != "mov" or node.guard is not None or body.deviates(loop.head):
        return None
    written, start = node.operands
    if written != loop.counter or not _are_alike(banks, written, start) or not _runs(loop, start):
        return None
    spelling = f"{'.'.join(node.opcode)} {loop.spelling}"
    return Counted(
        loop.head, loop.latch, loop.counter, start, loop.stop, loop.step, spelling, moved=start != loop.counter
    )


def _runs(loop: Counted, start: tree.Operand) -> bool:
    """Return whether a loop with constant bounds has an iteration and, if the test is `ne`, reaches `stop` exactly."""
    first, stop, step = map(_number, (start, loop.stop, loop.step))
    if first is None or stop is None or step is None:
        return True
    return bool(range(first, stop, step)) and ("setp.ne" not in loop.spelling or (stop - first) % step == 0)


def _rewrite(loop: Counted, constant: Constant | None, end: int | None) -> Rewrite:
    step, test = loop.latch - 2, loop.latch - 1

    def write(printer: BodyPrinter, slots: tuple[Slot, ...]) -> None:
        header = _header(printer, loop, constant, end)
        printer.deviation(first)
        if 4 * printer.page.indent + len(f"for _ in {header}") < WIDTH:
            _counting(printer, loop, header, slots[0])
            return
        if loop.moved:
            printer.statement(first)
        plain, whole = Predicate(loop.latch, test).last(printer, lambda pred: _plain(printer, loop, pred, end))
        with printer.page.block(plain):
            printer.slot(slots[0])
            printer.statement(step)
            if not whole:
                printer.statement(test)

    first = loop.head - loop.moved
    last = loop.latch + 1 if end is None else end + 1
    shared = () if constant is None else (constant,)
    inner = ((loop.head + 1, step),)
    labels = (loop.head,) if end is None else (loop.head, end)
    return Rewrite(
        "range",
        first,
        last,
        write,
        inner,
        shared=shared,
        loops=True,
        exits=end,
        labels=labels,
        jumps=(loop.latch,),
    )


def _counting(printer: BodyPrinter, loop: Counted, header: str, slot: Slot) -> None:
    """Print a counting loop; its counter gets a name if the body reads it."""
    page, register = printer.page, spell(loop.counter)
    first = len(page.lines)
    name = None if _is_written(printer.body, loop) else printer.counter()
    with page.block(f"for _ in {header}"), nullcontext() if name is None else printer.registers.called(register, name):
        printer.slot(slot)
    if name is not None and any(_word(name).search(line) for line in page.lines[first + 1 :]):
        page.lines[first] = page.lines[first].replace("for _ in ", f"for {name} in ", 1)
        element = printer.values.expression(loop.counter)
        page.count(f"for {name} in ", f"for {name} in ({element} for _ in {header}):")


def _is_written(body: Body, loop: Counted) -> bool:
    """Return whether an instruction of the loop other than the counter's step writes the counter."""
    inner = (body.instruction(at) for at in range(loop.head + 1, loop.latch - 2))
    return any(node is not None and loop.counter in node.operands[:1] for node in inner)


@lru_cache(maxsize=16)
def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b{name}\b", re.ASCII)


def _header(printer: BodyPrinter, loop: Counted, constant: Constant | None, end: int | None) -> str:
    value = printer.values.expression
    step = [] if _number(loop.step) == 1 else [value(loop.step)]
    said = [] if constant is not None else [f"spelling={quoted(loop.spelling)}"]
    function = "ptx.range_" if constant is None else constant.name
    counts = [f"counter={value(loop.counter)}", f"pred={Predicate(loop.latch, loop.latch).name(printer)}"]
    label = printer.label("label", loop.head)
    arguments = [value(loop.start), value(loop.stop), *step, *counts, *label, *_ends(printer, loop, end), *said]
    return str(call(function, arguments))


def _plain(printer: BodyPrinter, loop: Counted, pred: str, end: int | None) -> str:
    """Return the `ptx.loop` header that replaces a counting loop's header if that does not fit on a line."""
    label = [] if not printer.label("label", loop.head) else [quoted(printer.body.label(loop.head))]
    return f"with ptx.loop({', '.join([*label, f'pred={pred}', *_ends(printer, loop, end)])})"


def _ends(printer: BodyPrinter, loop: Counted, end: int | None) -> list[str]:
    uniform = ["uniform=True"] if "uni" in printer.body.branch(loop.latch).opcode else []
    return uniform if end is None else [*uniform, *printer.label("end_label", end)]


def _named(row: Row) -> Mapping[str, Constant]:
    """Return a constant for each of the most frequent `spelling` values of a module's counting loops, in that order."""
    counts = Counter(loop.spelling for body in row.bodies() for loop in _loops(body))
    return {
        spelling: Constant(name, call("partial", ["ptx.range_", f"spelling={quoted(spelling)}"]))
        for name, (spelling, _) in zip(_NAMES, counts.most_common(), strict=False)
    }


RANGE = SugarRule(
    name="range",
    summary="a loop with a counter increment and its test at the end",
    before="mov.b32 %r1, 0;\n$L__BB0_1:\n\tshl.b32 %r2, %r2, 1;\n\tadd.s32 %r1, %r1, 1;\n\tsetp.ne.s32 %p1, %r1, 8;"
    "\n\t@%p1 bra $L__BB0_1;",
    after="for _ in counted(0, 8, counter=r[1], pred=p[1]):\n    ptx.inst.shl.b32(r[2], r[2], 1)",
    find=find,
)
