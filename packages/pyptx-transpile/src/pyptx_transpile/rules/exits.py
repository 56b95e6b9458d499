"""Rewrites of branches out of enclosing blocks: `ptx.break_()`, `ptx.continue_()`, and the blocks that they leave."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pyptx_ir.plugins.rows import SugarRule
from pyptx_transpile.planning.plan import Rewrite
from pyptx_transpile.printing.values import quoted
from pyptx_transpile.rules.conditions import predicates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_transpile.planning.plan import RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.reading.rows import Body, Jump
    from pyptx_transpile.rules.conditions import Predicate

__all__ = ["BLOCK", "EXIT"]


def find_blocks(body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield a block rewrite for each target of unrewritten forward branches, targets with most branches first."""
    left = [jump for jump in body.jumps if jump.target > jump.at and plan.owner(jump.at) is None]
    count = Counter(jump.target for jump in left)
    starts: dict[int, int] = {}
    for target in sorted(count):
        found = [_start(body, plan, jump) for jump in body.jumps_to(target) if jump.at < target]
        known = [start for start in found if start is not None]
        if known and plan.owner(target) is None:
            starts[target] = _around(starts, min(known))
    jumps = {jump.at for jump in body.jumps}
    for target, start in sorted(starts.items(), key=lambda pair: (-count[pair[0]], pair[0])):
        if start in jumps:
            yield from (_block(body, predicate.start, target) for predicate in predicates(body, start))
        else:
            yield _block(body, start, target)


def _around(starts: dict[int, int], start: int) -> int:
    """Return the start of a block, moved up so that the block nests with any block whose label is earlier."""
    for target in sorted(starts, reverse=True):
        if starts[target] < start <= target:
            start = starts[target]
    return start


def _start(body: Body, plan: RewritePlan, jump: Jump) -> int | None:
    """Return the start of a block that a branch leaves: the branch, or the rewrite around it in the label's scope."""
    start = plan.outermost(jump.at, jump.target)
    scope = body.scopes[jump.target]
    while start is not None and body.scopes[start] != scope:
        start = body.scopes[start] if body.scopes[start] >= body.start else None
    return start


def _block(body: Body, start: int, target: int) -> Rewrite:
    def write(printer: BodyPrinter, slots: tuple[Slot, ...]) -> None:
        name = "" if not printer.label("label", target) else quoted(body.label(target))
        with printer.block(f"with ptx.block({name})", target):
            printer.slot(slots[0])
            printer.deviation(target)

    inner = ((start, target),)
    return Rewrite("block", start, target + 1, write, inner, exits=target, labels=(target,), binds="done")


def find_exits(body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield a rewrite for each branch that exits an enclosing loop, block or `if_`, or continues a loop."""
    for jump in body.jumps:
        if plan.owner(jump.at) is not None:
            continue
        around = list(plan.around(jump.at))
        innermost = next((rewrite for rewrite in reversed(around) if rewrite.loops), None)
        for rewrite in reversed(around):
            function = _function(rewrite, jump)
            if function is not None:
                for predicate in predicates(body, jump.at):
                    yield _exit(body, jump, predicate, function, None if rewrite is innermost else rewrite)
                break


def _function(rewrite: Rewrite, jump: Jump) -> str | None:
    """Return the `ptx` function for a branch in a rewrite: `break_` to its exit, `continue_` to its loop label."""
    if rewrite.exits == jump.target:
        return "break_"
    return "continue_" if rewrite.loops and rewrite.inner[0][0] - 1 == jump.target else None


def _exit(body: Body, jump: Jump, predicate: Predicate, function: str, left: Rewrite | None) -> Rewrite:
    """Return the rewrite of a branch that leaves or continues the rewrite `left`, the innermost loop if None."""
    uniform = ["uniform=True"] if "uni" in body.branch(jump.at).opcode else []

    def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
        name = [] if left is None else [printer.behind(left, jump.target)]

        def line(pred: str) -> str:
            return f"ptx.{function}({', '.join([*name, *([f'pred={pred}'] if pred else []), *uniform])})"

        printer.page.line(line(predicate.first(printer, line)))

    jumps = (jump.at,) if function == "break_" and (left is None or left.binds) else ()
    return Rewrite("exit", predicate.start, jump.at + 1, write, opens=0, jumps=jumps, leave=left if jumps else None)


BLOCK = SugarRule(
    name="block",
    summary="the statements before a label as a block, which branches to the label exit",
    before="{\n\t@%p1 bra $L__BB0_2;\n\tmov.b32 %r1, 7;\n\t}\n$L__BB0_2:",
    after='with ptx.block("$L__BB0_2"):\n    with ptx.scope():\n        ptx.break_("$L__BB0_2", pred=p[1])\n'
    "        ptx.inst.mov.b32(r[1], 7)",
    find=find_blocks,
)

EXIT = SugarRule(
    name="exit",
    summary="a branch out of a loop, a block or an `if_`, or to the next iteration of a loop",
    before="$L__BB0_1:\n\t@%p1 bra $L__BB0_2;\n\tbra.uni $L__BB0_1;\n$L__BB0_2:",
    after="with ptx.loop():\n    ptx.break_(pred=p[1])",
    find=find_exits,
)
