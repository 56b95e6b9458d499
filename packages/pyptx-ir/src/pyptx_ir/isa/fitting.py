"""Whether an operand fits a place of a syntax line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pyptx_ir.isa.scalar_types import HELD_BY, SIZES, doubled, is_bits, is_float, is_integer, takes, takes_immediate

if TYPE_CHECKING:
    from pyptx_ir.isa.patterns import Pattern, Place
    from pyptx_ir.isa.shapes import Shape

_INT32 = ("b32", "u32", "s32")
_POINTERS = (*_INT32, "b64", "u64", "s64", "")
_VECTOR_LENGTHS = {"v2": 2, "v4": 4, "v8": 8}


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong: with operand `operand` (None: with their number), and what there should be."""

    operand: int | None
    message: str
    wanted: str


def fault_in(pattern: Pattern, filled: dict[str, str], shapes: tuple[Shape, ...]) -> Fault | None:
    """Return the first operand that does not fit the row, given the words in its slots, or None if all fit."""
    places = [place for place in pattern.places if not place.needs or place.needs in filled.values()]
    least = sum(not place.optional for place in places)
    if not least <= len(shapes) <= len(places):
        wanted = str(least) if least == len(places) else f"{least} to {len(places)}"
        return Fault(None, f"has {len(shapes)} operands", f"{wanted}: {', '.join(place.name for place in places)}")
    for index, (place, shape) in enumerate(zip(_placed(places, len(shapes)), shapes, strict=True)):
        wanted = _unfit(place, shape, filled)
        if wanted:
            return Fault(index, describe(shape), wanted)
    return None


def _placed(places: list[Place], count: int) -> list[Place]:
    """Return the places that `count` operands stand for: optional ones drop out, the last first."""
    surplus = len(places) - count
    kept: list[Place] = []
    for place in reversed(places):
        if surplus and place.optional:
            surplus -= 1
        else:
            kept.append(place)
    return kept[::-1]


def _unfit(place: Place, shape: Shape, filled: dict[str, str]) -> str:
    """Return what `place` wants if `shape` is not that, else an empty string."""
    if shape[0] == "pair":
        return _unfit_pair(place, shape, filled)
    if place.second and not place.optional_second:
        return "a pair, as in d|p"
    if shape[0] == "sink":
        return "" if place.sink else "a register, not the sink"
    if shape[0] == "negated":
        inner = cast("Shape", shape[1])
        return _unfit_kind("pred", inner, filled, place) if place.negated else "an operand without `!`"
    if shape[0] in ("symbol", "element") and place.symbol:
        return ""
    return _unfit_kind(place.kind, shape, filled, place)


def _unfit_pair(place: Place, shape: Shape, filled: dict[str, str]) -> str:
    if not place.second:
        return "one operand, not a pair"
    first, second = cast("tuple[Shape, Shape]", shape[1:])
    if not (first[0] == "sink" and (place.sink or place.kind == "pred")):
        unfit = _unfit_kind(place.kind, first, filled, place)
        if unfit:
            return unfit
    return "" if second[0] == "sink" else _unfit_kind(place.second, second, filled, place)


def _unfit_kind(kind: str, shape: Shape, filled: dict[str, str], place: Place) -> str:
    name, _, argument = kind.rstrip(")").partition("(")
    if kind == "label":
        return "" if shape in (("symbol",), ("register", "")) else "a label"
    if kind == "any":
        return "" if shape[0] in ("register", "literal") else "a register or a literal"
    if kind == "address":
        return _unfit_address(shape)
    if kind == "size_or_pred":  # cp.async: how many bytes to read, or a predicate that tells to read none
        fits = shape == ("literal", "int") or (shape[0] == "register" and shape[1] in (*_INT32, "pred", ""))
        return "" if fits else "a size or a predicate"
    if kind == "imm":
        return "" if shape == ("literal", "int") else "an integer constant"
    if kind == "pointer":
        return "" if shape[0] == "register" and shape[1] in _POINTERS else "an integer register of 32 or 64 bits"
    if kind == "int32":
        return _unfit_int32(shape, place)
    if name == "vec" or "*" in kind:
        return _unfit_vector(name, argument or kind, shape, filled, place)
    type_name = filled.get(argument or kind, argument or kind)
    if name == "wide":
        type_name = doubled(type_name)
    return _unfit_type(type_name, shape, place, relaxed=name == "relaxed")


def _unfit_address(shape: Shape) -> str:
    if shape[0] in ("tensor address", "element"):  # `values[2]` needs no brackets: the manual's "Arrays as Operands"
        return ""
    if shape[0] != "address":
        return "an address in brackets"
    base = str(shape[1])
    return "an address in an integer or untyped register" if is_float(base) or base == "pred" else ""


