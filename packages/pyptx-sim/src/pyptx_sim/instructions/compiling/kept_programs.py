"""The programs that were compiled last, as many as their instructions allow: one takes some kilobytes of closures."""

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
"""Instructions; with 5 to 7 KB for each, 400 MB."""


class KeptPrograms(Generic[P]):
    """A function that compiles a program as keywords say, and keeps what it returned last, up to so many instructions.

    A program that has more of them than that alone is kept until the next one. `anew` compiles without looking.
    """

    def __init__(self, compiles: Callable[Concatenate[Program, P], Code], most: int = MOST) -> None:
        """Keep nothing yet."""
        self.anew = compiles
        self._most = most
        self._kept: dict[tuple[Program, tuple[tuple[str, object], ...]], Code] = {}
        self._lock = Lock()

    def __call__(self, program: Program, *args: P.args, **how: P.kwargs) -> Code:
        """Return what a program is compiled to, known or made now."""
        key = program, tuple(sorted(how.items()))
        with self._lock:
            known = self._kept.pop(key, None)
            if known is not None:
                self._kept[key] = known  # behind all others
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
        """How many instructions are kept."""
        return sum(len(program.sites) for program, _ in self._kept)

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._kept.clear()
