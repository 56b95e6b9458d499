"""Rewrites of a label and the last backward branch to it: `with ptx.loop(…)`.

A rotated loop, which a branch may skip, is `with ptx.while_(…, guard=…)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins.rows import SugarRule
from pyptx_transpile.planning.plan import Rewrite
from pyptx_transpile.printing.values import quoted
from pyptx_transpile.rules.conditions import predicates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyptx_transpile.planning.plan import RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.reading.rows import Body, Jump
    from pyptx_transpile.rules.conditions import Predicate

__all__ = ["LOOP", "WHILE"]


def latches(body: Body) -> dict[int, Jump]:
    """Return the last backward branch to each label, if the branch is in the label's scope."""
    found: dict[int, Jump] = {}
    for jump in body.jumps:
        if jump.target < jump.at and body.scopes[jump.at] == body.scopes[jump.target]:
            found[jump.target] = jump  # of several branches back to one label, the last ends the loop
    return found


def exit_label(body: Body, head: int, latch: int) -> int | None:
    """Return the index of the label directly after a loop, if all branches to it are inside the loop; else None."""
    end = latch + 1
    if end >= body.end or body.items[end].kind != "Label" or body.deviates(end):
        return None
    jumps = body.jumps_to(end)
    return end if jumps and all(head < jump.at < latch for jump in jumps) else None


def find_loops(body: Body, _plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield rewrites for each loop, loops with most branches first: with and without the label of their exits."""
    for head, latch in sorted(latches(body).items(), key=lambda pair: (-len(body.jumps_to(pair[0])), pair[0])):
        end = exit_label(body, head, latch.at)
        start = entry(body, head, latch.at)
        for until in (None,) if end is None else (end, None):
            for predicate in predicates(body, latch.at, late=True):
                if start is not None:
                    yield _loop(body, head, predicate, until, start)
                yield _loop(body, head, predicate, until)


def entry(body: Body, head: int, latch: int) -> Jump | None:
    """Return the unconditional branch directly before a loop that enters its first iteration; None without one."""
    jump = body.jump_at(head - 1)
    if jump is None or jump.guarded or "uni" not in body.branch(jump.at).opcode or body.deviates(head):
        return None
    return jump if head <= jump.target < latch and body.scopes[jump.at] == body.scopes[head] else None


def _loop(body: Body, head: int, predicate: Predicate, end: int | None, start: Jump | None = None) -> Rewrite:
    latch = predicate.at
    continues = _continues(body, head, latch)
    keywords = _uniform(body, latch)
    if start is not None:
        keywords.append(f"start_label={quoted(body.label(start.target))}")
    if continues:
        keywords.append(f"next_label={quoted(body.label(head))}")

    def write(printer: BodyPrinter, slots: tuple[Slot, ...]) -> None:
        name = [] if not printer.label("label", head) else [quoted(body.label(head))]
        ends = [] if end is None else printer.label("end_label", end)

        def line(pred: str) -> str:
            return f"with ptx.loop({', '.join([*name, *([f'pred={pred}'] if pred else []), *keywords, *ends])})"

        printer.deviation(first)
        _block(printer, predicate, line, slots[0], end)

    first = head if start is None else start.at
    last = latch + 1 if end is None else end + 1
    return Rewrite(
        "loop",
        first,
        last,
        write,
        ((head + 1, predicate.start),),
        loops=True,
        exits=end,
        labels=tuple([at for at in (head, end) if at is not None and not (at == head and continues)]),
        jumps=(latch,),
        binds="outer",
    )


def _block(printer: BodyPrinter, predicate: Predicate, line: Callable[[str], str], slot: Slot, end: int | None) -> None:
    """Print a loop with its predicate in the header, or with the predicate's instruction at the end of the body."""
    header, whole = predicate.last(printer, line)
    with printer.block(header, -1 if end is None else end):
        printer.slot(slot)
        if not whole:
            printer.statement(predicate.start)
        printer.deviation(predicate.at)


def _continues(body: Body, head: int, latch: int) -> bool:
    return any(head < jump.at < latch for jump in body.jumps_to(head))


def _uniform(body: Body, latch: int) -> list[str]:
    """Return the keyword for the backward branch of a loop whose `.uni` is not the default."""
    node = body.branch(latch)
    uniform = "uni" in node.opcode
    return [] if uniform == (node.guard is None) else [f"uniform={uniform}"]


def find_rotated(body: Body, _plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield rewrites for each loop with a test at its end and a guarded branch that skips the loop."""
    around = {jump.target: jump for jump in reversed(body.jumps) if jump.guarded and jump.target > jump.at}
    for head, latch in sorted(latches(body).items()):
        entry = around.get(latch.at + 1)
        if (
            entry is not None
            and latch.guarded
            and entry.at == head - 1
            and body.scopes[entry.at] == body.scopes[head]
            and not body.deviates(head)
            and not body.deviates(entry.target)
            and ("uni" in body.branch(entry.at).opcode) == ("uni" in body.branch(latch.at).opcode)
        ):
            for last in predicates(body, latch.at, late=True):
                for first in predicates(body, entry.at):
                    yield _rotated(body, first, head, last)


def _rotated(body: Body, first: Predicate, head: int, last: Predicate) -> Rewrite:
    latch = last.at
    continues = _continues(body, head, latch)
    uniform = ["uniform=True"] if "uni" in body.branch(latch).opcode else []
    following = [f"next_label={quoted(body.label(head))}"] if continues else []

    def write(printer: BodyPrinter, slots: tuple[Slot, ...]) -> None:
        ends = printer.label("end_label", latch + 1)
        keywords = [*printer.label("label", head), *uniform, *following, *ends]

        def line(pred: str, guard: str) -> str:
            return f"with ptx.while_({', '.join([pred, f'guard={guard}', *keywords])})"

        guard = first.first(printer, lambda guard: line(last.name(printer), guard), negated=True)
        _block(printer, last, lambda pred: line(pred, guard), slots[0], latch + 1)

    return Rewrite(
        "while",
        first.start,
        latch + 2,
        write,
        ((head + 1, last.start),),
        loops=True,
        exits=latch + 1,
        labels=(latch + 1,) if continues else (head, latch + 1),
        jumps=(first.at, latch),
        binds="outer",
    )


LOOP = SugarRule(
    name="loop",
    summary="a label and the last backward branch to it as a loop",
    before="$L__BB0_1:\n\tshl.b32 %r1, %r1, 1;\n\tsetp.lt.s32 %p1, %r1, 8;\n\t@%p1 bra $L__BB0_1;",
    after="with ptx.loop(pred=lambda: ptx.inst.setp.lt.s32(p[1], r[1], 8)):\n    ptx.inst.shl.b32(r[1], r[1], 1)",
    find=find_loops,
)

WHILE = SugarRule(
    name="while",
    summary="a loop with its test at the end, and the forward branch that skips the loop",
    before="@%p1 bra $L2;\n$L1:\n\tshr.u32 %r1, %r1, 1;\n\tsetp.ne.b32 %p2, %r1, 0;\n\t@%p2 bra $L1;\n$L2:",
    after='with ptx.while_(lambda: ptx.inst.setp.ne.b32(p[2], r[1], 0), guard=~p[1], label="$L1", end_label="$L2"):\n'
    "    ptx.inst.shr.u32(r[1], r[1], 1)",
    find=find_rotated,
)
