"""Registers for random inputs: selections that agree for all of them have one value number, however they compare.

Lanes that reduce by comparisons and selections (`argmax`, a maximum that propagates NaN) compare in different orders.
Their results are equal, but no rule about single instructions shows it. So each instruction of a slice is executed for
`_COUNT` more register files, in which the values loaded from memory are random: fractions, small integers, a few
floats (so that inputs are equal to each other) and numbers of all magnitudes, of one kind or mixed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pyptx_sim.duplicates.numbers import mix, name_number, reduced, value_bits
from pyptx_sim.duplicates.planes import DATA, OPAQUE, PREDICATES, Number, where
from pyptx_sim.instructions.compiling.registers import stored_dtype
from pyptx_sim.machine.lanes import merged
from pyptx_sim.types import B128

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pyptx_sim.duplicates.numbers import Numbers
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask
    from pyptx_sim.program.scopes import RegisterBinding

    Sampled = tuple[Number, list[Numbers]]

__all__ = ["SampledSelection", "Samples"]

_COUNT: Final = 64
_SELECTED: Final = name_number("selected")
_FRACTIONS, _SMALL, _SPECIAL, _WIDE = range(4)
# By size in bytes: bits of some floats; for fractions and for all magnitudes, the lowest bits and the
# number of random bits below the sign. A 32-bit register may hold two 16-bit floats, so both halves are fractions.
_FLOATS: Final = (0.0, 1.0, -1.0, 2.0, 3.0, -2.0, 0.5, 4.0)
_FEW: Final = {size: np.array(_FLOATS, f"<f{size}").view(f"<u{size}").astype(np.uint64).tolist() for size in (2, 4, 8)}
_FRACTION: Final = {2: (0x3C00, 0x3FF), 4: (0x3F003C00, 0x00FF03FF), 8: (0x3FE0 << 48, (1 << 53) - 1)}
_MAGNITUDES: Final = {2: (0x3000, 0x17FF), 4: (0x37800000, 0x0FFFFFFF), 8: (0x3F00 << 48, (1 << 57) - 1)}


@dataclass(frozen=True, slots=True)
class SampledSelection:
    """Sources of a selection: number, and bits in each register file. A guarded instruction has only a condition."""

    condition: Sampled
    choices: Sequence[Sampled]


class Samples:
    """The register files of a wave for random inputs; registers that no instruction of the slice writes are real."""

    def __init__(self, wave: Wave) -> None:
        """Start with the wave's registers."""
        self._wave = wave
        self._files = [list(wave.registers) for _ in range(_COUNT)]

    def execute(self, action: Action, lanes: Lanes) -> None:
        """Execute an instruction that only computes, for each register file."""
        wave, real = self._wave, self._wave.registers
        try:
            for wave.registers in self._files:
                action(wave, lanes)
        finally:
            wave.registers = real

    def keep(self, register: RegisterBinding, lanes: Lanes) -> None:
        """Set a register to its real contents: a value that does not depend on memory."""
        value = self._wave.registers[register.slot]
        if value is not None:
            self._write(register, lanes, [lanes.select(value)] * _COUNT)

    def draw(self, register: RegisterBinding, lanes: Lanes, number: Number) -> None:
        """Set a register to random numbers, which are equal for equal value numbers."""
        dtype = stored_dtype(register.width)
        self._write(register, lanes, [_drawn(number.strict, index, dtype) for index in range(_COUNT)])

    def bits(self, read: Callable[[Wave, Lanes], Array], lanes: Lanes) -> list[Numbers]:
        """Return the bits of a source or register in each register file."""
        found: list[Numbers] = []
        self.execute(lambda wave, these: found.append(value_bits(read(wave, these))), lanes)
        return found

    def selected(self, register: RegisterBinding, lanes: Lanes, number: Number, selection: SampledSelection) -> Number:
        """Return the value number of a selected value, `number` being a hash of the condition and the choices.

        It is a hash of the value in all register files, and of its inputs, if the condition is true in some files and
        false in others; a condition that is always the same is not tested, and `number` is kept. If the value is the
        same choice in all files, and the condition has no input that this choice lacks, it is the choice's number: that
        of `b - a` in `a == b ? 0 : b - a`.
        """
        inputs = number.leaves & ~PREDICATES  # lanes that compare in different orders have different ones
        values = self._held(register, lanes)
        strict = mix(_SELECTED, inputs, *values)
        found = Number(strict, reduced(strict), number.level, inputs)
        condition, bits = selection.condition
        found = where(_varies(bits), found, number)
        for choice, bits in selection.choices:
            always = np.logical_and.reduce([one == other for one, other in zip(values, bits, strict=True)])
            found = where(always & (condition.leaves & ~choice.leaves == 0), choice, found)
        return where(number.level == DATA, found, number)

    def compared(self, register: RegisterBinding, lanes: Lanes, number: Number) -> Number:
        """Return the value number of a comparison's result: `OPAQUE` if it is the same in all register files.

        So are the numbers of all values that depend on it: the files do not show what they are for other inputs.
        """
        unknown = replace(number, level=np.full_like(number.level, OPAQUE))
        tested = _varies(self._held(register, lanes)) | (number.level != DATA)
        return where(tested, number, unknown)

    def _held(self, register: RegisterBinding, lanes: Lanes) -> list[Numbers]:
        slot = register.slot
        return self.bits(lambda wave, these: these.select(_contents(wave.registers[slot])), lanes)

    def _write(self, register: RegisterBinding, lanes: Lanes, values: list[Array]) -> None:
        height, slot = self._wave.height, register.slot
        for file, value in zip(self._files, values, strict=True):
            file[slot] = merged(file[slot], value, lanes, height)


def _varies(bits: list[Numbers]) -> Mask:
    first, *others = bits
    varies: Mask = np.logical_or.reduce([first != other for other in others])
    return varies


def _contents(register: Array | None) -> Array:
    return np.zeros((1, 1), np.uint64) if register is None else register


def _drawn(numbers: Numbers, index: int, dtype: np.dtype[Any]) -> Array:
    """Return random register contents for value numbers: all of one kind in every other file, else of all kinds."""
    hashes, kind = mix(numbers, np.uint64(index)), index // 2 % 4
    if index % 2 == 0 or dtype in (np.bool_, B128):
        return _of_kind(hashes, kind, dtype)
    kinds = [_of_kind(hashes, each, dtype) for each in range(4)]
    return np.choose((mix(hashes) & np.uint64(3)).astype(np.int64), kinds)


def _of_kind(hashes: Numbers, kind: int, dtype: np.dtype[Any]) -> Array:
    if dtype == np.bool_:
        return (hashes & np.uint64(1)).astype(np.bool_)
    if dtype == B128:
        both = np.empty(hashes.shape, B128)
        both["lo"], both["hi"] = hashes, mix(hashes)
        return both
    size = dtype.itemsize
    if kind == _SMALL or size not in _FEW:
        return (hashes & np.uint64(3 if kind == _SMALL else 0xFF)).astype(dtype)
    if kind == _SPECIAL:
        few: NDArray[Any] = np.array(_FEW[size], np.uint64)
        return few[(hashes & np.uint64(7)).astype(np.int64)].astype(dtype)
    lowest, random = (_FRACTION if kind == _FRACTIONS else _MAGNITUDES)[size]
    sign = (hashes >> np.uint64(63)) << np.uint64(8 * size - 1)
    return (sign | (np.uint64(lowest) + (hashes & np.uint64(random)))).astype(dtype)
