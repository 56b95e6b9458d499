"""A thread's fragment of a matrix: a vector of registers.

Manual: the sections "Matrix Fragments", "Block Scaling for mma.sync". The manual has a figure for each shape and type,
but the register count follows one formula. The bits of the matrix are distributed evenly over the threads of one or
more warps.

The operand kind's argument is the extent of the matrix, or the number of registers, and the type of its elements: `mn
f32`, `mk/2 atype`, `8 f16`. Optionally another type, whose registers hold the elements, and the number of warps follow:
`mk bf16 f16 over 4 warps`.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, cast

from pyptx_ir.isa.kinds.kind import OPERAND_TYPE, VECTOR_LENGTH, Kind, Mismatch, Use
from pyptx_ir.isa.kinds.scalars import type_mismatch
from pyptx_ir.isa.limits import Limits, parse_limits
from pyptx_ir.isa.matrix_rows import BITS
from pyptx_ir.isa.patterns import compile_row
from pyptx_ir.isa.scalar_types import SIZES, is_bits, is_integer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyptx_ir.isa.matrix_rows import Element
    from pyptx_ir.isa.patterns import OperandSlot
    from pyptx_ir.isa.shapes import Shape

__all__ = ["BITS", "KINDS", "WARPS", "element_of", "registers_of", "share_of"]

_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_EXTENT = re.compile(r"([mnk]{2})(?:([*/])(\d))?")
WARPS = re.compile(r" over (\d+) warps$")
_WARP = 32
_WORD = 32  # width in bits of the narrowest registers that hold matrix fragments
_MOST_NAMES = 20  # number of distinct register names of each type in example matrix operands


@functools.cache
def registers_of(shape: str, extent: str, bits: int, warps: int = 1) -> int:
    """Return the number of registers per thread for a matrix of an MMA of `shape`, `m16n8k16`.

    `extent` is `mn`, `mk` or `kn`, with the suffix `/2` if half the elements are stored, or `*4` if the warp computes
    four MMAs at once. An element has `bits`, and the matrix is distributed over the threads of `warps` warps.
    """
    size = _SHAPE.fullmatch(shape)
    part = _EXTENT.fullmatch(extent)
    if size is None or part is None:
        raise ValueError(f"{extent} of {shape}")
    sizes = dict(zip("mnk", map(int, size.groups()), strict=True))
    elements = sizes[part[1][0]] * sizes[part[1][1]]
    if part[2] == "*":
        elements *= int(part[3])
    elif part[2] == "/":
        elements //= int(part[3])
    return elements * bits // (warps * _WARP * max(bits, 32))


def _taken_apart(argument: str, use: Use) -> tuple[int, Element]:
    """Return a fragment's number of registers, and the element type that determines the register types."""
    warps = WARPS.search(argument)
    extent, name, *like = WARPS.sub("", argument).split()
    elements = use.kinds.elements
    if extent.isdecimal() or extent in dict(use.row.lengths):
        count = use.count(extent)
    else:
        bits = elements[use.word(name)].bits
        count = registers_of(use.word("shape"), extent, bits, int(warps[1]) if warps else 1)
    return count, elements[like[0] if like else use.word(name)]


def element_of(place: OperandSlot, words: Mapping[str, str]) -> str:
    """Return the element type of a fragment operand, given the modifiers in the instruction row's slots."""
    _, type_name, *_ = WARPS.sub("", place.kind.removeprefix("fragment(").removesuffix(")")).split()
    return words.get(type_name, type_name)


def share_of(use: Use) -> tuple[int, tuple[str, ...]] | None:
    """Return the number and the types of the registers of a fragment operand; None for other operands."""
    name, argument = use.kinds.split(use.place.kind)
    if name != "fragment":
        return None
    count, element = _taken_apart(argument, use)
    return count, element.registers


