"""Cache of compiled programs, limited by the number of instructions, each of which takes kilobytes of closures."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Concatenate, Final, Generic, ParamSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_sim.machine.scheduling.code import Code
    from pyptx_sim.program.program import Program

__all__ = ["MOST", "KeptPrograms"]

P = ParamSpec("P")

MOST: Final = 60_000
"""Maximum number of cached instructions: at 5 to 7 KB each, 400 MB."""


class KeptPrograms(Generic[P]):
    """A compiling function with a cache of its latest results, keyed by program and keywords.

    The cache holds at most `most` instructions; a larger program is cached alone until the next compilation. `anew`
    bypasses the cache.
    """

    def __init__(self, compiles: Callable[Concatenate[Program, P], Code], most: int = MOST) -> None:
        """Start with an empty cache."""
        self.anew = compiles
        self._most = most
        self._kept: dict[tuple[Program, tuple[tuple[str, object], ...]], Code] = {}
        self._lock = Lock()

    def __call__(self, program: Program, *args: P.args, **how: P.kwargs) -> Code:
        """Return the compiled program, cached or new."""
        key = program, tuple(sorted(how.items()))
        with self._lock:
            known = self._kept.pop(key, None)
            if known is not None:
                self._kept[key] = known  # inserted as last key: the most recently used program
                return known
        made = self.anew(program, *args, **how)
        with self._lock:
            self._kept[key] = made
            held = self.instructions
            for oldest in list(self._kept)[:-1]:
                if held <= self._most:
                    break
                held -= len(oldest[0].sites)
                del self._kept[oldest]
        return made

    @property
    def instructions(self) -> int:
        """Number of cached instructions."""
        return sum(len(program.sites) for program, _ in self._kept)

    def clear(self) -> None:
        """Remove all programs from the cache."""
        with self._lock:
            self._kept.clear()
