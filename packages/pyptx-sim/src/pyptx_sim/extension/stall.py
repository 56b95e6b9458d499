"""What lanes wait for that no barrier of the machine tells of."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Stall"]


class Stall(Protocol):
    """Something of a wave that lanes wait for, from `Wave.stall` until `Wave.resume`."""

    @property
    def name(self) -> str:
        """What they wait for, as in `waits for registers`."""
        ...

    @property
    def hint(self) -> str:
        """What to do about it where they wait for ever."""
        ...

    def describe(self, strand: int) -> str:
        """Return what a waiting strand lacks, for the report of a deadlock; its warp is `wave.strands.warp[strand]`."""
        ...
