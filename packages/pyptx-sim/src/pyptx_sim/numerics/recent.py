"""Cache of recent results of functions of register arrays, such as the conversion of a fragment to a matrix.

A kernel multiplies one fragment with many fragments, and adds to accumulators that it has just computed. Register
arrays are never changed in place, so a result is valid while the arrays exist. An entry is removed when its register
arrays are freed because the registers are overwritten or all CTAs exit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias
from weakref import ref

from pyptx_sim.operation import Array

Reading: TypeAlias = Callable[[Sequence[Array]], Array]

MOST = 64
"""Maximum number of cached results: the registers of a warp can hold this many 16 x 8 f32 accumulators."""


class Recent:
    """Pure function of register arrays, with a cache of its most recent results (read-only arrays; oldest evicted)."""

    __slots__ = ("_function", "_known", "_most")

    def __init__(self, function: Reading, most: int = MOST) -> None:
        """Start with an empty cache of at most `most` results."""
        self._function = function
        self._known: dict[tuple[int, ...], tuple[Sequence[ref[Array]], Array]] = {}
        self._most = most

    def __call__(self, registers: Sequence[Array]) -> Array:
        """Return the function's result for `registers`, cached or computed."""
        known = self._known.get(tuple(map(id, registers)))
        if known is not None:
            return known[1]
        result = self._function(registers)
        self.keep(registers, result)
        return result

    def __len__(self) -> int:
        """Return the number of cached results."""
        return len(self._known)

    def take(self, registers: Sequence[Array]) -> Array:
        """Return the result for `registers` and remove it from the cache, because the registers will be overwritten."""
        known = self._known.pop(tuple(map(id, registers)), None)
        return self._function(registers) if known is None else known[1]

    def keep(self, registers: Sequence[Array], result: Array) -> None:
        """Cache `result` as the function's result for `registers`; neither array may be modified afterwards."""
        result.flags.writeable = False
        known, key = self._known, tuple(map(id, registers))

        def forget(_: object) -> None:
            # A register array was freed, and another array may get its id.
            known.pop(key, None)

        known[key] = [ref(register, forget) for register in registers], result
        if len(known) > self._most:
            for oldest in list(known)[: len(known) - self._most]:
                known.pop(oldest, None)
