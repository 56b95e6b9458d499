"""Source operands of an instruction: values with value numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_ir.syntax.operands import Immediate, Negated, Register, Sink, Unary
from pyptx_sim.duplicates.numbers import constants, mix, name_number, reduced
from pyptx_sim.duplicates.planes import FIXED, LAUNCH, OPAQUE, Number, Planes, fixed
from pyptx_sim.machine.specials import changes
from pyptx_sim.types import dtype_of

if TYPE_CHECKING:
    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.duplicates.numbers import Numbers
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.instructions.compiling.registers import Reader
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array
    from pyptx_sim.program.scopes import RegisterBinding

__all__ = ["FLOATS", "Source", "SourceValue", "source"]

FLOATS: Final = frozenset({"f16", "bf16", "f32", "f64"})

_OTHER: Final = name_number("other")


@dataclass(frozen=True, slots=True)
class SourceValue:
    """Value of a source operand, with its value number."""

    values: Array
    number: Number
    ptx_type: str

    @property
    def residue(self) -> Numbers:
        """Exact value number of a float (in exact arithmetic); for a constant, its value modulo `numbers.PRIME`."""
        number, values = self.number, self.values
        if self.ptx_type not in FLOATS or number.level.min() != FIXED:
            return number.exact
        constant = (number.level == FIXED) & (number.exact == fixed(values).exact)
        if self.ptx_type == "bf16":
            values = (values.astype(np.uint32) << np.uint32(16)).view(np.float32)
        residue: Numbers = np.where(constant, constants(values), number.exact)
        return residue


@dataclass(frozen=True, slots=True)
class Source:
    """Source operand of type `ptx_type`, read from `register` or an immediate.

    `other`, for an operand that is a part or the negation of `register`, is a hash mixed into the value number.
    """

    read: Reader
    ptx_type: str
    register: RegisterBinding | None
    other: np.uint64 | None
    level: np.uint8

    def __call__(self, wave: Wave, lanes: Lanes) -> SourceValue:
        """Return the operand's values and value numbers in the warps of `lanes`."""
        values = self.read(wave, lanes)
        value = fixed(values)
        if self.level == OPAQUE:
            return SourceValue(values, wave.part(Planes).fresh(lanes), self.ptx_type)
        if self.register is None:
            return SourceValue(values, value, self.ptx_type)
        known = wave.part(Planes).read(self.register.slot, lanes)
        strict, exact, leaves = known.strict, known.exact, known.leaves
        if self.other is not None:
            strict, exact = mix(self.other, strict), reduced(mix(self.other, exact))
        if known.level.min() == FIXED:
            by_value = known.level == FIXED
            strict, leaves = np.where(by_value, value.strict, strict), np.where(by_value, value.leaves, leaves)
            exact = exact if self.other is None else np.where(by_value, value.exact, exact)
        return SourceValue(values, Number(strict, exact, known.level, leaves), self.ptx_type)


def source(operands: Operands, operand: Operand, ptx_type: str) -> Source:
    """Return a source that reads `operand` as `ptx_type`."""
    given = operands.unchecked()
    if not isinstance(operand, Register | Immediate | Negated | Unary | Sink) and given.register(operand) is None:
        name = np.full((1, 1), name_number(operand))  # value number of an address: a hash of the variable's name
        return Source(lambda _wave, _lanes: name, ptx_type, None, None, FIXED)
    read, other = given.read(operand, ptx_type), None
    inner = operand
    if isinstance(inner, Negated | Unary):
        inner, other = inner.operand, _OTHER
    register = given.register(inner)
    if register is None:
        clock = isinstance(inner, Register) and changes(inner.name)
        return Source(read, ptx_type, None, None, OPAQUE if clock else FIXED)
    if other is None and dtype_of(ptx_type).itemsize < register.width:
        other = name_number("narrow", dtype_of(ptx_type).itemsize)
    if isinstance(inner, Register) and inner.name != register.name:
        other = name_number("part", inner.name.removeprefix(register.name))
    return Source(read, ptx_type, register, other, LAUNCH)
