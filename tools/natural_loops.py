"""Natural loops of a function body (`Body`): back edges of its control flow, by the labels that dominate them.

A loop is natural if every path into it passes one label; a backward branch alone does not make one.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tools.back_edges import back_edges, flow_graph

from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyptx_transpile.planning.plan import Rewrite, RewritePlan
    from pyptx_transpile.reading.rows import Body

_LEAVES = frozenset({"bra", "brx", "exit", "ret", "trap"})


def natural_loops(body: Body) -> dict[int, list[int]]:
    """Return, by index of a loop head's first body item, the indices of the last items of blocks that branch to it."""
    starts = _starts(body)
    ends = [*starts[1:], body.end]
    number = {start: at for at, start in enumerate(starts)}
    after = [[number[each] for each in _successors(body, end - 1) if each in number] for end in ends]
    found: defaultdict[int, list[int]] = defaultdict(list)
    for block, head in back_edges(flow_graph(after)):
        found[starts[head]].append(ends[block] - 1)
    return dict(found)


def raised(loops: Mapping[int, Sequence[int]], plan: RewritePlan) -> int:
    """Return the number of loops that the transpiler's rewrites cover: one per rewrite, any number per helper."""
    rewrites = sorted((rewrite for rewrite in plan.rewrites() if rewrite.loops or rewrite.helper), key=_size)
    count = 0
    for head, latches in sorted(loops.items(), key=lambda loop: max(loop[1]) - loop[0]):
        one = next((rewrite for rewrite in rewrites if rewrite.start <= head and max(latches) < rewrite.end), None)
        if one is not None:
            count += 1
            if one.helper is None:
                rewrites.remove(one)
    return count


def _size(rewrite: Rewrite) -> int:
    return rewrite.end - rewrite.start


def _starts(body: Body) -> list[int]:
    """Return the indices of the body items (statements, labels) at which basic blocks start."""
    found = {body.start}
    for at in range(body.start, body.end):
        node = body.items[at].node
        if isinstance(node, nodes.Label):
            found.add(at)
        elif isinstance(node, nodes.Instruction) and node.opcode[0] in _LEAVES:
            found.add(at + 1)
    return sorted(found - {body.end})


def _successors(body: Body, at: int) -> Iterator[int]:
    """Yield the first item's index of each successor of a basic block; `at` is the index of the block's last item."""
    node = body.instruction(at)
    jump = body.jump_at(at)
    if jump is not None:
        yield jump.target
    elif node is not None and node.opcode[0] == "brx":
        yield from _listed(body, node)
    if node is None or node.opcode[0] not in _LEAVES or node.guard is not None:
        yield at + 1


def _listed(body: Body, node: nodes.Instruction) -> Iterator[int]:
    """Yield the labels that an indirect branch can target."""
    for operand in node.operands:
        at = body.labels.get((body.start - 1, operand.name)) if isinstance(operand, tree.Symbol) else None
        targets = None if at is None else body.items[at + 1].node
        if isinstance(targets, nodes.BranchTargets):
            yield from (body.labels[body.start - 1, name] for name in targets.targets)