def _mismatch_fragment(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    if shape == ("register", ""):
        return None  # the register's type is unknown; it may be a vector register
    count, held = _taken_apart(argument, use)
    wanted = f"a vector of {count}, each a {_registers(held)}"
    elements = cast("tuple[Shape, ...]", shape[1:])
    if shape[0] != "vector":
        return Mismatch(wanted)
    if len(elements) != count:
        return Mismatch(wanted, VECTOR_LENGTH)
    if not all(_fits(held, element, use) for element in elements):
        return Mismatch(wanted, OPERAND_TYPE)
    if _are_mixed(elements):
        return Mismatch(f"{wanted}, all of the same type", OPERAND_TYPE)
    return None


def _fits(held: Element, element: Shape, use: Use) -> bool:
    if element[0] == "register":
        return element[1] in ("", *held.registers)
    if element[0] == "sink":
        return _is_only_written(use)
    return element[0] == "literal" and not use.place.written and element[1] in held.literals


def _is_only_written(use: Use) -> bool:
    """Return whether a fragment is written but not read, unlike wgmma's accumulator."""
    names = [place.name for place in compile_row(use.row).places]
    return use.row.access[names.index(use.place.name)] == "w"


def _are_mixed(elements: tuple[Shape, ...]) -> bool:
    """Return whether a vector mixes register types; untyped registers match all types, and integers match integers."""
    names = {str(element[1]) for element in elements if element[0] == "register"} - {""}
    return len({"integer" if is_integer(name) else name for name in names if not is_bits(name)}) > 1


def _registers(held: Element) -> str:
    return f"{' or '.join('.' + name for name in held.registers)} register"


def _examples_of_fragment(argument: str, use: Use, index: int) -> tuple[str, ...]:
    count, held = _taken_apart(argument, use)
    return tuple(
        f"{{{', '.join(f'%{name}_{(index + offset) % _MOST_NAMES}' for offset in range(count))}}}"
        for name in held.registers
    )


def _types_of_fragment(argument: str, use: Use) -> tuple[str, ...]:
    """Return the element's type if a register holds one element, else the untyped 32-bit types."""
    count, element = _taken_apart(argument, use)
    return (element.name if SIZES.get(element.name, 0) >= _WORD else f"b{_WORD}",) * count


def _mismatch_register(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    if shape[0] == "register":
        mismatch = type_mismatch(argument, shape, use)
        return Mismatch(f"a register of type .{argument}", mismatch.code) if mismatch else None
    return Mismatch(f"a register of type .{argument}")


def _mismatch_braced(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    inner = cast("Shape", shape[1]) if shape[0] == "vector" and len(shape) == 2 else shape
    mismatch = _mismatch_register(argument, inner, use)
    return Mismatch(f"{mismatch.wanted}, alone or in braces", mismatch.code) if mismatch else None


def _limits_of_selectors(argument: str, _use: Use) -> Limits | None:
    return Limits(elements=tuple(parse_limits(part) for part in argument.split(", ")))


def _mismatch_selectors(argument: str, shape: Shape, _use: Use) -> Mismatch | None:
    """Check the selectors `{byte, thread}` of scale factors: 16-bit registers, or constants within limits."""
    count = argument.count(",") + 1
    wanted = f"a vector of {count}, each a constant, or a .b16 or .u16 register"
    elements = cast("tuple[Shape, ...]", shape[1:])
    if shape[0] != "vector":
        return Mismatch(wanted)
    if len(elements) != count:
        return Mismatch(wanted, VECTOR_LENGTH)
    fits = all(element == ("literal", "int") or _is_selector(element) for element in elements)
    return None if fits else Mismatch(wanted, OPERAND_TYPE)


def _is_selector(element: Shape) -> bool:
    return element[0] == "register" and element[1] in ("b16", "u16", "s16", "")


def _examples_of_selectors(argument: str, use: Use, index: int) -> tuple[str, ...]:
    limits = _limits_of_selectors(argument, use)
    ends = [each.inside() for each in limits.elements] if limits else []
    return (
        f"{{{', '.join(str(end[0]) for end in ends)}}}",
        f"{{{', '.join(str(end[-1]) for end in ends)}}}",
        f"{{{', '.join(f'%u16_{index + offset}' for offset in range(len(ends)))}}}",
    )


KINDS = (
    Kind(
        "register",
        "a register of type {}",
        _mismatch_register,
        lambda argument, _use, index: (f"%{argument}_{index}",),
        types=lambda argument, _use: (argument,),
    ),
    Kind(
        "braced",
        "a register of type {}, alone or in braces",
        _mismatch_braced,
        lambda argument, _use, index: (f"%{argument}_{index}", f"{{%{argument}_{index}}}"),
        types=lambda argument, _use: (argument,),
    ),
    Kind(
        "fragment",
        "a vector of registers with the thread's fragment of {}",
        _mismatch_fragment,
        _examples_of_fragment,
        types=_types_of_fragment,
    ),
    Kind(
        "selectors",
        "a byte ID and a thread ID in braces: constants ({}) or 16-bit registers",
        _mismatch_selectors,
        _examples_of_selectors,
        _limits_of_selectors,
        types=lambda argument, _use: ("u16",) * (argument.count(",") + 1),
    ),
)
