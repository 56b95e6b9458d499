"""Which instructions end a basic block, at which one begins, and the blocks that follow from both."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from pyptx_sim.program.program import BlockRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyptx_sim.program.program import FunctionLayout, Site

# After these the lanes may stand elsewhere, wait, or be gone.
_TERMINATORS = frozenset({"bra", "brx", "call", "ret", "exit", "trap", "bar", "barrier"})

# Manual: "Parallel Synchronization and Communication Instructions"; each names its lanes in a mask.
_WARP_COLLECTIVES = frozenset({"shfl", "vote", "match", "redux", "elect"})


def waits_alone(opcode: tuple[str, ...]) -> bool:
    """Tell whether an instruction may have to wait, or to be executed again, and is a block of its own for that."""
    return opcode[0] == "setmaxnreg" or (opcode[0] == "mbarrier" and opcode[1] in {"test_wait", "try_wait"})


def ends_block(opcode: tuple[str, ...]) -> bool:
    """Tell whether an instruction is the last one of its block."""
    if waits_alone(opcode):
        return True
    return opcode[0] in _TERMINATORS and opcode[:2] != ("bar", "warp")


def is_gate(opcode: tuple[str, ...]) -> bool:
    """Tell whether the lanes of a warp wait for each other at an instruction."""
    if opcode[:2] == ("bar", "warp") or opcode[0] == "setmaxnreg":
        return True
    return not ends_block(opcode) and ("sync" in opcode[1:] or "aligned" in opcode[1:])


def gathers_warp(opcode: tuple[str, ...]) -> bool:
    """Tell whether a gate lets on none but whole warps."""
    return is_gate(opcode) and opcode[:2] != ("bar", "warp") and opcode[0] not in _WARP_COLLECTIVES


def meets_warpgroup(opcode: tuple[str, ...]) -> bool:
    """Tell whether the warps of a warpgroup wait for each other at an instruction."""
    return opcode[:2] == ("wgmma", "mma_async")


def basic_blocks(
    functions: Iterable[FunctionLayout], sites: Sequence[Site], label_pcs: Iterable[int]
) -> tuple[BlockRange, ...]:
    """Cut the functions' instructions into blocks, numbered in program order."""
    leaders = set(label_pcs)
    bodies = [function.body for function in functions if function.body]
    leaders.update(body.start for body in bodies)
    leaders.update(body.stop for body in bodies)
    together = False  # whole warps stand here, since a gate in this block
    for site in sites:
        opcode = site.instruction.opcode
        together = together and site.pc not in leaders
        if waits_alone(opcode) or (is_gate(opcode) and not (together and gathers_warp(opcode))):
            leaders.add(site.pc)
            together = gathers_warp(opcode)
        if ends_block(opcode):
            leaders.add(site.pc + 1)
    bounds = sorted(leaders)
    blocks: list[BlockRange] = []
    for first, last in pairwise(bounds):
        opcode = sites[last - 1].instruction.opcode
        gate = is_gate(sites[first].instruction.opcode)
        meets = any(meets_warpgroup(site.instruction.opcode) for site in sites[first:last])
        blocks.append(BlockRange(len(blocks), first, last, ends_block(opcode), gate, meets))
    return tuple(blocks)
