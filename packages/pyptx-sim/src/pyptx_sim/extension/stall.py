"""Waits of lanes for objects of an extension, such as registers; not for barriers and mbarriers."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Stall"]


class Stall(Protocol):
    """Object, such as a register pool, that lanes wait for until another thread resumes them (`Wave.stalled`)."""

    @property
    def name(self) -> str:
        """Name of the awaited object, as in `waiting for registers`."""
        ...

    @property
    def help(self) -> str | None:
        """Help for a wait that never ends; None for the default."""
        ...

    @property
    def alone(self) -> bool:
        """Whether only the waiting threads themselves could end the wait; deadlock reports then list it first."""
        ...

    def describe(self, warp: int) -> str:
        """Return why a warp is blocked, for the report of a deadlock: "waiting for 4 registers"."""
        ...
