"""Operands that are vectors. Manual: "Vectors as Operands", "Vectors"."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pyptx_ir.isa.kinds.kind import OPERAND_TYPE, VECTOR_LENGTH, Kind, Mismatch, Use
from pyptx_ir.isa.scalar_types import SIZES, is_float, is_integer

if TYPE_CHECKING:
    from pyptx_ir.isa.shapes import Shape

_LENGTHS = {"v2": 2, "v4": 4, "v8": 8}


def _length(use: Use) -> int:
    return next((_LENGTHS[word] for word in use.filled.values() if word in _LENGTHS), 1)


def _mismatch_sparse(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    """Check a vector that the instruction reads; some of its elements, but not all, may be the sink."""
    if shape[0] != "vector":
        return _mismatch_vec(argument, shape, use)
    present = next((element for element in shape[1:] if element[0] != "sink"), None)
    if present is None:
        return Mismatch("a vector with a register")
    filled = [present if element[0] == "sink" else element for element in shape[1:]]
    return _mismatch_vec(argument, ("vector", *filled), use)


def _mismatch_vec(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    length = _length(use)
    # ptxas accepts `{x}` for a scalar `x` if a vector is valid.
    if length > 1 or (shape[0] == "vector" and len(shape) == 2):
        return _mismatch_elements(length, argument, shape, use)
    return (
        Mismatch("one operand, not a vector", VECTOR_LENGTH) if shape[0] == "vector" else use.mismatch(argument, shape)
    )


def _mismatch_times(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    count, _, inner = argument.partition("*")
    return _mismatch_elements(use.count(count), inner, shape, use)


def _mismatch_elements(length: int, inner: str, shape: Shape, use: Use) -> Mismatch | None:
    if shape == ("register", ""):
        return None  # the register's type is unknown; it may be a vector register
    if shape == ("special", "v4") and length == 4 and use.place.special:
        return None
    elements = cast("tuple[Shape, ...]", shape[1:])
    if shape[0] != "vector":
        return Mismatch(f"a vector of {length}")
    if len(elements) != length:
        return Mismatch(f"a vector of {length}", VECTOR_LENGTH)
    present = [element for element in elements if element[0] != "sink"]
    if len(present) < length and not use.place.written:
        return Mismatch("a vector without the sink")
    if not present:
        return Mismatch("a vector with a register")
    if not present or (len(present) < length and not use.place.written):
        return Mismatch("a vector of registers; the sink can replace some of the written ones")
    if _are_mixed(present):
        return Mismatch("a vector of one kind of elements: all integer, or all floating-point", OPERAND_TYPE)
    mismatches = (_mismatch_element(inner, element, use) for element in present)
    return next((mismatch for mismatch in mismatches if mismatch), None)


def _are_mixed(elements: list[Shape]) -> bool:
    """Return whether a vector mixes elements that ptxas rejects together: of two sizes, or integer and floating."""
    registers = [str(element[1]) for element in elements if element[0] == "register" and element[1] in SIZES]
    literals = [str(element[1]) for element in elements if element[0] == "literal"]
    sizes = {SIZES[register] for register in registers}
    floating = any(map(is_float, registers)) or any(kind != "int" for kind in literals)
    whole = any(map(is_integer, registers)) or "int" in literals
    return len(sizes) > 1 or ((floating or "f16x2" in registers) and whole)


def _mismatch_element(inner: str, element: Shape, use: Use) -> Mismatch | None:
    """Check one element of a vector as a scalar; as in ptxas, a float may be in an integer register of its size."""
    mismatch = use.mismatch(inner, element)
    type_name = use.word(inner.removeprefix("relaxed(").removesuffix(")"))
    if mismatch and element[0] == "register" and is_float(type_name) and is_integer(str(element[1])):
        return None if SIZES[str(element[1])] == SIZES[type_name] else mismatch
    return mismatch


def _braced(count: int, inner: str, use: Use, index: int) -> tuple[str, ...]:
    # Example vectors name 20 registers of a type; further elements repeat these registers.
    return (f"{{{', '.join(use.examples(inner, (index + offset) % 20)[0] for offset in range(count))}}}",)


def _examples_of_vec(argument: str, use: Use, index: int) -> tuple[str, ...]:
    length = _length(use)
    return use.examples(argument, index)[:1] if length == 1 else _braced(length, argument, use, index)


def _examples_of_times(argument: str, use: Use, index: int) -> tuple[str, ...]:
    count, _, inner = argument.partition("*")
    return _braced(use.count(count), inner, use, index)


def _examples_of_sparse(argument: str, use: Use, index: int) -> tuple[str, ...]:
    whole = _examples_of_vec(argument, use, index)
    first, comma, rest = whole[0].partition(", ")
    return (*whole, f"{first}, _{comma}{rest.partition(', ')[2]}") if comma else whole


def _types_of_vec(argument: str, use: Use) -> tuple[str, ...] | None:
    types = use.types(argument)
    return None if types is None else types * _length(use)


def _types_of_times(argument: str, use: Use) -> tuple[str, ...] | None:
    count, _, inner = argument.partition("*")
    types = use.types(inner)
    return None if types is None else types * use.count(count)


KINDS = (
    Kind(
        "vec",
        "a vector of 2, 4 or 8 elements (.v2, .v4, .v8), each {}",
        _mismatch_vec,
        _examples_of_vec,
        types=_types_of_vec,
    ),
    Kind(
        "sparse",
        "a vector whose elements are each {} or the sink symbol `_`",
        _mismatch_sparse,
        _examples_of_sparse,
        types=_types_of_vec,
    ),
    Kind("*", "a vector: {}", _mismatch_times, _examples_of_times, types=_types_of_times),
)
