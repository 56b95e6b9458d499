"""A label and the last branch back to it: `with ptx.loop(…)`.

Rotated loops, which a branch goes around, are `with ptx.while_(…, guard=…)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins.rows import SugarRule
from pyptx_transpile.plan import Claim
from pyptx_transpile.values import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_transpile.body_printer import BodyPrinter
    from pyptx_transpile.plan import Plan, Slot
    from pyptx_transpile.rows import Body, Jump

__all__ = ["LOOP", "WHILE"]


def latches(body: Body) -> dict[int, Jump]:
    """Return the last branch back to each label, of those in the scope of the label."""
    found: dict[int, Jump] = {}
    for jump in body.jumps:
        if jump.target < jump.at and body.scopes[jump.at] == body.scopes[jump.target]:
            found[jump.target] = jump  # branches come in the order of the text
    return found


def exit_label(body: Body, head: int, latch: int) -> int | None:
    """Return the place of the label behind a loop, if one is there that something inside jumps to."""
    end = latch + 1
    if end >= body.end or body.items[end].kind != "Label" or body.deviates(end):
        return None
    return end if any(head < jump.at < latch for jump in body.jumps_to(end)) else None


def find_loops(body: Body, _plan: Plan) -> Iterator[Claim]:
    """Yield a claim for each loop, those of most branches first; with the label behind it, if it is left for that."""
    for head, latch in sorted(latches(body).items(), key=lambda pair: (-len(body.jumps_to(pair[0])), pair[0])):
        end = exit_label(body, head, latch.at)
        if end is not None:
            yield _loop(body, head, latch.at, end)
        yield _loop(body, head, latch.at, None)


def _loop(body: Body, head: int, latch: int, end: int | None) -> Claim:
    def write(printer: BodyPrinter, slots: tuple[Slot, ...]) -> None:
        printer.deviation(head)
        keywords = _branch(printer, latch)
        if _continues(body, head, latch):
            keywords.append(f"next_label={quoted(body.label(head))}")
        if end is not None:
            keywords.append(f"end_label={quoted(body.label(end))}")
        with printer.page.block(f"with ptx.loop({', '.join([quoted(body.label(head)), *keywords])})"):
            printer.slot(slots[0])
            printer.deviation(latch)

    return Claim(
        "loop", head, latch + 1 if end is None else end + 1, write, ((head + 1, latch),), loops=True, exits=end
    )


def _continues(body: Body, head: int, latch: int) -> bool:
    return any(head < jump.at < latch for jump in body.jumps_to(head))


def _branch(printer: BodyPrinter, latch: int) -> list[str]:
    """Return the keywords for the branch at the end of a loop."""
    node = printer.body.branch(latch)
    uniform = "uni" in node.opcode
    keywords = [] if node.guard is None else [f"pred={printer.guard(node.guard)}"]
    return keywords if uniform == (node.guard is None) else [*keywords, f"uniform={uniform}"]


def find_rotated(body: Body, _plan: Plan) -> Iterator[Claim]:
    """Yield a claim for each loop with a test at its end that a branch with another test goes around."""
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
            yield _rotated(body, entry.at, head, latch.at)


def _rotated(body: Body, entry: int, head: int, latch: int) -> Claim:
    def write(printer: BodyPrinter, slots: tuple[Slot, ...]) -> None:
        printer.deviation(entry)
        first, last = body.branch(entry), body.branch(latch)
        arguments = [
            printer.guard(last.guard) if last.guard else "",
            f"guard={printer.guard(first.guard, negated=True)}" if first.guard else "",
            f"label={quoted(body.label(head))}",
            *(["uniform=True"] if "uni" in last.opcode else []),
            *([f"next_label={quoted(body.label(head))}"] if _continues(body, head, latch) else []),
            f"end_label={quoted(body.label(latch + 1))}",
        ]
        with printer.page.block(f"with ptx.while_({', '.join(arguments)})"):
            printer.slot(slots[0])
            printer.deviation(latch)

    return Claim("while", entry, latch + 2, write, ((head + 1, latch),), loops=True, exits=latch + 1)


LOOP = SugarRule(
    name="loop",
    summary="a label and the last branch back to it",
    before="$L__BB0_1:\n\tadd.s32 %r1, %r1, 1;\n\tsetp.lt.s32 %p1, %r1, 8;\n\t@%p1 bra $L__BB0_1;",
    after='with ptx.loop("$L__BB0_1", pred=p[1]):\n'
    "    ptx.inst.add.s32(r[1], r[1], 1)\n    ptx.inst.setp.lt.s32(p[1], r[1], 8)",
    find=find_loops,
)

WHILE = SugarRule(
    name="while",
    summary="a loop with its test at the end, and the branch around it",
    before="@%p1 bra $L__BB0_2;\n$L__BB0_1:\n\tsetp.lt.s32 %p2, %r1, 8;\n\t@%p2 bra $L__BB0_1;\n$L__BB0_2:",
    after='with ptx.while_(p[2], guard=~p[1], label="$L__BB0_1", end_label="$L__BB0_2"):\n'
    "    ptx.inst.setp.lt.s32(p[2], r[1], 8)",
    find=find_rotated,
)
