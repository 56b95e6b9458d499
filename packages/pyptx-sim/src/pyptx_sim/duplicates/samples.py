"""Registers for random inputs: selections that agree for all of them have one value number, however they compare.

Lanes that reduce by comparisons and selections (`argmax`, a maximum that propagates NaN) compare in different orders.
Their results are equal, but no rule about single instructions shows it. So each instruction of a slice is executed for
`COUNT` more register files, in which the values loaded from memory are random (`Draws`). A comparison whose other
result no file shows stays in the value number (`Samples.undecided`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.duplicates.draws import COUNT, draws_of
from pyptx_sim.duplicates.numbers import DECISIONS, decision_bits, mix, name_number, reduced, value_bits
from pyptx_sim.duplicates.planes import DATA, PREDICATES, Number, fixed, highest, where
from pyptx_sim.instructions.compiling.registers import stored_dtype
from pyptx_sim.machine.lanes import WARP, merged
from pyptx_sim.types import dtype_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyptx_sim.duplicates.numbers import Numbers
    from pyptx_sim.duplicates.sources import Source
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask
    from pyptx_sim.program.scopes import RegisterBinding

    _Bits = list[Numbers]  # of a value in each register file
    Sampled = tuple[Number, _Bits]
    Addend = tuple[RegisterBinding | None, Number]

__all__ = ["SampledComparison", "SampledDecision", "SampledSelection", "Samples"]

_SELECTED, _LINEAR = name_number("selected"), name_number("linear")


@dataclass(frozen=True, slots=True)
class SampledSelection:
    """Sources of a selection: number, and bits in each register file. A guarded instruction has only a condition."""

    condition: Sampled
    choices: Sequence[Sampled]


@dataclass(frozen=True, slots=True)
class SampledComparison:
    """Two registers that an instruction compares: how it reads them, and their value numbers."""

    sources: tuple[Source, Source]
    numbers: tuple[Number, Number]

    @classmethod
    def of(cls, sources: tuple[Source, Source], wave: Wave, lanes: Lanes) -> SampledComparison:
        """Return the comparison of `sources` in the warps of `lanes`."""
        one, other = sources
        return cls(sources, (one(wave, lanes).number, other(wave, lanes).number))

    @property
    def with_constant(self) -> Mask:
        """Where exactly one register depends on memory; the other one holds a constant that the program computes."""
        one, other = (each.level == DATA for each in self.numbers)
        differ: Mask = one ^ other
        return differ

    def among(self, lanes: Lanes, condition: Mask) -> Lanes | None:
        """Return the lanes with `condition` that compare different values, at least one of which depends on memory."""
        one, other = self.numbers
        differ = condition & (one.strict != other.strict) & (highest(self.numbers) == DATA)
        return lanes.narrowed(differ) if differ.any() else None

    def drawn(self, index: int) -> tuple[Numbers, Numbers]:
        """Return the bits of two different numbers, in random order, for register file `index`."""
        kind = dtype_of(self.sources[0].ptx_type)
        low, high = (np.array(each, kind).view(f"<u{kind.itemsize}").astype(np.uint64) for each in (1, 2))
        one, other = (each.strict for each in self.numbers)
        order = mix(np.minimum(one, other), np.maximum(one, other), np.uint64(index)) & np.uint64(1)
        rises = (order == 1) == (one < other)
        return np.where(rises, low, high), np.where(rises, high, low)


@dataclass(frozen=True, slots=True)
class SampledDecision:
    """What decides a truth value or which source is the result: the value numbers of the sources, except predicates.

    `options`: the bits of the sources that may be the result. `absorbed`: a constant decides alone (`p and false`).
    `bounded`: one source is infinite, or the greatest or least of its type, which no input is.
    """

    numbers: Sequence[Number]
    options: Sequence[_Bits]
    absorbed: Mask
    bounded: Mask

    @property
    def number(self) -> Numbers:
        """A hash of the sources, the same if the two of a comparison, `min` or `max` are exchanged."""
        one, other, *sign = (each.strict for each in self.numbers)
        return mix(one, other, *sign) if sign else mix(np.minimum(one, other), np.maximum(one, other))


class Samples:
    """The register files of a wave for random inputs; registers that no instruction of the slice writes are real."""

    def __init__(self, wave: Wave) -> None:
        """Start with the wave's registers."""
        self._wave = wave
        self._files = [list(wave.registers) for _ in range(COUNT)]
        self._drawn = draws_of(wave.machine.program)
        self._totals: dict[int, tuple[Numbers, Numbers]] = {}  # value number of a sum, and sum of its addends' numbers

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
            self._write(register, lanes, [lanes.select(value)] * COUNT)

    def draw(self, register: RegisterBinding, lanes: Lanes, number: Number) -> None:
        """Set a register to random numbers, which are equal for equal value numbers."""
        dtype = stored_dtype(register.width)
        self._write(register, lanes, [self._drawn(number.strict, index, dtype) for index in range(COUNT)])

    def order(self, action: Action, lanes: Lanes, comparison: SampledComparison, results: Sequence[int]) -> None:
        """Execute a comparison again, of different operands in random order, where one of them is never the greater.

        `results` are its result registers. The order is a function of the operands' value numbers, so that lanes that
        exchange the operands agree. Without it, the files would not show what values that depend on the result are for
        other inputs.
        """
        one, other = comparison.sources
        pairs: list[tuple[Array, Array]] = []
        self.execute(lambda wave, these: pairs.append((one.read(wave, these), other.read(wave, these))), lanes)
        rises, falls = ([order(*pair) for pair in pairs] for order in (np.less, np.greater))
        one_sided = reduce(np.logical_or, rises) != reduce(np.logical_or, falls)
        wave, real = self._wave, self._wave.registers
        for index, (file, *differs) in enumerate(zip(self._files, rises, falls, strict=True)):
            some = comparison.among(lanes, one_sided & np.logical_or(*differs))
            if some is None:
                continue
            wave.registers = list(file)
            for each, values in zip((one, other), comparison.drawn(index), strict=True):
                register = each.register
                assert register is not None  # noqa: S101 - `Sampling` compares registers
                value = values.astype(stored_dtype(register.width))
                wave.registers[register.slot] = merged(file[register.slot], value, some, wave.height)
            action(wave, some)
            for slot in results:
                file[slot] = wave.registers[slot]
        wave.registers = real

    def decided(self, register: RegisterBinding, lanes: Lanes, number: Number, comparison: SampledComparison) -> Number:
        """Return the value number of a comparison's result: a constant where the operands are equal for all inputs."""
        one, other = comparison.numbers
        truth = fixed(lanes.select(_contents(self._wave.registers[register.slot])))
        return where((one.strict == other.strict) & (number.level == DATA), truth, number)

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
        of `b - a` in `a == b ? 0 : b - a`. The choice that an undecided condition never makes has a bit in `leaves`.
        """
        inputs = number.leaves & ~PREDICATES  # lanes that compare in different orders have different ones
        values = self._held(register, lanes)
        strict = mix(_SELECTED, inputs, *values)
        found = Number(strict, reduced(strict), number.level, inputs)
        condition, bits = selection.condition
        tested = _varies(bits)
        found = where(tested, found, number)
        for choice, bits in selection.choices:
            always = _agree(values, bits)
            found = where(always & (condition.leaves & ~choice.leaves == 0), choice, found)
        hidden = ~tested & (condition.leaves & DECISIONS != 0)
        found = where(hidden, replace(number, leaves=number.leaves | decision_bits(number.strict)), found)
        return where(number.level == DATA, found, number)

    def limit(self, register: RegisterBinding, lanes: Lanes, number: Number, some: Mask) -> None:
        """Set a comparison's result to random truth values, by its value number, if it is the same in all files.

        Otherwise the files would not show what values that depend on the result are for other inputs. `some`: the lanes
        that compare with a constant.
        """
        same = some & ~_varies(self._held(register, lanes)) & (number.level == DATA)
        limited = lanes.narrowed(same) if same.any() else None
        if limited is not None:
            self.draw(register, limited, number)

    def undecided(self, register: RegisterBinding, lanes: Lanes, number: Number, decision: SampledDecision) -> Number:
        """Return the value number of a decision, with bits in its `leaves` if all register files decide the same.

        `selected` compares values for random inputs: values are not equal if they depend on different decisions that no
        random input shows.
        """
        leaves = np.where(decision.absorbed, number.leaves & ~DECISIONS, number.leaves)
        if not decision.numbers:
            return replace(number, leaves=leaves)
        values = self._held(register, lanes)
        taken = [_agree(values, bits) for bits in decision.options]
        same = reduce(np.logical_or, taken) & ~reduce(np.logical_and, taken) if taken else ~_varies(values)
        marked = same & (number.level == DATA) & ~(decision.absorbed | decision.bounded)
        return replace(number, leaves=np.where(marked, leaves | decision_bits(decision.number), leaves))

    def replace_nans(self, register: RegisterBinding, lanes: Lanes, number: Number, infinity: int) -> None:
        """Set a computed float to random numbers, by its value number, in the files in which it is NaN.

        Inputs are finite, but a value that a thread loads from shared memory is random, too: the maximum of a row may
        be less than its elements. `infinity` is the bits of the greatest value of its type.
        """
        for index, file in enumerate(self._files):
            bits = value_bits(lanes.select(_contents(file[register.slot])))
            nan = (bits & np.uint64((1 << infinity.bit_length()) - 1)) > infinity
            some = lanes.narrowed(nan & (number.level == DATA)) if nan.any() else None
            if some is not None:
                value = self._drawn(number.strict, index, stored_dtype(register.width))
                file[register.slot] = merged(file[register.slot], value, some, self._wave.height)

    def linear(self, register: RegisterBinding, lanes: Lanes, number: Number, addends: Sequence[Addend]) -> Number:
        """Return the value number of an integer sum, difference or XOR: equal for the same addends in any order.

        It is a hash of the value in all register files and of the sum of the addends' value numbers; an addend that is
        a sum itself stands for its own addends. The values alone would not do: they may be equal because a condition of
        an addend is the same in all files.
        """
        total = np.zeros((1, 1), np.uint64)
        for source, each in addends:
            total = total + self._total(source, lanes, each)
        inputs = number.leaves & ~PREDICATES
        strict = mix(_LINEAR, inputs, total, *self._held(register, lanes))
        found = where(number.level == DATA, Number(strict, reduced(strict), number.level, inputs), number)
        known = self._totals.get(register.slot, (None, None))
        strict_of, total_of = (
            merged(old, np.broadcast_to(new, (lanes.height, WARP)), lanes, self._wave.height)
            for old, new in zip(known, (found.strict, total), strict=True)
        )
        self._totals[register.slot] = strict_of, total_of
        return found

    def _total(self, source: RegisterBinding | None, lanes: Lanes, number: Number) -> Numbers:
        """Return the sum of the addends' value numbers if a register holds the result of `linear`; else a hash."""
        single = mix(_LINEAR, number.strict)
        known = None if source is None else self._totals.get(source.slot)
        if known is None:
            return single
        strict, total = (lanes.select(each) for each in known)
        result: Numbers = np.where(strict == number.strict, total, single)
        return result

    def _held(self, register: RegisterBinding, lanes: Lanes) -> list[Numbers]:
        slot = register.slot
        return self.bits(lambda wave, these: these.select(_contents(wave.registers[slot])), lanes)

    def _write(self, register: RegisterBinding, lanes: Lanes, values: list[Array]) -> None:
        height, slot = self._wave.height, register.slot
        for file, value in zip(self._files, values, strict=True):
            file[slot] = merged(file[slot], value, lanes, height)


def _varies(bits: list[Numbers]) -> Mask:
    first, *others = bits
    return ~_agree([first] * len(others), others)


def _agree(some: _Bits, others: _Bits) -> Mask:
    """Return the lanes in which two values are equal in all register files."""
    agree: Mask = reduce(np.logical_and, map(np.equal, some, others))
    return agree


def _contents(register: Array | None) -> Array:
    return np.zeros((1, 1), np.uint64) if register is None else register
