"""`tcgen05.cp` and `tcgen05.shift`: copies from shared to tensor memory, and shifts down by a lane.

Manual: "tcgen05.cp", "tcgen05.shift".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_arch_blackwell.datapath import LANES, PARTITION, Rectangle
from pyptx_arch_blackwell.layouts.copies import COPIES, FORMATS, SHIFT_COLUMNS, SHIFT_LANES, Copy, shifted_from
from pyptx_arch_blackwell.sim import thread_order
from pyptx_arch_blackwell.sim.allocation import AllocatedColumns
from pyptx_arch_blackwell.sim.layouts import swizzle
from pyptx_arch_blackwell.sim.matrices import located, matrix_of, readable, unwritten
from pyptx_arch_blackwell.sim.pairs import Pairing
from pyptx_arch_blackwell.sim.pipeline import Piped, blocks_of, first_blocks, pipeline_of
from pyptx_arch_blackwell.sim.tensor_memory import address_of, columns_of, lanes_of, touch
from pyptx_sim.extension import ASYNC, AsyncAccess, InstructionSemantics
from pyptx_sim.extension.shared_matrices import CHUNK, Extent, offsets, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pyptx_arch_blackwell.sim.tensor_memory import Words
    from pyptx_sim.extension import Action, Array, ExecutionContext, IntArray, Operands

__all__ = ["STEPS"]

_BYTE_BITS = 8


def _extent(copy: Copy) -> Extent:
    """Return the extent of a copy's source matrix: number of rows, and bytes per row."""
    return Extent(copy.rows, copy.chunks * CHUNK, _BYTE_BITS, "K")


@lru_cache(maxsize=16)
def _targets(copy: Copy, block: int) -> tuple[Rectangle, ...]:
    """Return a copy's destination rectangles in a CTA: one for each multicast copy of each group of rows."""
    return tuple(
        Rectangle(block, row, copy.band, 0, copy.columns, copy.lanes(row)[number])
        for row in range(0, copy.rows, copy.band)
        for number in range(len(copy.copies))
    )


@dataclass(slots=True, kw_only=True)
class Copied(Piped):
    """Outstanding copies from matrices with `descriptors` to `targets` in tensor memory."""

    copy: Copy
    format: str
    count: int
    descriptors: NDArray[np.uint64]
    targets: IntArray

    def perform(self, further: Sequence[Piped]) -> None:
        """Perform the outstanding tcgen05.cp: copy from each CTA's shared memory to its own tensor memory."""
        del further
        shared = self.wave.shared
        for block in range(self.count):
            blocks = self.blocks + block
            index = offsets(located(self.descriptors, blocks, shared.stride), _extent(self.copy)) // CHUNK
            data = shared.arena.chunks(index).view(np.uint8)
            if self.format:
                data = decompressed(data, self.format)
            words = data.reshape(len(self), self.copy.rows, -1).view(np.uint32)
            self.tensor.write(blocks, self.targets, _targets(self.copy, 0), words)


def decompressed(data: Array, form: str) -> Array:
    """Return the decompressed elements as bytes, 16 for each 16-byte source chunk."""
    chunks = data.reshape(-1, CHUNK)
    found = b"".join(FORMATS[form].decompressed(chunk.tobytes()) for chunk in chunks)
    return np.frombuffer(found, np.uint8).reshape(data.shape)


def compile_copy(operands: Operands) -> Action:
    """Issue a tcgen05.cp for each thread."""
    kind, count = pipeline_of(operands), blocks_of(operands)
    copy, form = COPIES[operands.word("shape"), operands.word("multicast")], operands.word("format")
    target, source = address_of(operands, "taddr"), operands.source("descriptor", "u64")

    def issue(turn: ExecutionContext) -> None:
        if not turn.part(Pairing).holds(turn, count):
            return
        descriptors, targets = turn.each(source), turn.each(target).astype(np.int64)
        warps, lanes = turn.threads
        item = Copied(
            wave=turn.wave,
            pc=turn.pc,
            warps=warps,
            lanes=lanes,
            group=kind,
            numbers=np.zeros(turn.count, np.int64),
            blocks=first_blocks(turn, count),
            copy=copy,
            format=form,
            count=count,
            descriptors=descriptors,
            targets=targets,
        )
        if _sound(turn, item):
            item.numbers = turn.join(kind)
            thread_order.issue(turn, item, _touches(item), proxy=ASYNC)

    return operands.action(issue)


