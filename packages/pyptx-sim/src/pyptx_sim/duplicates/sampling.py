"""How the results of an instruction get values for random inputs, and value numbers from these (`Samples`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_ir.syntax.operands import Immediate
from pyptx_sim.duplicates.numbers import value_bits
from pyptx_sim.duplicates.planes import DATA
from pyptx_sim.duplicates.samples import SampledComparison, SampledDecision, SampledSelection, Samples
from pyptx_sim.duplicates.sources import source
from pyptx_sim.extension.registry import meaning_of
from pyptx_sim.extension.step import InstructionSemantics
from pyptx_sim.instructions.compiling.compute import parts
from pyptx_sim.semantics.meaning import operation_of
from pyptx_sim.types import dtype_of, packed_element

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_sim.duplicates.planes import Number
    from pyptx_sim.duplicates.sources import Source
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask
    from pyptx_sim.program.scopes import RegisterBinding

__all__ = ["Sampling"]

_INFINITY: Final = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000, "f64": 0x7FF0 << 48}
# Instructions whose result may be NaN if no source is.
_INVALID: Final = frozenset({"add", "sub", "mul", "fma", "mad", "div", "sqrt", "rsqrt", "lg2", "sin", "cos"})
_ORDERS: Final = frozenset({"lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"})
_UNORDERED: Final = frozenset({"bf16", "b128"})  # types whose NumPy values are not ordered like the numbers
_INFINITE: Final = frozenset({"0f7f800000", "0fff800000", "0d7ff0000000000000", "0dfff0000000000000"})


@dataclass(frozen=True, slots=True)
class Before:
    """What an instruction's sources are before it executes: those of a comparison, a selection, a sum, a decision."""

    comparison: SampledComparison | None
    selection: SampledSelection | None
    addends: Sequence[tuple[RegisterBinding | None, Number]]
    decision: SampledDecision | None


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an instruction's results get values: as computed, or random ones (`draws`).

    `infinity`: the bits of infinity, if the result is a float that may be NaN. `limits`: it compares with a literal.
    `linear`: the integers that it adds. `compared`: the two registers that it compares. `orders`: by lt … hs.
    `deciding`: the sources that decide it, if it is a truth value or one of several sources (`options`). `absorbing`: a
    predicate that decides alone, false for AND and true for OR.
    `condition` and `choices`: the sources of a selection; the guard is the condition of a guarded instruction.
    """

    results: Sequence[int]
    draws: bool
    infinity: int | None
    limits: bool
    linear: tuple[Source, ...]
    compared: tuple[Source, Source] | None
    orders: bool
    deciding: Sequence[Source]
    options: Sequence[Source]
    absorbing: bool
    condition: Source | None
    choices: Sequence[Source]

    @classmethod
    def of(cls, operands: Operands, guard: Source | None, results: Sequence[int]) -> Sampling:
        """Return the `Sampling` of an instruction with this guard that writes the registers `results`."""
        linear = _linear(operands) if guard is None else ()
        infinity = _INFINITY.get(operands.types("d")[0]) if operands.opcode[0] in _INVALID else None
        draws, limits, compared = _draws(operands), _limits(operands), _compared(operands) if guard is None else None
        orders = compared is not None and operands.word("cmp").removesuffix("u") in _ORDERS
        deciding, options = _deciding(operands)
        condition, choices = _selection(operands, guard)
        return cls(
            results=results,
            draws=draws,
            infinity=infinity,
            limits=limits,
            linear=linear,
            compared=compared,
            orders=orders,
            deciding=deciding,
            options=options,
            absorbing="or" in operands.opcode,
            condition=condition,
            choices=choices,
        )

    def before(self, wave: Wave, lanes: Lanes) -> Before:
        """Return the sources of a comparison, a selection or a sum before the instruction executes."""
        samples, comparison, selection = wave.part(Samples), None, None
        if self.compared is not None:
            comparison = SampledComparison.of(self.compared, wave, lanes)
        if self.condition is not None and not self.draws:
            given = (self.condition, *self.choices)
            found = [(each(wave, lanes).number, samples.bits(each.read, lanes)) for each in given]
            selection = SampledSelection(found[0], found[1:])
        addends = [(each.register, each(wave, lanes).number) for each in self.linear]
        return Before(comparison, selection, addends, self._decision(wave, lanes))

    def _decision(self, wave: Wave, lanes: Lanes) -> SampledDecision | None:
        if not self.deciding:
            return None
        numbers: list[Number] = []
        absorbed = bounded = np.zeros((1, 1), np.bool_)
        for each in (read(wave, lanes) for read in self.deciding):
            constant = each.number.level < DATA
            if each.ptx_type == "pred":
                absorbed = absorbed | (constant & (each.values == self.absorbing))
            else:
                bounded = bounded | (constant & _is_bound(each.values, each.ptx_type))
                numbers.append(each.number)
        options = [wave.part(Samples).bits(each.read, lanes) for each in self.options]
        return SampledDecision(numbers, options, absorbed, bounded)

    def execute(self, action: Action, wave: Wave, lanes: Lanes, before: Before) -> None:
        """Execute the instruction, whose real execution is finished, for random inputs."""
        if self.draws:
            return
        samples = wave.part(Samples)
        samples.execute(action, lanes)
        if before.comparison is not None and self.orders:
            samples.order(action, lanes, before.comparison, self.results)

    def number(self, register: RegisterBinding, wave: Wave, lanes: Lanes, number: Number, before: Before) -> Number:
        """Return the value number of a result, after `execute`; random results are drawn by it."""
        samples = wave.part(Samples)
        if self.draws:
            _draw(samples, register, lanes, number)
            return number
        if self.infinity is not None:
            samples.replace_nans(register, lanes, number, self.infinity)
        if self.limits:
            samples.limit(register, lanes, number, np.ones((1, 1), np.bool_))
        elif before.comparison is not None and before.decision is not None and not self.orders:
            samples.limit(register, lanes, number, before.comparison.with_constant & ~before.decision.bounded)
        if before.comparison is not None:
            number = samples.decided(register, lanes, number, before.comparison)
        if before.decision is not None:
            number = samples.undecided(register, lanes, number, before.decision)
        if self.linear:
            number = samples.linear(register, lanes, number, before.addends)
        return number if before.selection is None else samples.selected(register, lanes, number, before.selection)


def _draw(samples: Samples, register: RegisterBinding, lanes: Lanes, number: Number) -> None:
    """Set a register in `samples`: random numbers for values that depend on memory, else the real ones."""
    samples.keep(register, lanes)
    depends = number.level >= DATA
    some = lanes.narrowed(depends) if depends.any() else None
    if some is not None:
        samples.draw(register, some, number)


def _draws(operands: Operands) -> bool:
    """Return whether results are random: those of loads, and of batched instructions, which write them later."""
    name, meaning = operands.opcode[0], meaning_of(operands.opcode)
    if name in {"ld", "ldmatrix"} or meaning is None:
        return True
    if isinstance(meaning, InstructionSemantics):
        return False
    return operands.located(lambda: operation_of(meaning, operands.form())).batch is not None


def _linear(operands: Operands) -> tuple[Source, ...]:
    """Return the sources of an integer sum, difference or XOR; none for any other instruction."""
    if operands.opcode[0] not in {"xor", "add", "sub"} or "sat" in operands.opcode:
        return ()
    (kind,) = operands.types("d")
    whole = kind[0] in "bsu" and kind[1:].isdecimal()
    return tuple(source(operands, operands.named(name), kind) for name in ("a", "b")) if whole else ()


def _limits(operands: Operands) -> bool:
    """Return whether an instruction compares with a literal other than NaN and infinities: samples are finite."""
    if operands.opcode[0] != "setp":
        return False
    constants = [each for each in map(operands.named, ("a", "b")) if isinstance(each, Immediate)]
    return any(each.text.lower() not in _INFINITE for each in constants)


def _compared(operands: Operands) -> tuple[Source, Source] | None:
    """Return the two registers that `setp` compares whole; None for any other instruction."""
    if operands.opcode[0] != "setp":
        return None
    (kind,), given = operands.types("a"), [operands.named(name) for name in ("a", "b")]
    one, other = (source(operands, each, kind) for each in given)
    whole = all(each.register is not None and each.other is None for each in (one, other))
    whole = whole and one.register != other.register  # a comparison with itself is a test for NaN
    return (one, other) if whole and kind not in _UNORDERED and not packed_element(kind) else None


def _deciding(operands: Operands) -> tuple[Sequence[Source], Sequence[Source]]:
    """Return the sources that decide a truth value or which source is the result, and the sources that may be it."""
    name = operands.opcode[0]
    if name in {"setp", "set"} or (name in {"and", "or"} and operands.types("d") == ("pred",)):
        return _sources(operands), ()
    sources = _sources(operands) if name in {"min", "max", "slct"} else []
    return sources, sources[:2] if name == "slct" else sources


def _is_bound(values: Array, ptx_type: str) -> Mask:
    """Return where values are infinite, NaN, or the least or greatest of their type: no input is, nor a maximum."""
    bits = value_bits(values)
    sign = 1 << (8 * dtype_of(ptx_type).itemsize - 1)
    infinity = _INFINITY.get(ptx_type)
    if infinity is not None:
        return (bits & np.uint64(sign - 1)) >= infinity - 1
    bounds = (sign - 1, sign, 2 * sign - 1) if ptx_type[0] == "u" else (sign - 1, sign)
    return np.isin(bits, np.array(bounds, np.uint64))


def _selection(operands: Operands, guard: Source | None) -> tuple[Source | None, Sequence[Source]]:
    """Return the condition and the choices of `selp`; the guard of another instruction, or of a guarded `selp`."""
    if guard is not None or operands.opcode[0] != "selp":
        return guard, ()
    one, other, condition = _sources(operands)
    return condition, (one, other)


def _sources(operands: Operands) -> list[Source]:
    meaning = meaning_of(operands.opcode)
    assert isinstance(meaning, tuple)  # noqa: S101 - the callers name the instructions, which have operations
    operation = operands.located(lambda: operation_of(meaning, operands.form()))
    _, ins = parts(operands, operation)
    return [source(operands, *pair) for pair in zip(ins, operation.sources, strict=True)]
