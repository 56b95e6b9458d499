"""Faults in rows of plugins: an unknown type, operand kind, element type or target.

`pyptx_ir.plugins.manager` checks the rows of third-party plugins when it collects them; a test checks pyptx's own rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from pyptx_ir.isa.kinds.fragments import WARPS, registers_of
from pyptx_ir.isa.patterns import compile_row
from pyptx_ir.isa.scalar_types import TYPES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pyptx_ir.isa.kinds.kind import Kinds
    from pyptx_ir.isa.matrix_rows import Element, MatrixMove
    from pyptx_ir.isa.rows import InstructionRow

_SCALARS = ("typed", "relaxed", "wide", "register", "braced")
_NESTED = ("vec", "sparse")
# Kinds of literals that are valid in place of a matrix operand's registers.
LITERALS: Final = ("single", "double", "int")
ROW_BITS: Final = 128  # bits of one matrix row in shared memory, which ldmatrix loads and stmatrix stores
_WIDEST = 64  # bits of the widest register that holds matrix elements


@dataclass(frozen=True, slots=True)
class RowFault:
    """A fault in a plugin's row, and the faulty field of that row, such as `slots`, `operands` or `syntax`."""

    field: str
    message: str


def fault_of(row: InstructionRow, kinds: Kinds, targets: Collection[str]) -> RowFault | None:
    """Return the first fault of an instruction row, or None if it is valid; `targets` are all known target names."""
    return next(_faults(row, kinds, targets), None)


def fault_of_element(element: Element) -> RowFault | None:
    """Return the first fault of an element type, or None if it is valid."""
    if not 1 <= element.bits <= _WIDEST:
        return RowFault("bits", f"element must have 1 to {_WIDEST} bits, got {element.bits}")
    if not element.registers or (unknown := _not_one_of("a type", element.registers, TYPES)):
        return RowFault("registers", unknown if element.registers else "no register type given")
    unknown = _not_one_of("a kind of literal", element.literals, LITERALS)
    return RowFault("literals", unknown) if unknown else None


def fault_of_move(move: MatrixMove) -> RowFault | None:
    """Return the first fault of a `MatrixMove`, or None if it is valid."""
    stored, held = move.stored, move.fragment.bits
    if not 1 <= stored <= held:
        return RowFault("stored", f"expected 1 to {held} bits, the width of an element, got {stored}")
    if move.fragment.columns * stored > ROW_BITS:
        return RowFault("fragment", f"{move.fragment.columns} elements of {stored} bits exceed a row of 16 bytes")
    return None


def _faults(row: InstructionRow, kinds: Kinds, targets: Collection[str]) -> Iterator[RowFault]:
    pattern = compile_row(row)
    slots = dict(row.slots)
    if not slots.keys() <= (named := {item.name for item in pattern.items}):
        yield RowFault("slots", f"slots missing in the syntax: {sorted(slots.keys() - named)}")
    if empty := [name for name, words in row.slots if not words]:
        yield RowFault("slots", f"slot {empty[0]!r} has no values")
    for name, numbers in row.lengths:
        if len(numbers) != len(slots.get(name, ())):
            message = f"{len(numbers)} lengths for the {len(slots.get(name, ()))} values of the slot {name!r}"
            yield RowFault("lengths", message)
    try:
        places = pattern.places
    except ValueError as error:
        yield RowFault("operands", f"limits must be 'a..b' or numbers: {error}")
        return
    if len(row.access) != len(places):
        yield RowFault("access", f"access {row.access!r} for {len(places)} operands")
    if not set(row.access) <= set("wrx"):
        yield RowFault("access", f"access {row.access!r} has letters other than w, r, x")
    if unknown := [target for target in row.targets if target not in targets]:
        yield RowFault("targets", f"unknown targets {unknown}")
    for place in places:
        for kind in filter(None, (place.kind, place.second)):
            if reason := _reason(kind, row, kinds):
                yield RowFault("operands", f"invalid kind {kind!r} of {place.name!r}: {reason}")


def _reason(kind: str, row: InstructionRow, kinds: Kinds) -> str:
    """Return why `kind` is not a valid operand kind in an instruction row, or an empty string."""
    name, argument = kinds.split(kind)
    if name in _NESTED:
        return _reason(argument, row, kinds)
    if name == "*":
        count, _, inner = argument.partition("*")
        return _not_counted(count, row) or _reason(inner, row, kinds)
    if name == "fragment":
        return _reason_of_fragment(argument, row, kinds)
    if name in _SCALARS:
        return _not_one_of("a type", _words(argument, row), TYPES)
    return "" if name in kinds else _not_one_of("a kind of operand", (name,), kinds)


def _reason_of_fragment(argument: str, row: InstructionRow, kinds: Kinds) -> str:
    warps = WARPS.search(argument)
    extent, *types = WARPS.sub("", argument).split()
    elements = [word for name in types for word in _words(name, row)]
    if unknown := _not_one_of("an element type of matrices", elements, kinds.elements):
        return unknown
    if extent.isdecimal() or extent in dict(row.lengths):
        return ""
    try:
        for shape in _words("shape", row):
            registers_of(shape, extent, 1, int(warps[1]) if warps else 1)
    except ValueError as error:
        return f"invalid extent {error}: slot 'shape' needs values like 'm16n8k16', extents are mn, mk and kn"
    return ""


def _words(name: str, row: InstructionRow) -> tuple[str, ...]:
    """Return the values of a modifier slot of an instruction row, or the name itself if it is not a slot."""
    return dict(row.slots).get(name, (name,))


def _not_counted(count: str, row: InstructionRow) -> str:
    return (
        ""
        if count.isdecimal() or count in dict(row.lengths)
        else f"{count!r} is neither a number nor a slot with lengths"
    )


def _not_one_of(what: str, words: Collection[str], known: Collection[str]) -> str:
    unknown = next((word for word in words if word not in known), "")
    if not unknown:
        return ""
    close = get_close_matches(unknown, known, 1)
    return f"{unknown!r} is not {what}" + (f"; {close[0]!r} is" if close else "")
