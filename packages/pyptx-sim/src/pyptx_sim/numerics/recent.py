"""What was computed of some registers a moment ago, and can be used again.

A kernel multiplies one fragment with many others, and adds to sums that it has just computed. Register arrays are never
changed in place, so what was computed of them holds for as long as they are the same arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import TypeAlias

from pyptx_sim.operation import Array

Reading: TypeAlias = Callable[[Sequence[Array]], Array]

MOST = 64
"""How many results are kept: a warp's registers hold no more sums of 16 x 8."""


class Recent:
    """A pure function of registers that keeps its last results, read-only; new ones push out the oldest."""

    __slots__ = ("_function", "_known", "_lock", "_most")

    def __init__(self, function: Reading, most: int = MOST) -> None:
        """Know nothing yet; keep `most` results."""
        self._function = function
        self._known: dict[tuple[int, ...], tuple[Sequence[Array], Array]] = {}
        self._lock = Lock()
        self._most = most

    def __call__(self, registers: Sequence[Array]) -> Array:
        """Return the function's result, known or computed now."""
        known = self._known.get(tuple(map(id, registers)))
        if known is not None:
            return known[1]
        result = self._function(registers)
        self.keep(registers, result)
        return result

    def take(self, registers: Sequence[Array]) -> Array:
        """Return the function's result, and forget it: these registers are about to be written anew."""
        with self._lock:
            known = self._known.pop(tuple(map(id, registers)), None)
        return self._function(registers) if known is None else known[1]

    def keep(self, registers: Sequence[Array], result: Array) -> None:
        """Know that the function's result for `registers` is `result`; both must not be changed from now on."""
        result.flags.writeable = False
        with self._lock:
            # The registers stay alive with the result, so no other array can get the identity of one of them.
            self._known[tuple(map(id, registers))] = tuple(registers), result
            if len(self._known) > self._most:
                del self._known[next(iter(self._known))]
