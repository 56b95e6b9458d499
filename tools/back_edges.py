"""Back edges of a control flow graph: edges to a block that dominates the block that they leave.

Each back edge makes a natural loop (Aho, Lam, Sethi, Ullman, "Compilers", 9.6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import networkx as nx

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def flow_graph(successors: Sequence[Iterable[int]]) -> nx.DiGraph[int]:
    """Return the control flow graph of the basic blocks 0, 1, …; block 0 is the entry."""
    flow: nx.DiGraph[int] = nx.DiGraph()
    flow.add_nodes_from(range(len(successors)))
    flow.add_edges_from((block, after) for block, each in enumerate(successors) for after in each)
    return flow


def back_edges(flow: nx.DiGraph[int]) -> list[tuple[int, int]]:
    """Return the back edges (last block, loop head) among the blocks reachable from the entry, in block order."""
    above = nx.immediate_dominators(flow, 0)
    return sorted((block, head) for block in {0, *above} for head in flow[block] if _dominates(above, head, block))


def _dominates(above: dict[int, int], head: int, block: int) -> bool:
    while block not in {head, 0}:
        block = above[block]
    return block == head
