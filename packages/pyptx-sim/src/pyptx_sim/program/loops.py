"""Innermost loops of a function's control flow graph."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    Edges = Mapping[int, frozenset[int]]


def innermost_loops(successors: Edges, first: int) -> Iterator[tuple[int, ...]]:
    """Yield the basic blocks of each innermost natural loop of a function, in flow order.

    A natural loop has one entry block, which is first; every cycle in an innermost loop contains the entry. `first` is
    the function's first basic block. `successors` has an item for each basic block of the function.
    """
    predecessors: dict[int, set[int]] = {block: set() for block in successors}
    for block, following in successors.items():
        for each in following:
            predecessors[each].add(block)
    pending = [frozenset(successors)]
    while pending:
        for part in _cyclic_parts(successors, pending.pop()):
            entries = {block for block in part if block == first or not predecessors[block] <= part}
            within = {block: () if block in entries else predecessors[block] & part for block in part}
            order = _flow_order(within)
            if order is None:
                pending.append(part - entries if entries else frozenset())  # a cycle without an entry is unreachable
            elif len(entries) == 1:
                yield order


def _flow_order(predecessors: Mapping[int, Collection[int]]) -> tuple[int, ...] | None:
    """Return basic blocks in topological order of control flow; None if they form a cycle."""
    try:
        return tuple(TopologicalSorter(predecessors).static_order())
    except CycleError:
        return None


def _cyclic_parts(successors: Edges, blocks: frozenset[int]) -> Iterator[frozenset[int]]:
    """Yield the strongly connected components, on `blocks`, that have a cycle (Tarjan's algorithm)."""
    number: dict[int, int] = {}
    lowest: dict[int, int] = {}  # lowest block number that each basic block on the stack reaches
    stack: list[int] = []
    for root in sorted(blocks):
        path = [] if root in number else [(root, iter(successors[root] & blocks))]
        while path:
            block, following = path[-1]
            if block not in number:
                number[block] = lowest[block] = len(number)
                stack.append(block)
            each = next((each for each in following if each not in number or each in lowest), None)
            if each is not None and each not in number:
                path.append((each, iter(successors[each] & blocks)))
                continue
            if each is not None:
                lowest[block] = min(lowest[block], number[each])
                continue
            path.pop()
            if path:
                above = path[-1][0]
                lowest[above] = min(lowest[above], lowest[block])
            if lowest[block] < number[block]:
                continue
            part = _taken(stack, block)
            for done in part:
                del lowest[done]
            if len(part) > 1 or block in successors[block]:
                yield part


def _taken(stack: list[int], last: int) -> frozenset[int]:
    """Pop a stack of basic blocks down to and including `last`; return the popped basic blocks."""
    taken: set[int] = set()
    while last not in taken:
        taken.add(stack.pop())
    return frozenset(taken)
