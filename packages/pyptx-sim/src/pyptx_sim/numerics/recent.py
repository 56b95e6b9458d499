"""What was computed of some registers a moment ago, and can be used again.

A kernel multiplies one fragment with many others, and adds to sums that it has just computed. Register arrays are never
changed in place, so what was computed of them holds for as long as they are the same arrays. It is kept for no longer:
registers go when others are written in their place, and all of them with the wave.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias
from weakref import ref

from pyptx_sim.operation import Array

Reading: TypeAlias = Callable[[Sequence[Array]], Array]

MOST = 64
"""How many results are kept: a warp's registers hold no more sums of 16 x 8."""


class Recent:
    """A pure function of registers that keeps its last results, read-only; new ones push out the oldest."""

    __slots__ = ("_function", "_known", "_most")

    def __init__(self, function: Reading, most: int = MOST) -> None:
        """Know nothing yet; keep `most` results."""
        self._function = function
        self._known: dict[tuple[int, ...], tuple[Sequence[ref[Array]], Array]] = {}
        self._most = most

    def __call__(self, registers: Sequence[Array]) -> Array:
        """Return the function's result, known or computed now."""
        known = self._known.get(tuple(map(id, registers)))
        if known is not None:
            return known[1]
        result = self._function(registers)
        self.keep(registers, result)
        return result

    def __len__(self) -> int:
        """Return how many results are kept."""
        return len(self._known)

    def take(self, registers: Sequence[Array]) -> Array:
        """Return the function's result, and forget it: these registers are about to be written anew."""
        known = self._known.pop(tuple(map(id, registers)), None)
        return self._function(registers) if known is None else known[1]

    def keep(self, registers: Sequence[Array], result: Array) -> None:
        """Know that the function's result for `registers` is `result`; both must not be changed from now on."""
        result.flags.writeable = False
        known, key = self._known, tuple(map(id, registers))

        def forget(_: object) -> None:
            # One of them is gone, and another array may get its identity.
            known.pop(key, None)

        known[key] = [ref(register, forget) for register in registers], result
        if len(known) > self._most:
            for oldest in list(known)[: len(known) - self._most]:
                known.pop(oldest, None)
