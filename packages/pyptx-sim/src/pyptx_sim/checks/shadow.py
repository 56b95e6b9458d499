"""The memory of a checker: for each granule of an arena, who touched it last, when, and with which instruction.

A granule is as wide as the narrowest access seen so far; the first narrower one splits all granules. So a kernel that
moves 16-byte vectors pays for one entry per vector, and one that stores bytes is still judged byte by byte.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.observer import Offsets

NOBODY = -1
SEVERAL = -1  # lanes
WIDEST_ACCESS = 16  # bytes; a wider access covers several granules


@dataclass(slots=True)
class Shadow:
    """Last write and last read of each granule of one arena.

    `*_warp` is the warp or `NOBODY`, `*_lane` the lane or `SEVERAL`, `*_time` the warp's time, `*_lane_time` the time
    of the lanes' clock, `*_pc` the instruction. `atomic` says that the last write was a strong access. Where `readers`
    is not 0 (shared memory, whose possible readers are few), `reader_time[granule, reader]` and `reader_pc` keep the
    last read of each of them.
    """

    arena_bytes: int
    granule: int = WIDEST_ACCESS
    write_warp: NDArray[np.int32] = field(init=False)
    write_lane: NDArray[np.int8] = field(init=False)
    write_time: NDArray[np.int32] = field(init=False)
    write_lane_time: NDArray[np.int32] = field(init=False)
    write_pc: NDArray[np.int32] = field(init=False)
    atomic: NDArray[np.bool_] = field(init=False)
    read_warp: NDArray[np.int32] = field(init=False)
    read_lane: NDArray[np.int8] = field(init=False)
    read_time: NDArray[np.int32] = field(init=False)
    read_lane_time: NDArray[np.int32] = field(init=False)
    read_pc: NDArray[np.int32] = field(init=False)
    readers: int = 0
    reader_time: NDArray[np.int32] = field(init=False)
    reader_pc: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        """Make the arrays."""
        self.clear()

    def clear(self) -> None:
        """Forget every access."""
        count = -(-self.arena_bytes // self.granule)
        for kind in ("write", "read"):
            setattr(self, f"{kind}_warp", np.full(count, NOBODY, np.int32))
            setattr(self, f"{kind}_lane", np.zeros(count, np.int8))
            for what in ("time", "lane_time", "pc"):
                setattr(self, f"{kind}_{what}", np.zeros(count, np.int32))
        self.atomic = np.zeros(count, np.bool_)
        self.reader_time = np.zeros((count if self.readers else 0, self.readers), np.int32)
        self.reader_pc = np.zeros_like(self.reader_time)

    def granules(self, offsets: Offsets, size: int) -> NDArray[np.int64]:
        """Return the granules of each access, `[n, granules]`, splitting all of them first if they are too wide."""
        fit = self.granule
        while fit > size or (fit > 1 and np.any(offsets % fit)):
            fit //= 2
        if fit != self.granule:
            self._split(fit)
        first = offsets // self.granule
        count = size // self.granule
        return first[:, None] if count == 1 else first[:, None] + np.arange(count)

    def _split(self, granule: int) -> None:
        factor = self.granule // granule
        self.granule = granule
        for column in fields(self):
            array: Any = getattr(self, column.name)
            if isinstance(array, np.ndarray):
                setattr(self, column.name, np.repeat(array, factor, axis=0))
