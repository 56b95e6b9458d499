"""A branch forward that may fall through: `with ptx.if_(…)`, and `with ptx.else_(…)` where both ways are code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins.rows import SugarRule
from pyptx_transpile.plan import Claim
from pyptx_transpile.rules.conditions import predicates
from pyptx_transpile.values import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_transpile.body_printer import BodyPrinter
    from pyptx_transpile.plan import Plan, Slot
    from pyptx_transpile.rows import Body, Jump
    from pyptx_transpile.rules.conditions import Predicate

__all__ = ["IF"]

_MOST_SHARED = 3  # branches to one label that are blocks in one another; more leave one block
_LEAVES = frozenset({"bra", "brx", "exit", "ret"})


def find(body: Body, plan: Plan) -> Iterator[Claim]:
    """Yield claims for each branch forward, short ones first: with `else_`, then with its label, then without."""
    jumps = [jump for jump in body.jumps if jump.guarded and is_forward(body, jump)]
    for jump in sorted(jumps, key=lambda jump: (jump.target - jump.at, jump.at)):
        yield from _alternatives(body, plan, jump)


def is_forward(body: Body, jump: Jump) -> bool:
    """Tell whether a branch leads forward to a label in its own scope."""
    return jump.target > jump.at and body.scopes[jump.at] == body.scopes[jump.target]


def _alternatives(body: Body, plan: Plan, jump: Jump) -> Iterator[Claim]:
    join = _join(body, jump)
    if join is not None and jump.target not in plan.contested and _are_ways(body, jump, join):
        for defines in (True, False) if _defines(body, plan, jump.at, join) else (False,):
            for predicate in predicates(body, jump.at):
                yield _with_else(body, jump, predicate, join, defines=defines)
    if body.is_closed(jump.at, jump.target) and len(body.jumps_to(jump.target)) <= _MOST_SHARED:
        for defines in (True, False) if _defines(body, plan, jump.at, jump.target) else (False,):
            for predicate in predicates(body, jump.at):
                yield _without(jump, predicate, defines=defines)


def _join(body: Body, jump: Jump) -> int | None:
    """Return where both ways meet again, if the one that falls through ends in a branch behind the other."""
    last = body.jump_at(jump.target - 1)
    if last is None or last.guarded or last.target <= jump.target or not is_forward(body, last):
        return None
    if body.scopes[last.target] != body.scopes[jump.at]:
        return None
    before = body.instruction(last.at - 1)
    falls = before is None or before.guard is not None or before.opcode[0] not in _LEAVES
    return last.target if falls and last.at > jump.at + 1 else None


def _are_ways(body: Body, jump: Jump, join: int) -> bool:
    """Tell whether nothing jumps into either way, but to the beginning of the second one."""
    entered = all(jump.at <= other.at < jump.target for other in body.jumps_to(jump.target))
    return entered and body.is_closed(jump.at, jump.target) and body.is_closed(jump.target, join)


def _defines(body: Body, plan: Plan, at: int, label: int) -> bool:
    """Tell whether the branch at a place may define a label behind it: the first of those that lead there."""
    return label not in plan.contested and all(jump.at >= at for jump in body.jumps_to(label))


def _without(jump: Jump, predicate: Predicate, *, defines: bool) -> Claim:
    def write(printer: BodyPrinter, slots: tuple[Slot, ...]) -> None:
        with printer.page.block(_if(printer, jump, predicate, defines=defines)):
            printer.slot(slots[0])
            if defines:
                printer.deviation(jump.target)

    inner = ((jump.at + 1, jump.target),)
    return Claim("if", predicate.start, jump.target + defines, write, inner, exits=jump.target)


def _with_else(body: Body, jump: Jump, predicate: Predicate, join: int, *, defines: bool) -> Claim:
    skip = jump.target

    def write(printer: BodyPrinter, slots: tuple[Slot, ...]) -> None:
        with printer.page.block(_if(printer, jump, predicate, defines=True)):
            printer.slot(slots[0])
            printer.deviation(skip)
        printer.deviation(skip - 1)
        keywords = [f"end_label={quoted(body.label(join))}"]
        if "uni" in body.branch(skip - 1).opcode:
            keywords.append("end_uniform=True")
        if not defines:
            keywords.append("define_end=False")
        with printer.page.block(f"with ptx.else_({', '.join(keywords)})"):
            printer.slot(slots[1])
            if defines:
                printer.deviation(join)

    ways = ((jump.at + 1, skip - 1), (skip + 1, join))
    return Claim("if", predicate.start, join + defines, write, ways, exits=join)


def _if(printer: BodyPrinter, jump: Jump, predicate: Predicate, *, defines: bool) -> str:
    """Return the `with` of an `if_`, and print what is said of its branch."""
    keywords = [f"label={quoted(printer.body.label(jump.target))}"]
    if "uni" in printer.body.branch(jump.at).opcode:
        keywords.append("uniform=True")
    if not defines:
        keywords.append("define_label=False")
    more = ", ".join(keywords)

    def line(pred: str) -> str:
        return f"with ptx.if_({pred}, {more})"

    return line(predicate.first(printer, line, negated=True))


IF = SugarRule(
    name="if",
    summary="a branch forward that may fall through, with the other way behind it",
    before="@%p1 bra $L__BB0_2;\n\tmov.b32 %r1, 7;\n$L__BB0_2:",
    after='with ptx.if_(~p[1], label="$L__BB0_2"):\n    ptx.inst.mov.b32(r[1], 7)',
    find=find,
)
