"""Test cases for ptxas: valid forms of every instruction-table row, and forms with one fault, by class of fault."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.forms import forms
from pyptx_ir.isa.kinds.kind import Use
from pyptx_ir.isa.limits import limits_of_type
from pyptx_ir.isa.matching import match_modifiers
from pyptx_ir.isa.patterns import OperandSlot, Pattern, compile_row
from pyptx_ir.isa.scalar_types import TYPES
from pyptx_ir.plugins.manager import manager
from pyptx_ir.plugins.operand_kinds import operand_kinds
from pyptx_ir.syntax import parse_instruction, spell
from pyptx_ir.syntax.operands import Address, Immediate, Register, Vector

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

    from pyptx_ir.isa.limits import Limits
    from pyptx_ir.isa.rows import InstructionRow
    from pyptx_ir.syntax.nodes import Instruction

VALID = "valid"
REGISTERS = tuple(
    f"%{name}_1"
    for name in ("pred", "b8", "b16", "u16", "f16", "b32", "s32", "f32", "b64", "s64", "f64", "f16x2", "b128")
)
KINDS = (
    *("1", "1.0", "0f3F800000", "_", "[%u64_9]", "{%u32_1, %u32_2}", "%u32_1|%pred_2", "!%pred_3"),
    *("gmem", "%tid.x", "[smem]", "[gmem]"),
)
ADDRESSES = ("0", "4096", "1.5", "0f00000000", "4+4", "%b32_11", "%u32_11+16", "%s32_11", "%b64_11")
SELECTORS = ("x", "w", "r", "b0", "h1", "q")


@dataclass(frozen=True, slots=True)
class Form:
    """Valid form of a row of the instruction table, and the random generator for faults in the form."""

    row: InstructionRow
    node: Instruction
    chance: random.Random


@dataclass(frozen=True, slots=True)
class Case:
    """Instruction to check, its row of the instruction table, and its class of fault."""

    text: str
    row: InstructionRow
    fault: str


def broken(row: InstructionRow, form: str, chance: random.Random) -> Iterator[Case]:
    """Yield `form` with one change, for every kind of change; ptxas and the instruction table must agree on each."""
    node = parse_instruction(form)
    for fault, change in CHANGES.items():
        for text in dict.fromkeys(change(Form(row, node, chance))):
            if text != form:
                yield Case(text, row, fault)


def _text(node: Instruction, operands: list[str], words: tuple[str, ...] | None = None) -> str:
    opcode = ".".join(words or node.opcode)
    return f"{opcode} {', '.join(operands)};" if operands else f"{opcode};"


def _operands(node: Instruction) -> list[str]:
    return [spell(operand) for operand in node.operands]


def _modifiers(form: Form) -> Iterator[str]:
    """Add a modifier of the opcode's other forms, or replace a modifier by it."""
    known = sorted({word for pattern in _siblings(form.row) for item in pattern.items for word in item.words} - TYPES)
    first, *others = form.node.opcode
    for word in form.chance.sample(known, min(6, len(known))):
        yield _text(form.node, _operands(form.node), (first, *others, word))
        for i, other in enumerate(others):
            if other not in TYPES:
                yield _text(form.node, _operands(form.node), (first, *others[:i], word, *others[i + 1 :]))


def _types(form: Form) -> Iterator[str]:
    """Replace a type in the opcode by another type."""
    known = sorted(TYPES)
    first, *others = form.node.opcode
    for i, other in enumerate(others):
        if other in TYPES:
            for word in form.chance.sample(known, 6):
                yield _text(form.node, _operands(form.node), (first, *others[:i], word, *others[i + 1 :]))


def _missing(form: Form) -> Iterator[str]:
    first, *others = form.node.opcode
    for i in range(len(others)):
        yield _text(form.node, _operands(form.node), (first, *others[:i], *others[i + 1 :]))


def _misordered(form: Form) -> Iterator[str]:
    first, *others = form.node.opcode
    for i in range(len(others) - 1):
        yield _text(form.node, _operands(form.node), (first, *others[:i], others[i + 1], others[i], *others[i + 2 :]))


def _count(form: Form) -> Iterator[str]:
    operands = _operands(form.node)
    for i in range(len(operands)):
        yield _text(form.node, operands[:i] + operands[i + 1 :])
    yield _text(form.node, [*operands, "%u32_1"])


def _replaced(node: Instruction, replacements: tuple[str, ...]) -> Iterator[str]:
    operands = _operands(node)
    for i in range(len(operands)):
        for replacement in replacements:
            yield _text(node, [*operands[:i], replacement, *operands[i + 1 :]])