def _unfit_int32(shape: Shape, place: Place) -> str:
    if shape == ("literal", "int") and not place.written:
        return ""
    fits = shape[0] == "register" and shape[1] in (*_INT32, "")
    return "" if fits else f"a 32-bit integer register{'' if place.written else ' or literal'}"


def _unfit_vector(name: str, argument: str, shape: Shape, filled: dict[str, str], place: Place) -> str:
    if name == "vec":
        length = next((_VECTOR_LENGTHS[word] for word in filled.values() if word in _VECTOR_LENGTHS), 1)
        inner = argument if argument.endswith(")") or "(" not in argument else argument + ")"
    else:
        count, _, inner = argument.partition("*")
        length = int(count)
    if name == "vec" and length == 1:
        return "one operand, not a vector" if shape[0] == "vector" else _unfit_kind(inner, shape, filled, place)
    if shape == ("register", ""):
        return ""  # it may have been declared as a vector
    elements = cast("tuple[Shape, ...]", shape[1:])
    if shape[0] != "vector" or len(elements) != length:
        return f"a vector of {length}"
    present = [element for element in elements if element[0] != "sink"]
    if _are_mixed(present):
        return "a vector of one kind of elements: all integer, or all floating-point"
    unfit = (_unfit_element(inner, element, filled, place) for element in present)
    return next((wanted for wanted in unfit if wanted), "")


def _are_mixed(elements: list[Shape]) -> bool:
    """Tell whether a vector has elements that ptxas won't see side by side: of two sizes, or integer and floating."""
    registers = [str(element[1]) for element in elements if element[0] == "register" and element[1] in SIZES]
    literals = [str(element[1]) for element in elements if element[0] == "literal"]
    sizes = {SIZES[register] for register in registers}
    floating = any(map(is_float, registers)) or any(kind != "int" for kind in literals)
    whole = any(map(is_integer, registers)) or "int" in literals
    return len(sizes) > 1 or (floating and whole)


def _unfit_element(kind: str, element: Shape, filled: dict[str, str], place: Place) -> str:
    """As for a scalar; but ptxas lets a floating-point vector lie in integer registers of its size."""
    wanted = _unfit_kind(kind, element, filled, place)
    inner = kind.removeprefix("relaxed(").removesuffix(")")
    type_name = filled.get(inner, inner)
    if wanted and element[0] == "register" and is_float(type_name) and is_integer(str(element[1])):
        return "" if SIZES[str(element[1])] == SIZES[type_name] else wanted
    return wanted


def _unfit_type(type_name: str, shape: Shape, place: Place, *, relaxed: bool) -> str:
    fits = False
    if shape[0] == "register":
        fits = shape[1] == "" or takes(type_name, str(shape[1]), relaxed=relaxed)
    elif shape[0] == "literal":
        fits = not place.written and takes_immediate(type_name, str(shape[1]))
    elif shape[0] == "special":
        fits = place.special and not place.written and _takes_special(type_name, str(shape[1]))
    return "" if fits else f"a {_registers(type_name, relaxed=relaxed)}{_literals(type_name, place)}"


def _takes_special(type_name: str, special: str) -> bool:
    """Tell whether mov of this type may read a special register; 32-bit ones are still read as 16 bits, too."""
    if special == "" or (special == "u32" and SIZES.get(type_name, 32) < 32):
        return True
    return takes(type_name, special)


def _registers(type_name: str, *, relaxed: bool) -> str:
    held = HELD_BY.get(type_name) or tuple(name for name in SIZES if takes(type_name, name) and name != "f16x2")
    wider = " (or wider)" if relaxed and type_name not in HELD_BY else ""
    return f"{' or '.join('.' + name for name in held)} register{wider}"


def _literals(type_name: str, place: Place) -> str:
    if place.written:
        return ""
    if is_bits(type_name):
        return " or a literal"
    if is_integer(type_name) or type_name == "pred":
        return " or an integer literal"
    return " or a floating-point literal (1.0, 0f3F800000)" if is_float(type_name) else ""


def describe(shape: Shape) -> str:
    """Say what an operand is: `a .f32 register`."""
    match shape[0]:
        case "register":
            return f"a .{shape[1]} register"
        case "special":
            return "a special register"
        case "literal":
            return "an integer literal" if shape[1] == "int" else "a floating-point literal"
        case "address" | "tensor address":
            return "an address"
        case "vector":
            return f"a vector of {len(shape) - 1}"
        case "pair":
            return "a pair"
        case "negated":
            return "negated"
        case "sink":
            return "the sink"
        case _:
            return f"a {shape[0]}"
