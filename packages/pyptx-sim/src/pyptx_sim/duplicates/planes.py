"""Value numbers of the registers of a wave (the CTAs that run together).

Each has a level, the kind of its inputs: constants, launch parameters, memory, or unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.duplicates.numbers import Numbers, leaf_bits, mix, name_number, reduced, value_bits
from pyptx_sim.machine.lanes import merged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask

__all__ = [
    "DATA",
    "FIXED",
    "LAUNCH",
    "OPAQUE",
    "PREDICATES",
    "Number",
    "Planes",
    "chosen",
    "fixed",
    "highest",
    "opaque",
    "where",
]

FIXED: Final = np.uint8(0)
"""Level (kind of inputs) of values from immediates and special registers only; value number: hash of the value."""
LAUNCH: Final = np.uint8(1)
"""Level (kind of inputs) of values that also depend on launch parameters: equal in every run of the launch."""
DATA: Final = np.uint8(2)
"""Level (kind of inputs) of values that also depend on values loaded from memory."""
OPAQUE: Final = np.uint8(3)
"""Level (kind of inputs) of values computed from unknown inputs."""

_UNKNOWN: Final = name_number("unknown")
_VALUE: Final = name_number("value")
_CHOSEN: Final = name_number("chosen")
_TRUE, _FALSE = np.uint64(1 << 63), np.uint64(1 << 62)

PREDICATES: Final = _TRUE | _FALSE
"""Filter bits (`Number.leaves`) of `FIXED` predicates."""


@dataclass(frozen=True, slots=True)
class Number:
    """Value number in each lane: `[rows|1, 32|1]` arrays. The value number of a `FIXED` value is its hash.

    `leaves` are the bits (`leaf_bits`) of all loads and fixed values that the value depends on.
    """

    strict: Numbers
    exact: Numbers
    level: NDArray[np.uint8]
    leaves: Numbers

    def spread(self, height: int) -> Number:
        """Return this value number with its arrays broadcast to all lanes of `height` warps."""
        shape = (height, 32)
        strict, exact = np.broadcast_to(self.strict, shape), np.broadcast_to(self.exact, shape)
        return Number(strict, exact, np.broadcast_to(self.level, shape), np.broadcast_to(self.leaves, shape))


def fixed(values: Array) -> Number:
    """Return value numbers for `FIXED` values: hashes of the values."""
    strict = mix(_VALUE, value_bits(values))
    leaves = np.where(values, _TRUE, _FALSE) if values.dtype == np.bool_ else leaf_bits(strict)
    return Number(strict, reduced(strict), np.full((1, 1), FIXED), leaves)


def opaque(strict: Numbers) -> Number:
    """Return an `OPAQUE` value number (of a value with unknown inputs); `strict` is its bitwise value number."""
    return Number(strict, reduced(strict), np.full((1, 1), OPAQUE), leaf_bits(strict))


def where(condition: Mask, one: Number, other: Number) -> Number:
    """Return, per lane, the value number `one` if the condition holds, else `other`."""
    strict, exact = np.where(condition, one.strict, other.strict), np.where(condition, one.exact, other.exact)
    level = np.where(condition, one.level, other.level)
    return Number(strict, exact, level, np.where(condition, one.leaves, other.leaves))


def highest(numbers: Sequence[Number]) -> NDArray[np.uint8]:
    """Return the level (kind of inputs) of a value computed from all of `numbers`: their highest level."""
    level = np.full((1, 1), FIXED)
    for each in numbers:
        level = np.maximum(level, each.level)
    return level


def chosen(condition: Mask, by: Number, one: Number, other: Number) -> Number:
    """Return the value number of `condition ? one : other`; a condition that depends on data is mixed in (`by`)."""
    taken, depends = where(condition, one, other), by.level >= DATA
    if not depends.any():
        return taken
    both = mix(_CHOSEN, by.strict, one.strict, other.strict)
    both_exact = reduced(mix(_CHOSEN, by.strict, one.exact, other.exact))
    level = np.maximum(np.maximum(one.level, other.level), by.level)
    return where(depends, Number(both, both_exact, level, one.leaves | other.leaves | by.leaves), taken)


class Planes:
    """Value numbers of all registers, by register slot, and of branch conditions whose lanes have not reconverged."""

    def __init__(self, wave: Wave) -> None:
        """Start without value numbers: no register has been written."""
        self._height = wave.height
        self._known: dict[int, Number] = {}
        self._branches: dict[int, Number] = {}
        self._count = 0

    def read(self, slot: int, lanes: Lanes) -> Number:
        """Return the value numbers of register `slot` in the warps of `lanes`."""
        known = self._known.get(slot)
        if known is None:
            return opaque(mix(_UNKNOWN, np.full((1, 1), slot, np.uint64)))
        return _rows(known, lanes)

    def write(self, slot: int, lanes: Lanes, number: Number) -> None:
        """Set the value numbers of a register in the active lanes."""
        self._known[slot] = self._merged(self._known.get(slot), lanes, number)

    def _merged(self, old: Number | None, lanes: Lanes, number: Number) -> Number:
        if old is None:
            old = opaque(mix(_UNKNOWN, np.zeros((1, 1), np.uint64)))
        strict = merged(old.strict, number.strict, lanes, self._height)
        exact = merged(old.exact, number.exact, lanes, self._height)
        level = merged(old.level, number.level, lanes, self._height)
        return Number(strict, exact, level, merged(old.leaves, number.leaves, lanes, self._height))

    def fresh(self, lanes: Lanes) -> Number:
        """Return new `OPAQUE` value numbers, different in every lane."""
        self._count += 1
        rows = lanes.row_numbers().astype(np.uint64)[:, None]
        lane = np.arange(32, dtype=np.uint64)[None]
        return opaque(mix(_UNKNOWN, np.full((1, 1), self._count, np.uint64), rows, lane))

    # --- branches -------------------------------------------------------------------------------

    def branched(self, branch: int, lanes: Lanes, by: Number, *, certain: bool) -> None:
        """Record a branch condition that depends on data: registers written before reconvergence depend on it too."""
        depends = by.level >= DATA
        if not depends.any():
            return
        before = self._branches.get(branch)
        known = self._none() if before is None else before
        old = _rows(known, lanes)
        now = mix(_CHOSEN, old.strict, by.strict)
        number = Number(now, now, np.maximum(old.level, by.level if certain else OPAQUE), old.leaves | by.leaves)
        self._branches[branch] = self._merged(known, lanes, where(depends, number, old))

    def join(self, branch: int, lanes: Lanes, slots: frozenset[int]) -> None:
        """Mix a branch's recorded condition into the value numbers of registers `slots`, written since the branch."""
        known = self._branches.get(branch)
        if known is None:
            return
        by = _rows(known, lanes)
        depends = by.level >= DATA
        some = lanes.narrowed(np.broadcast_to(depends, (lanes.height, 32))) if depends.any() else None
        if some is None:
            return
        for slot in slots & self._known.keys():
            old = self.read(slot, some)
            strict = mix(_CHOSEN, by.strict, old.strict)
            level = np.maximum(old.level, by.level)
            self.write(slot, some, Number(strict, reduced(strict), level, old.leaves | by.leaves))
        self._branches[branch] = self._merged(known, some, self._none())

    @staticmethod
    def _none() -> Number:
        nothing = np.zeros((1, 1), np.uint64)
        return Number(nothing, nothing, np.full((1, 1), FIXED), nothing)


def _rows(number: Number, lanes: Lanes) -> Number:
    """Select the value numbers in the warps of `lanes` from the value numbers in all warps."""
    strict, exact, level = lanes.select(number.strict), lanes.select(number.exact), lanes.select(number.level)
    return Number(strict, exact, level, lanes.select(number.leaves))
