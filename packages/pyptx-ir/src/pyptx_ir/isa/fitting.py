"""Match the operands of an instruction with the operands in a row of the instruction table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pyptx_ir.isa.kinds.addresses import spaces_named
from pyptx_ir.isa.kinds.kind import Mismatch, Use
from pyptx_ir.isa.matching import match_modifiers
from pyptx_ir.plugins.operand_kinds import operand_kinds

if TYPE_CHECKING:
    from pyptx_ir.isa.limits import Limits
    from pyptx_ir.isa.patterns import OperandSlot, Pattern
    from pyptx_ir.isa.shapes import Shape

OPERAND_COUNT = "operand-count"


@dataclass(frozen=True, slots=True)
class OperandFault:
    """Fault of operand `operand` (None: of the operand count), the expected operand, and the fault's class."""

    operand: int | None
    message: str
    wanted: str
    code: str


def fault_in(
    pattern: Pattern, filled: dict[str, str], shapes: tuple[Shape, ...], address_size: int = 64
) -> OperandFault | None:
    """Return the fault of the first operand that does not match the compiled instruction row; None if all match."""
    places = [place for place in pattern.places if place.stands(filled)]
    least = sum(not place.optional for place in places)
    if not least <= len(shapes) <= len(places):
        wanted = str(least) if least == len(places) else f"{least} to {len(places)}"
        names = ", ".join(place.name for place in places)
        return OperandFault(
            None, f"has {_counted(len(shapes))}", f"{wanted}: {names}" if names else "none", OPERAND_COUNT
        )
    for index, (place, shape) in enumerate(zip(placed(places, len(shapes)), shapes, strict=True)):
        mismatch = _mismatch(place, shape, Use(pattern.row, filled, place, operand_kinds(), address_size))
        if mismatch:
            return OperandFault(index, describe(shape), mismatch.wanted, mismatch.code)
    return None


def places_of(pattern: Pattern, words: tuple[str, ...], count: int) -> list[OperandSlot] | None:
    """Return an instruction row's operand slots for these modifiers and `count` operands; None if they do not match."""
    filled = match_modifiers(pattern, words)
    places = [] if filled is None else [place for place in pattern.places if place.stands(filled)]
    fits = filled is not None and sum(not place.optional for place in places) <= count <= len(places)
    return placed(places, count) if fits else None


def limits_in(pattern: Pattern, filled: dict[str, str], shapes: tuple[Shape, ...]) -> tuple[tuple[int, Limits], ...]:
    """Return the index and the limits of each constant operand with limits; the operands must match the row."""
    places = placed([place for place in pattern.places if place.stands(filled)], len(shapes))
    found: list[tuple[int, Limits]] = []
    for index, (place, shape) in enumerate(zip(places, shapes, strict=True)):
        if shape != ("literal", "int") and shape[0] != "vector":
            continue
        limits = place.limits or Use(pattern.row, filled, place, operand_kinds()).limits()
        if limits and (shape[0] == "vector") == bool(limits.elements):
            found.append((index, limits))
    return tuple(found)


def _counted(count: int) -> str:
    return f"{count or 'no'} operand{'' if count == 1 else 's'}"


def placed(places: list[OperandSlot], count: int) -> list[OperandSlot]:
    """Return the slots of `count` operands: surplus optional slots of `places` are dropped, the last one first."""
    surplus = len(places) - count
    kept: list[OperandSlot] = []
    for place in reversed(places):
        if surplus and place.optional:
            surplus -= 1
        else:
            kept.append(place)
    return kept[::-1]


def _mismatch(place: OperandSlot, shape: Shape, use: Use) -> Mismatch | None:
    """Return the expected operand if `shape` does not match the slot `place`; None if it matches."""
    if shape[0] == "element" and len(shape) > 2:
        return Mismatch("an array element with an integer index")
    if shape[0] == "pair":
        return _mismatch_pair(place, shape, use)
    if place.second and not place.optional_second:
        return Mismatch("a pair, as in d|p")
    if shape[0] == "sink":
        return None if place.sink else Mismatch("a register, not the sink `_`")
    if shape[0] == "unified":
        inner = cast("Shape", shape[1])
        reaches_it = spaces_named(use) <= {"global"}
        return _mismatch(place, inner, use) if place.unified and reaches_it else Mismatch("an address without .unified")
    if shape[0] == "negated":
        inner = cast("Shape", shape[1])
        return use.mismatch("pred", inner) if place.negated else Mismatch("an operand without the negation `!`")
    if shape[0] in ("symbol", "element") and place.symbol:
        return None
    return use.mismatch(place.kind, shape)


def _mismatch_pair(place: OperandSlot, shape: Shape, use: Use) -> Mismatch | None:
    if not place.second:
        return Mismatch("one operand, not a pair")
    first, second = cast("tuple[Shape, Shape]", shape[1:])
    if not (first[0] == "sink" and (place.sink or place.kind == "pred")):
        mismatch = use.mismatch(place.kind, first)
        if mismatch:
            return mismatch
    if second[0] != "sink":
        return use.mismatch(place.second, second)
    return None if place.optional_second and first[0] != "sink" else Mismatch("a pair d|p with a predicate p")


_DESCRIPTIONS: dict[str, str] = {
    "special": "a special register",
    "address": "an address",
    "bracket": "a list in brackets",
    "element": "an element of an array",
    "list": "a list in parentheses",
    "negated": "negated",
    "minus": "a negative register",
    "part": "a part of a register",
    "sink": "the sink",
    "unified": "a .unified address",
}


def describe(shape: Shape) -> str:
    """Return a description of an operand by its shape: `a .f32 register`."""
    kind, detail = shape[0], shape[1] if len(shape) > 1 else ""
    if kind == "register":
        return f"a .{detail} register"
    if kind == "literal":
        return "an integer literal" if detail == "int" else "a floating-point literal"
    if kind == "vector":
        return f"a vector of {len(shape) - 1}"
    if kind == "address" and str(detail).startswith("."):
        return f"an address in {detail} memory"
    if kind == "address" and detail:
        return "a number in brackets" if detail == "literal" else f"an address in a .{detail} register"
    return _DESCRIPTIONS.get(str(kind), f"a {kind}")