def _operand_types(form: Form) -> Iterator[str]:
    """Replace an operand by a register of another type; in vectors, all elements or the last one."""
    yield from _replaced(form.node, REGISTERS)
    operands = _operands(form.node)
    for i, operand in enumerate(form.node.operands):
        if isinstance(operand, Vector):
            elements = [spell(element) for element in operand.elements]
            for name in REGISTERS:
                others = [f"{name.removesuffix('1')}{number % 20}" for number in range(len(elements))]
                for vector in (others, [*elements[:-1], others[-1]]):
                    yield _text(form.node, [*operands[:i], f"{{{', '.join(vector)}}}", *operands[i + 1 :]])


def _operand_kinds(form: Form) -> Iterator[str]:
    return _replaced(form.node, KINDS)


def _addresses(form: Form) -> Iterator[str]:
    """Replace an address operand by a constant address or one in another register."""
    operands = _operands(form.node)
    for i, operand in enumerate(form.node.operands):
        if isinstance(operand, Address):
            for base in ADDRESSES:
                yield _text(form.node, [*operands[:i], f"[{base}]", *operands[i + 1 :]])


def _components(form: Form) -> Iterator[str]:
    """Add a selector, such as `.x` or `.b0`, to a register operand."""
    operands = _operands(form.node)
    for i, operand in enumerate(form.node.operands):
        if isinstance(operand, Register):
            for selector in SELECTORS:
                yield _text(
                    form.node, [*operands[:i], f"{operand.name.partition('.')[0]}.{selector}", *operands[i + 1 :]]
                )


def _vector_lengths(form: Form) -> Iterator[str]:
    operands = _operands(form.node)
    for i, operand in enumerate(form.node.operands):
        if isinstance(operand, Vector):
            elements = [spell(element) for element in operand.elements]
            for other in (elements[:-1], [*elements, elements[-1]], elements[: len(elements) // 2]):
                yield _text(form.node, [*operands[:i], f"{{{', '.join(other)}}}", *operands[i + 1 :]])


def _immediates(form: Form) -> Iterator[str]:
    """Replace constant operands by constants just outside their range, and far outside."""
    pattern = compile_row(form.row)
    filled = match_modifiers(pattern, form.node.opcode[1:]) or {}
    places = [place for place in pattern.places if place.stands(filled)][: len(form.node.operands)]
    operands = _operands(form.node)
    for i, (place, operand) in enumerate(zip(places, form.node.operands, strict=False)):
        for value in _outside(place, filled):
            if place.limits or isinstance(operand, Immediate) or not place.written:
                yield _text(form.node, [*operands[:i], str(value), *operands[i + 1 :]])
        limits = Use(form.row, filled, place, operand_kinds()).limits()
        if limits and isinstance(operand, Vector):
            for vector in _outside_vectors(operand, limits):
                yield _text(form.node, [*operands[:i], vector, *operands[i + 1 :]])


def _outside_vectors(operand: Vector, limits: Limits) -> Iterator[str]:
    elements = [spell(element) for element in operand.elements]
    for j, each in enumerate(limits.elements):
        for value in each.outside():
            yield f"{{{', '.join([*elements[:j], str(value), *elements[j + 1 :]])}}}"


def _outside(place: OperandSlot, filled: dict[str, str]) -> tuple[int, ...]:
    if place.limits:
        return place.limits.outside()
    name, argument = operand_kinds().split(place.kind)
    type_name = "b32" if name == "int32" else filled.get(argument, argument)
    limits = limits_of_type(type_name) if type_name in TYPES else None
    return limits.outside() if limits else ()


def _siblings(row: InstructionRow) -> list[Pattern]:
    return [compile_row(other) for other in manager().instructions_of(row.opcode)]


CHANGES: dict[str, Callable[[Form], Iterator[str]]] = {
    "modifier": _modifiers,
    "type": _types,
    "missing modifier": _missing,
    "misordered modifier": _misordered,
    "operand count": _count,
    "operand type": _operand_types,
    "operand kind": _operand_kinds,
    "vector length": _vector_lengths,
    "immediate": _immediates,
    "address": _addresses,
    "component": _components,
}


def cases_of(row: InstructionRow, chance: random.Random, *, valid: int, broken_each: int) -> Iterator[Case]:
    """Yield up to `valid` forms of an instruction-table row, and `broken_each` faulty forms for each class of fault."""
    every = list(forms(row))
    chosen = every if len(every) <= valid else [every[0], *chance.sample(every[1:], valid - 1)]
    yield from (Case(text, row, VALID) for text in chosen)
    form = chance.choice(every)
    for _, group in itertools.groupby(broken(row, form, chance), key=lambda case: case.fault):
        made = list(group)
        yield from chance.sample(made, min(broken_each, len(made)))
