"""Provenance of addresses: the variable from which the address in a register is formed.

The analysis assigns a variable to a register if each definition of the register is an address of this variable plus
numbers. A value that may contain another address is unknown: it is loaded from shared, local or generic memory, is an
argument or result of a function, joins two variables, or is computed in another way. Therefore a register with an
assigned variable never contains an address that the program formed from another variable.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pyptx_ir.syntax.operands import (
    Address,
    Binary,
    CallList,
    Immediate,
    Negated,
    Pair,
    Parenthesized,
    Register,
    Sink,
    Symbol,
    TensorAddress,
    Unary,
    Vector,
)
from pyptx_sim.program.constants import integer_constant
from pyptx_sim.program.scopes import DYNAMIC_OFFSET, ParameterBinding, Placement, RegisterBinding, VectorBinding
from pyptx_sim.types import byte_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyptx_ir.isa.binding import Bound
    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.program.program import Program, Site
    from pyptx_sim.program.scopes import Scope

__all__ = ["BOUNDED", "Variable", "variables_of"]


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable from which addresses are formed; `offset`: constant added to the start of dynamic shared memory."""

    placement: Placement
    offset: int = 0


_Value: TypeAlias = "Variable | Literal['number', 'unknown']"
_UNKNOWN: Final = "unknown"
_NUMBER: Final = "number"
BOUNDED: Final = frozenset({"shared", "global", "const"})
_POINTER_BYTES: Final = 4  # size of the narrowest address in bytes
# By opcode: operands of which one may be an address, if the other operands are numbers; the result is then an address.
_SUMS: Final = {
    **dict.fromkeys(("add", "and", "or", "xor"), ("a", "b")),
    **dict.fromkeys(("sub", "mov", "cvt", "cvta", "shfl"), ("a",)),
    "mad": ("c",),
}
_CHOICES: Final = {"selp": ("a", "b")}
_FROM_HOST: Final = frozenset({"global", "const", "param"})


@dataclass(frozen=True, slots=True)
class _Definition:
    """Value that an instruction assigns to registers: the sum of `addresses` and `numbers`.

    The sum is an address if exactly one of `addresses` and none of `numbers` is an address. With `choice`, the value is
    one of `addresses`, not their sum. `targets`: their register slots.
    """

    targets: tuple[int, ...]
    addresses: tuple[int | _Value, ...] = ()
    numbers: tuple[int | _Value, ...] = ()
    choice: bool = False


@lru_cache(maxsize=32)
def variables_of(program: Program) -> Mapping[int, Variable]:
    """Return, by register slot, the variable from which all addresses in the register are formed."""
    if not any(_is_bounded(each) for each in _placements(program)):
        return {}
    stored = [source for site in program.sites for source in _stored(program, site)]
    known = _settle(program, trusting=True)
    if any(isinstance(_value(known, each), Variable) for each in stored):
        known = _settle(program, trusting=False)
    return {slot: value for slot, value in known.items() if isinstance(value, Variable)}


def _placements(program: Program) -> tuple[Placement, ...]:
    return (*program.shared.placements, *program.globals.placements, *program.constants.placements)


def _is_bounded(placement: Placement) -> bool:
    return placement.space in BOUNDED and (placement.size > 0 or placement.offset == DYNAMIC_OFFSET)


def _settle(program: Program, *, trusting: bool) -> dict[int, _Value]:
    """Return each register's variable, "number" or "unknown"; `trusting`: assume no address of a variable in memory."""
    definitions = [
        each
        for site, form in zip(program.sites, program.forms, strict=True)
        for each in _definitions(site, form, trusting=trusting)
    ]
    known: dict[int, _Value] = {}
    for layout in program.functions.values():
        for passed in (*layout.parameters, *layout.returns):
            parts = passed.components if isinstance(passed, VectorBinding) else (passed,)
            known.update((part.slot, _UNKNOWN) for part in parts if isinstance(part, RegisterBinding))
    defined = {slot for each in definitions for slot in each.targets} | known.keys()
    used = {each for one in definitions for each in (*one.addresses, *one.numbers) if isinstance(each, int)}
    known.update(dict.fromkeys(used - defined, _NUMBER))  # a register that is never written is not an address
    changed = True
    while changed:
        changed = False
        for each in definitions:
            found = _result(known, each)
            if found is None:
                continue
            for slot in each.targets:
                joined = found if known.get(slot, found) == found else _UNKNOWN
                changed |= known.get(slot) != joined
                known[slot] = joined
    return known


def _value(known: Mapping[int, _Value], source: int | _Value) -> _Value | None:
    return known.get(source) if isinstance(source, int) else source


def _result(known: Mapping[int, _Value], definition: _Definition) -> _Value | None:
    """Return the result of a definition: a variable, "number" or "unknown"; None while a source has no result yet."""
    addresses = [_value(known, each) for each in definition.addresses]
    numbers = [_value(known, each) for each in definition.numbers]
    if _UNKNOWN in addresses or any(each not in {None, _NUMBER} for each in numbers):
        return _UNKNOWN
    found = [each for each in addresses if isinstance(each, Variable)]
    if definition.choice:
        some = {each for each in addresses if each is not None}
        return _UNKNOWN if len(some) > 1 else next(iter(some), None)
    if None in addresses or None in numbers:
        return None
    return _UNKNOWN if len(found) > 1 else found[0] if found else _NUMBER


# --- instructions ---------------------------------------------------------------------------------