def _sound(turn: ExecutionContext, item: Copied) -> bool:
    """Report tcgen05.cp with invalid addresses; return whether all copies can be performed."""
    extent, allocation = _extent(item.copy), turn.part(AllocatedColumns)
    sound = all(readable(turn, bits, "tcgen05.cp source", extent) for bits in dict.fromkeys(item.descriptors.tolist()))
    for block, column in zip(item.blocks.tolist(), columns_of(item.targets).tolist(), strict=True):
        for other in range(item.count):
            sound &= allocation.check_columns(turn, block + other, column, item.copy.columns)
    if lanes_of(item.targets).max() not in item.copy.beginnings:
        last, lane = item.copy.beginnings[-1], int(lanes_of(item.targets).max())
        message = f"tcgen05.cp to tensor memory lane {lane}: must be {f'0 to {last}' if last else '0'}"
        turn.fault(
            "tmem-lanes", message, "clear the lane field (bits 31-16) of the address: the shape selects the lanes"
        )
        return False
    if sound and turn.checked:
        for block in range(item.count):
            unwritten(turn, item.descriptors, item.blocks + block, extent, "tcgen05.cp")
    return sound


def _touches(item: Copied) -> Iterator[AsyncAccess]:
    layout = swizzle(matrix_of(int(item.descriptors[0])), "tcgen05.cp")
    for block in range(item.count):
        blocks = item.blocks + block
        places = located(item.descriptors, blocks, item.wave.shared.stride)
        where, size = pieces(places, _extent(item.copy))
        owners = np.repeat(np.arange(len(item)), where.shape[1])
        yield AsyncAccess("shared", writes=False, offsets=where.reshape(-1), size=size, owners=owners, layout=layout)
        yield touch(blocks, item.targets, _targets(item.copy, 0), writes=True)


# --- shifts -------------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class Shifted(Piped):
    """Outstanding tcgen05.shift, each of 32 lanes and 8 columns at an address."""

    count: int
    targets: IntArray

    def perform(self, further: Sequence[Piped]) -> None:
        """Perform the outstanding tcgen05.shift in each CTA's tensor memory."""
        del further
        for block in range(self.count):
            blocks = self.blocks + block
            words = self.tensor.read(blocks, self.targets, _SHIFTED)
            self.tensor.write(blocks, self.targets, _SHIFTED, shifted(words))


_SHIFTED: Final = (Rectangle(0, 0, PARTITION, 0, SHIFT_COLUMNS, 0),)


def shifted(words: Words) -> Words:
    """Return tensor memory words, `[n, rows, columns]`, with rows shifted down by one in each group of 32 rows."""
    found = words.copy()
    for first in range(0, words.shape[1], PARTITION):
        for lane in range(SHIFT_LANES):
            found[:, first + lane] = words[:, first + shifted_from(lane)]
    return found


def compile_shift(operands: Operands) -> Action:
    """Issue a tcgen05.shift for each thread."""
    kind, count, target = pipeline_of(operands), blocks_of(operands), address_of(operands, "taddr")

    def issue(turn: ExecutionContext) -> None:
        if not turn.part(Pairing).holds(turn, count):
            return
        targets = turn.each(target).astype(np.int64)
        warps, lanes = turn.threads
        item = Shifted(
            wave=turn.wave,
            pc=turn.pc,
            warps=warps,
            lanes=lanes,
            group=kind,
            numbers=np.zeros(turn.count, np.int64),
            blocks=first_blocks(turn, count),
            count=count,
            targets=targets,
        )
        if _shiftable(turn, item):
            item.numbers = turn.join(kind)
            told = (touch(item.blocks + block, targets, _SHIFTED, writes=True) for block in range(count))
            thread_order.issue(turn, item, told, proxy=ASYNC)

    return operands.action(issue)


def _shiftable(turn: ExecutionContext, item: Shifted) -> bool:
    allocation = turn.part(AllocatedColumns)
    lanes = lanes_of(item.targets)
    wrong = (lanes % PARTITION != 0) | (lanes >= LANES)
    if wrong.any():
        message = f"tcgen05.shift at tensor memory lane {int(lanes[wrong][0])}: must be 0, 32, 64 or 96"
        turn.fault("tmem-lanes", message, "set the lane field (bits 31-16) of the address to a multiple of 32")
        return False
    return all(
        allocation.check_columns(turn, block + other, column, SHIFT_COLUMNS)
        for block, column in zip(item.blocks.tolist(), columns_of(item.targets).tolist(), strict=True)
        for other in range(item.count)
    )


STEPS: Final = (
    InstructionSemantics(opcode="tcgen05.cp", effect="issue", compile=compile_copy, converges=""),
    InstructionSemantics(opcode="tcgen05.shift", effect="issue", compile=compile_shift, converges=""),
)
