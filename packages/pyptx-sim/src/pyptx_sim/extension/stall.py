"""What lanes wait for that no barrier of the machine tells of."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Stall"]


class Stall(Protocol):
    """Something of a wave that lanes wait for, until somebody resumes them (`Wave.stalled`)."""

    @property
    def name(self) -> str:
        """What they wait for, as in `waits for registers`."""
        ...

    @property
    def hint(self) -> str | None:
        """What to do about it where they wait for ever, if there is more to say than: find who should come."""
        ...

    @property
    def alone(self) -> bool:
        """Whether nobody but who waits there can be the reason of a deadlock, so that it is told first."""
        ...

    def describe(self, warp: int) -> str:
        """Return what a waiting warp of the wave lacks, for the report of a deadlock."""
        ...