def _definitions(site: Site, form: Bound | None, *, trusting: bool) -> Iterator[_Definition]:
    """Yield the definitions of the registers that an instruction writes."""
    name, scope = site.instruction.opcode[0], site.scope
    if form is None or name == "call":
        targets = tuple(slot for each in site.instruction.operands for slot in _registers(scope, each))
        yield _Definition(targets, (_UNKNOWN,))
        return
    written = [form.operands[each] for each in form.operands if each in form.written]
    kept = [slot for each in written if isinstance(each, Address) for slot in _kept(scope, each)]
    targets = tuple(slot for each in written for slot in _registers(scope, each))
    if kept:
        yield _Definition(tuple(kept), (_UNKNOWN,))
    if not targets:
        return
    memory = [each for each in form.operands.values() if isinstance(each, Address | TensorAddress)]
    if memory:
        yield _Definition(targets, (_loaded(site, form, memory[0], trusting=trusting),))
        return
    if name in _CHOICES:
        yield _Definition(
            targets,
            tuple(each for part in _CHOICES[name] for each in _sources(scope, form.operands[part])),
            choice=True,
        )
        return
    addresses = _SUMS.get(name, ())
    read = {each: list(_sources(scope, form.operands[each])) for each in form.operands if form.places[each].read}
    if len(targets) > 1 or any(len(sources) > 1 for sources in read.values()):
        addresses = ()
    yield _Definition(
        targets,
        tuple(source for each in addresses if each in read for source in read[each]),
        tuple(source for each, sources in read.items() if each not in addresses for source in sources),
    )


def _loaded(site: Site, form: Bound, address: Operand, *, trusting: bool) -> _Value:
    """Return "number" for a load from memory that the host wrote, or narrower than an address, else "unknown"."""
    types = [each for name in form.written for each in form.types[name] or ()]
    if all(each == "pred" or byte_size(each) < _POINTER_BYTES for each in types):
        return _NUMBER
    spaces = {word.partition("::")[0] for word in form.spaces}
    if isinstance(address, Address) and isinstance(address.base, Symbol):
        found = site.scope.find(address.base.name)
        if isinstance(found, ParameterBinding):
            return _UNKNOWN
        spaces = {found.space} if isinstance(found, Placement) else spaces
    return _NUMBER if trusting and spaces and spaces <= _FROM_HOST else _UNKNOWN


def _stored(program: Program, site: Site) -> Iterator[int | _Value]:
    """Yield the sources (register slots or values) that an instruction stores to memory or passes to a function."""
    form = program.forms[site.pc]
    if form is None or site.instruction.opcode[0] == "call":
        for operand in site.instruction.operands:
            yield from _sources(site.scope, operand)
        return
    if any(isinstance(each, Address) for each in form.operands.values()):
        for name, operand in form.operands.items():
            if form.places[name].read and not isinstance(operand, Address | TensorAddress):
                yield from _sources(site.scope, operand)


# --- operands -------------------------------------------------------------------------------------


def _registers(scope: Scope, operand: Operand) -> Iterator[int]:
    """Yield the register slots of the registers in an operand; none for an address operand."""
    match operand:
        case Vector(elements) | CallList(elements):
            for each in elements:
                yield from _registers(scope, each)
        case Register(name) | Symbol(name):
            match scope.find(name) or scope.find(name.rpartition(".")[0]):
                case RegisterBinding(slot):
                    yield slot
                case VectorBinding(components):
                    yield from (each.slot for each in components)
                case _:
                    pass
        case Pair(first, second):
            yield from _registers(scope, first)
            yield from _registers(scope, second)
        case _:
            pass


def _kept(scope: Scope, address: Address) -> Iterator[int]:
    """Yield the register slot of the `.param` variable in an address, if the variable is stored in a register."""
    found = scope.find(address.base.name) if isinstance(address.base, Symbol | Register) else None
    if isinstance(found, ParameterBinding):
        yield found.register.slot


def _sources(scope: Scope, operand: Operand) -> Iterator[int | _Value]:
    """Yield the register slots and the constant values in an operand."""
    match operand:
        case Immediate() | Sink() | Negated() | Unary():
            yield _NUMBER
        case Vector(elements) | CallList(elements):
            for each in elements:
                yield from _sources(scope, each)
        case Parenthesized(inner):
            yield from _sources(scope, inner)
        case Binary():
            yield _of_expression(scope, operand)
        case Register(name) | Symbol(name):
            match scope.find(name):
                case RegisterBinding(slot):
                    yield slot
                case VectorBinding(components):
                    yield from (each.slot for each in components)
                case Placement() as found:
                    yield _of_variable(found, 0)
                case None:  # undeclared name: a special register or a predefined constant
                    yield _NUMBER
                case _:
                    yield _UNKNOWN
        case _:
            yield _UNKNOWN


def _of_expression(scope: Scope, operand: Binary) -> _Value:
    """Return the provenance of a constant expression: a variable for `variable + n`, else "number" or "unknown"."""
    offset = integer_constant(operand.right)
    found = scope.find(operand.left.name) if isinstance(operand.left, Symbol | Register) else None
    if isinstance(found, Placement) and offset is not None and operand.op in {"+", "-"}:
        return _of_variable(found, offset if operand.op == "+" else -offset)
    return _NUMBER if integer_constant(operand) is not None else _UNKNOWN


def _of_variable(placement: Placement, offset: int) -> _Value:
    if not _is_bounded(placement):
        return _UNKNOWN
    return Variable(placement, offset if placement.offset == DYNAMIC_OFFSET else 0)
