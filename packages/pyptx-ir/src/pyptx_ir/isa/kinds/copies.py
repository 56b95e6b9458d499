"""Operands of asynchronous copies. Manual: "Asynchronous copy", "Tensor copy", "Overriding tensor property value"."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pyptx_ir.isa.kinds.kind import ADDRESS_SPACE, OPERAND_KIND, OPERAND_TYPE, VECTOR_LENGTH, Kind, Mismatch, Use
from pyptx_ir.isa.kinds.scalars import type_mismatch

if TYPE_CHECKING:
    from pyptx_ir.isa.shapes import Shape

_INT16 = ("b16", "u16", "s16", "")
_INT32 = ("b32", "u32", "s32", "")
_INT64 = ("b64", "u64", "s64", "")
_BYTES = ("b8", "u8", "s8", *_INT16)
_LITERAL = ("literal", "int")
WORD = 32


def _mismatch_predicate(_argument: str, shape: Shape, _use: Use) -> Mismatch | None:
    if shape[0] == "register" and shape[1] in ("pred", ""):
        return None
    return Mismatch("a .pred register", OPERAND_TYPE if shape[0] == "register" else OPERAND_KIND)


def _mismatch_register(shape: Shape, types: tuple[str, ...], what: str) -> Mismatch | None:
    if shape[0] != "register":
        return Mismatch(what)
    return None if shape[1] in types else Mismatch(what, OPERAND_TYPE)


def _mismatch_list(shape: Shape, count: int, types: tuple[str, ...], what: str) -> Mismatch | None:
    """Check a vector of `count` elements: registers of these types, or integer literals."""
    wanted = f"a vector of {count} {what}"
    if shape == ("register", ""):
        return None  # the register's type is unknown; it may be a vector register
    if shape[0] != "vector":
        return Mismatch(wanted)
    elements = cast("tuple[Shape, ...]", shape[1:])
    if len(elements) != count:
        return Mismatch(wanted, VECTOR_LENGTH)
    right = all(each == _LITERAL or (each[0] == "register" and each[1] in types) for each in elements)
    return None if right else Mismatch(f"{wanted} in .{types[0]}, .{types[1]} or .{types[2]} registers", OPERAND_TYPE)


def _mismatch_offsets(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    return _mismatch_list(shape, use.count(argument) - 2, _INT16, "offsets")


def _mismatch_map(shape: Shape) -> Mismatch | None:
    """Check a tensor map operand: a 64-bit register with its generic address, or a variable in global memory."""
    if shape[0] == "symbol":
        return None if shape[1] in ("", ".global") else Mismatch("a tensor map in .global memory", ADDRESS_SPACE)
    return _mismatch_register(shape, _INT64, "a tensor map: its address in a 64-bit register, or a variable")


def _inside(use: Use, count: int) -> list[tuple[str, int]]:
    """Return the parts of the operand after the tensor map, by name, with their vector lengths (0: a scalar)."""
    words = frozenset(use.filled.values())
    parts: list[tuple[str, int]] = []
    if use.row.opcode == "fabric":
        parts += [("endpoint", 0), ("offset", 0)]
        parts += [("counter", 0)] if "counted::bytes" in words else []
    elif "override::global_address" in words:
        parts.append(("address", 0))
    if "override::global_dim" in words:
        parts.append(("sizes", count))
    if "override::global_dim_stride" in words:
        parts += [("sizes", count), ("lower", count - 1), ("upper", 0)]
    return [*parts, ("coordinates", count)]


# For each part of a bracketed operand of a copy: its register types, and its description in messages.
_PARTS: dict[str, tuple[tuple[str, ...], str]] = {
    "endpoint": (_INT32, "the number of a logical endpoint in a 32-bit register"),
    "offset": (_INT64, "an offset in a 64-bit register"),
    "counter": (_INT64, "a counter's offset, in a 64-bit register"),
    "address": (_INT64, "an address in a 64-bit register"),
    "sizes": (_BYTES, "sizes"),
    "lower": (_INT32, "lower parts of strides"),
    "upper": (_INT16, "the upper parts of the strides in a 16-bit register"),
    "coordinates": (_INT32, "coordinates"),
}


def _mismatch_parts(parts: list[tuple[str, int]], shapes: tuple[Shape, ...]) -> Mismatch | None:
    for (name, length), shape in zip(parts, shapes, strict=True):
        types, what = _PARTS[name]
        mismatch = _mismatch_list(shape, length, types, what) if length else _mismatch_register(shape, types, what)
        if mismatch:
            return mismatch
    return None


def _mismatch_box(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    """Check a tensor map operand with overridden fields: `[map{, fields}, {c0, …}]`."""
    parts = _inside(use, use.count(argument))
    inside = cast("tuple[Shape, ...]", shape[1:])
    if shape[0] != "bracket" or len(inside) != len(parts) + 1:
        return Mismatch(f"[map, {', '.join(name for name, _ in parts)}] in brackets")
    return _mismatch_map(inside[0]) or _mismatch_parts(parts, inside[1:])


def _mismatch_handle(argument: str, shape: Shape, _use: Use) -> Mismatch | None:
    """Check a logical endpoint operand: `[endpoint, offset{, counter}]`."""
    parts = [(name, 0) for name in ("endpoint", "offset", "counter")[: int(argument)]]
    if shape[0] != "bracket" or len(shape) != len(parts) + 1:
        return Mismatch(f"[{', '.join(name for name, _ in parts)}] in brackets")
    return _mismatch_parts(parts, cast("tuple[Shape, ...]", shape[1:]))


def _mismatch_word(_argument: str, shape: Shape, use: Use) -> Mismatch | None:
    return type_mismatch("b32", shape, use) if shape[0] == "register" else Mismatch("a 32-bit register")


def _words(argument: str, use: Use) -> str:
    """Return the operand kind of a vector of 32-bit registers for n values of b bits; `argument` has n's slot and b."""
    slot, _, bits = argument.partition(" ")
    return f"{-(-use.count(slot) * int(bits) // WORD)}*b32"


