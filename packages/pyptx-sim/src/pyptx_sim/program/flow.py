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
    """Tell whether an instruction may have to be executed again, and is a block of its own for that."""
    return opcode[0] == "mbarrier" and opcode[1] in {"test_wait", "try_wait"}


def ends_block(opcode: tuple[str, ...]) -> bool:
    """Tell whether an instruction is the last one of its block."""
    if waits_alone(opcode):
        return True
    return opcode[0] in _TERMINATORS and opcode[:2] != ("bar", "warp")


def is_gate(opcode: tuple[str, ...]) -> bool:
    """Tell whether the lanes of a warp wait for each other at an instruction."""
    if opcode[:2] == ("bar", "warp"):
        return True
    return not ends_block(opcode) and ("sync" in opcode[1:] or "aligned" in opcode[1:])


def basic_blocks(
    functions: Iterable[FunctionLayout], sites: Sequence[Site], label_pcs: Iterable[int]
) -> tuple[BlockRange, ...]:
    """Cut the functions' instructions into blocks, numbered in program order."""
    leaders = set(label_pcs)
    for site in sites:
        if ends_block(site.instruction.opcode):
            leaders.add(site.pc + 1)
        if is_gate(site.instruction.opcode) or waits_alone(site.instruction.opcode):
            leaders.add(site.pc)
    bodies = [function.body for function in functions if function.body]
    leaders.update(body.start for body in bodies)
    leaders.update(body.stop for body in bodies)
    bounds = sorted(leaders)
    blocks: list[BlockRange] = []
    for first, last in pairwise(bounds):
        opcode = sites[last - 1].instruction.opcode
        gate = is_gate(sites[first].instruction.opcode)
        blocks.append(BlockRange(len(blocks), first, last, ends_block(opcode), gate))
    return tuple(blocks)
