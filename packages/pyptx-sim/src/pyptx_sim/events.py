"""Records of accesses that the race checker passes between its parts, always of several accesses: arrays.

A *shadow entry* is a row of `COLUMNS` numbers, int32: the last access of one kind to a piece of memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from pyptx_sim.machine.lanes import WARP as LANES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.observer import AccessKind, Offsets, Space, Stores

__all__ = [
    "ATOMIC",
    "COLUMNS",
    "ISSUER",
    "MASK",
    "NOBODY",
    "PC",
    "TIME",
    "WARP",
    "AccessEvent",
    "Racer",
    "Reach",
    "agent_rows",
    "lanes_of",
    "reach_of",
]

# Columns of a shadow entry (record of the last access to a shadow granule).
WARP: Final = 0  # column: number of the accessing warp, from 1, through all waves of CTAs; NOBODY: no access
MASK: Final = 1  # column: accessing lanes of the warp, bit i for lane i
TIME: Final = 2  # column: the warp's time (`WarpClocks.now`) at the access
PC: Final = 3
COLUMNS: Final = 4
NOBODY = 0  # `WARP` of an empty shadow entry; 0, since arrays of zeros use no memory until they are written
# Columns of the shadow entry of an asynchronous operation; `WARP` is the column of its operation queue plus 1.
ISSUER: Final = 1  # in place of `MASK`: lane that issued the operation
ATOMIC: Final = LANES  # added to the lane number in column `ISSUER` if the operation is an atomic update

Reach: TypeAlias = tuple[int, int]
"""Lowest and highest number of some shadow granules, or bounds of these."""


def reach_of(at: NDArray[np.int64]) -> Reach:
    """Return the lowest and the highest of some shadow granule numbers, at least one."""
    return int(at.min()), int(at.max())


@dataclass(frozen=True, slots=True)
class AccessEvent:
    """Accesses of one instruction, as entries per shadow granule: entry i accesses granule `at[i]`.

    Each access has `granules` consecutive entries; `reach` are bounds of `at`. `rows` are the vector clocks of the
    accessing lanes. Shadow `entries` number warps through all waves of CTAs, `warps` within this wave; `first_warp` is
    the number of its first warp.
    """

    space: Space
    kind: AccessKind
    at: NDArray[np.int64]
    reach: Reach
    granules: int
    warps: NDArray[np.int64]
    lanes: NDArray[np.int64]
    rows: NDArray[np.int64]
    entries: NDArray[np.int32]
    pc: int
    first_warp: int
    stores: Stores | None = None


@dataclass(frozen=True, slots=True)
class Racer:
    """Lanes (as bits) of one warp that made a racing access, with the warp's time and the pc of the access."""

    warp: int
    mask: int
    time: int
    pc: int

    def has(self, lane: int) -> bool:
        """Return whether a lane is in the mask of the racing lanes."""
        return bool(self.mask >> lane & 1)


def agent_rows(agents: Offsets, lanes: Offsets, clocks: NDArray[np.int64], pc: int) -> NDArray[np.int32]:
    """Return shadow entries of operations: column of the operation queue plus 1, issuing lane, clock, pc."""
    rows = np.empty((len(agents), COLUMNS), np.int32)
    rows[:, WARP], rows[:, ISSUER], rows[:, TIME], rows[:, PC] = agents + 1, lanes, clocks, pc
    return rows


def lanes_of(rows: NDArray[np.int32]) -> Offsets:
    """Return the lanes that issued the operations of some shadow entries."""
    lanes: Offsets = rows[:, ISSUER].astype(np.int64) % LANES
    return lanes