def _mismatch_words(argument: str, shape: Shape, use: Use) -> Mismatch | None:
    return use.mismatch(_words(argument, use), shape)


def _examples_of_words(argument: str, use: Use, index: int) -> tuple[str, ...]:
    return use.examples(_words(argument, use), index)


_STEMS: dict[str, str] = {"sizes": "b8", "upper": "b16", "lower": "b32", "coordinates": "s32", "endpoint": "u32"}


def _spelt(name: str, length: int, index: int) -> str:
    stem = _STEMS.get(name, "u64")
    if not length:
        return f"%{stem}_{index}"
    return f"{{{', '.join(f'%{stem}_{index + offset}' for offset in range(length))}}}"


def _bracket(parts: list[tuple[str, int]], *first: str) -> tuple[str, ...]:
    spelt = (_spelt(name, length, index) for index, (name, length) in enumerate(parts, 3))
    return (f"[{', '.join((*first, *spelt))}]",)


KINDS = (
    # ignore-src predicate of cp.async: ptxas reads a constant in its position as a size.
    Kind(
        "predicate",
        "a predicate register, not a constant",
        _mismatch_predicate,
        lambda _a, _u, index: (f"%pred_{index}",),
        types=lambda _argument, _use: ("pred",),
    ),
    Kind(
        "offsets",
        "a vector of im2col offsets: two fewer than the tensor has dimensions",
        _mismatch_offsets,
        lambda argument, use, index: (_spelt("upper", use.count(argument) - 2, index),),
    ),
    Kind(
        "box",
        "a tensor map, values that override fields of the tensor map, and the coordinates of a box",
        _mismatch_box,
        lambda argument, use, _index: _bracket(_inside(use, use.count(argument)), "%u64_9"),
    ),
    Kind(
        "word",
        "a 32-bit register",
        _mismatch_word,
        lambda _argument, _use, index: (f"%b32_{index}",),
        types=lambda _argument, _use: ("b32",),
    ),
    Kind("words", "a vector of 32-bit registers for {}", _mismatch_words, _examples_of_words),
    Kind(
        "handle",
        "the number of a logical endpoint, and offsets in the endpoint's memory",
        _mismatch_handle,
        lambda argument, _use, _index: _bracket([("endpoint", 0), ("offset", 0), ("counter", 0)][: int(argument)]),
    ),
)
