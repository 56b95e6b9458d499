"""Instructions on regions of memory. Manual: "st.bulk", "discard", "applypriority"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.instructions.memory.addresses import target
from pyptx_sim.instructions.synchronization.threads import locate
from pyptx_sim.machine.lanes import WARP, pick
from pyptx_sim.machine.memory.access import Access, LaneOffsets

if TYPE_CHECKING:
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave

_LINE = 128  # bytes that one discard or applypriority affects
_WORD = 8  # st.bulk sizes are multiples of this number of bytes


def compile_fill(operands: Operands) -> Action:
    """Compile `st.bulk`: each thread fills a region of shared memory with zeros."""
    find = target(operands, operands.named("a"), operands.space)
    read = operands.read(operands.given("size") or operands.named("size_32"), "u32")

    def step(wave: Wave, lanes: Lanes) -> None:
        sizes = np.broadcast_to(read(wave, lanes), (lanes.height, WARP)).astype(np.int64)
        for size in np.unique(sizes[lanes.full_mask]).tolist():
            some = lanes.narrowed(sizes == size)
            if some is None or not size:
                continue
            if size % _WORD:
                message, help = (
                    f"invalid st.bulk size {size}: must be a multiple of {_WORD} bytes",
                    "round up the size operand of st.bulk",
                )
                wave.mbarriers.misuse("misaligned", message, wave.pc, help)
                continue
            spots = locate(wave, some, find, Access("write", size, alignment=_WORD), "shared")
            arena = wave.memories["shared"].arena
            for offset in _touched(wave, some, spots, "shared", size).tolist():
                arena.data[offset : offset + size] = 0
                if arena.defined is not None:
                    arena.defined[offset : offset + size] = 0xFF

    return step


def _touched(wave: Wave, lanes: Lanes, spots: IntArray, space: str, size: int) -> IntArray:
    """Notify observers of writes of `size` bytes at arena offsets `spots` (-1: invalid); return valid offsets."""
    sound = lanes.narrowed(spots >= 0)
    if sound is None:
        return np.zeros(0, np.int64)
    positions, columns = sound.active
    offsets = pick(spots, positions, columns)
    if wave.machine.checked:
        places = LaneOffsets(offsets, positions, columns)
        Access("write", size).before(wave, sound, wave.memories[space], places)
    wave.version += 1
    return offsets


def compile_discard(operands: Operands) -> Action:
    """Compile `discard`: the 128 bytes of global memory at each lane's address become undefined."""
    find = target(operands, operands.named("a"), operands.space)
    access = Access("write", _LINE)

    def step(wave: Wave, lanes: Lanes) -> None:
        spots = locate(wave, lanes, find, access, "global")
        known = wave.memories["global"].arena.defined
        for offset in _touched(wave, lanes, spots, "global", _LINE).tolist():
            if known is not None:
                known[offset : offset + _LINE] = 0

    return step


def compile_priority(operands: Operands) -> Action:
    """Compile `applypriority`: only check the address, since the simulator has no caches."""
    find = target(operands, operands.named("a"), operands.space)

    def step(wave: Wave, lanes: Lanes) -> None:
        locate(wave, lanes, find, Access("read", _LINE), "global")

    return step
