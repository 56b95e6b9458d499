"""Tensor memory: 128 lanes of 512 columns, each a word, that every block has. Manual: "Tensor Memory".

An address has the lane in its upper and the column in its lower half. In the arena the columns of a lane lie side by
side, lane behind lane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyptx_arch_blackwell.datapath import LANES
from pyptx_sim.extension import Proxy, Space

if TYPE_CHECKING:
    from pyptx_sim.extension import IntArray, Operands, Reader, Wave
    from pyptx_sim.operation import Array

__all__ = ["COLUMNS", "LANES", "SPACE", "TENSOR", "WORD", "TensorMemory", "address_of", "columns_of", "lanes_of"]

COLUMNS: Final = 512
WORD: Final = 4
_LANE_SHIFT = 16
_COLUMN_MASK = 0xFFFF
_BYTES = LANES * COLUMNS * WORD

Words: TypeAlias = NDArray[np.uint32]


def _describe(address: int) -> str:
    lane, column = divmod(address // WORD, COLUMNS)
    return f"lane {lane}, column {column} of tensor memory"


SPACE: Final = Space(name="tensor", size=_BYTES, describe=_describe)

TENSOR: Final = Proxy(name="tcgen05", unfenced="tensor-race")
"""The way to tensor memory: nothing but tcgen05 reaches it, so that there is nothing to fence against."""


def address_of(operands: Operands, name: str) -> Reader:
    """Return what reads an address in tensor memory, `[it]` or `[it+offset]`."""
    return operands.source(name, "u32")


def lanes_of(addresses: Array) -> IntArray:
    """Return the lanes of addresses."""
    return addresses.astype(np.int64) >> _LANE_SHIFT


def columns_of(addresses: Array) -> IntArray:
    """Return the columns of addresses."""
    return addresses.astype(np.int64) & _COLUMN_MASK


class TensorMemory:
    """The tensor memory of all blocks of a wave, as words `[blocks, lanes, columns]`."""

    def __init__(self, wave: Wave) -> None:
        """Look at the wave's arena."""
        self.arena = wave.memory(SPACE).arena
        shape = -1, LANES, COLUMNS
        self.words: Words = self.arena.units(WORD).reshape(shape)
        defined = self.arena.defined
        self._defined: Words | None = None if defined is None else defined.view(np.uint32).reshape(shape)

    def flat(self, blocks: IntArray, lanes: IntArray, columns: IntArray) -> IntArray:
        """Return the offsets of words in the arena, in bytes."""
        offsets: IntArray = ((blocks * LANES + lanes) * COLUMNS + columns) * WORD
        return offsets

    def mark(self, block: int, lanes: slice, columns: slice) -> None:
        """Note that words are written."""
        if self._defined is not None:
            self._defined[block, lanes, columns] = 0xFFFFFFFF

    def blank(self, block: int, lanes: slice, columns: slice, bits: int = 0xFFFFFFFF) -> int:
        """Return of how many of some words nothing has written `bits`; none in a run without checks."""
        if self._defined is None:
            return 0
        return int(np.count_nonzero(~self._defined[block, lanes, columns] & np.uint32(bits)))

    def forget(self, block: int, columns: slice) -> None:
        """Note that nothing has written some columns."""
        if self._defined is not None:
            self._defined[block, :, columns] = 0
