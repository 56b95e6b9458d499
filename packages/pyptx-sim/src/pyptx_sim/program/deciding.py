"""Registers that control a loop: its branches, memory accesses and other effects depend on them.

A loop is endless if these registers return to the same values with memory unchanged. Other registers, such as a sum
that no instruction of the loop uses, do not matter.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from pyptx_sim.extension.registry import step_of
from pyptx_sim.program.flow import successors
from pyptx_sim.program.program import CARRY_SLOT, FRAME_SLOT, STACK_SLOT
from pyptx_sim.program.unassigned import used_registers

if TYPE_CHECKING:
    from pyptx_sim.program.program import Program, Site

__all__ = ["deciding_slots", "loops_only_compute"]

_BRANCHES: Final = frozenset({"bra", "brx"})
_CALLS: Final = frozenset({"call", "ret"})
_ALWAYS: Final = frozenset({FRAME_SLOT, STACK_SLOT, CARRY_SLOT})


@lru_cache(maxsize=64)
def deciding_slots(program: Program, pcs: frozenset[int]) -> frozenset[int] | None:
    """Return the slots of the registers that control the loops that contain instructions at `pcs`.

    None if any register may control a loop, because the loop calls a function or has an unknown instruction.
    """
    sites = _sites_around(program, pcs)
    if any(program.forms[site.pc] is None or site.instruction.opcode[0] in _CALLS for site in sites):
        return None
    deciding: set[int] = set()
    flows: list[tuple[set[int], set[int]]] = []
    for site in sites:
        read, written = ({each.slot for each in part} for part in used_registers(program, site))
        if _only_computes(site):
            flows.append((written, read))
        else:
            deciding |= read
    count = -1
    while count != len(deciding):
        count = len(deciding)
        for written, read in flows:
            if not written.isdisjoint(deciding):
                deciding |= read
    return _ALWAYS | deciding


def loops_only_compute(program: Program, pcs: frozenset[int]) -> bool:
    """Return whether the loops that contain instructions at `pcs` only compute and branch, without memory accesses."""
    return all(_only_computes(site) or site.instruction.opcode[0] in _BRANCHES for site in _sites_around(program, pcs))


def _sites_around(program: Program, pcs: frozenset[int]) -> list[Site]:
    """Return the instructions of the basic blocks on all paths from an instruction at `pcs` back to the same one."""
    starts = [block.first for block in program.blocks]
    blocks = {bisect_right(starts, pc) - 1 for pc in pcs}
    around = {each for block in blocks for each in _cycle(program, block)}
    return [site for each in around for site in program.sites[program.blocks[each].first : program.blocks[each].last]]


def _only_computes(site: Site) -> bool:
    step = step_of(site.instruction.opcode)
    return step is None or step.effect == "none"


def _cycle(program: Program, block: int) -> set[int]:
    """Return `block` and the basic blocks on all control flow paths from `block` back to `block`."""
    edges: dict[int, frozenset[int]] = {}
    pending = [block]
    while pending:
        index = pending.pop()
        if index not in edges and index < len(program.blocks):
            edges[index] = successors(program, program.blocks[index])
            pending += edges[index]
    found, grows = {block}, True
    while grows:
        more = {index for index, following in edges.items() if index not in found and not following.isdisjoint(found)}
        grows = bool(more)
        found |= more
    return found
