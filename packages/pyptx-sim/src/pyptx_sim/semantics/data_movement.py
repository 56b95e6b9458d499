"""Moves within registers. Manual: "Data Movement and Conversion Instructions", mov (9.7.9.3) and prmt (9.7.9.7)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.numerics.packed import join, split
from pyptx_sim.operation import Array, Operation
from pyptx_sim.semantics.arity import ternary, unary
from pyptx_sim.semantics.forms import Match, form
from pyptx_sim.types import bits_dtype

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.syntax.operands import Operand

_U8, _U32, _U64 = np.dtype(np.uint8), np.dtype(np.uint32), np.dtype(np.uint64)


def _move(match: Match) -> Operation:
    from pyptx_ir.syntax.operands import Vector

    match.expect_operands(2)
    destination, source = match.operands
    kind = match["type"]
    if isinstance(source, Vector):
        if isinstance(destination, Vector):
            raise match.refuse("it packs or unpacks, one side must be a scalar")
        return _pack(match, kind, source.elements)
    if isinstance(destination, Vector):
        return _unpack(match, kind, destination.elements)
    return unary(kind, kind, lambda a: a)


def _element(match: Match, kind: str, elements: tuple[Operand, ...]) -> str:
    """Return the type of one element of a vector that fills `kind`."""
    bits = int(kind[1:]) if kind[1:].isdigit() else 0
    if len(elements) not in {2, 4, 8} or bits // len(elements) not in {8, 16, 32, 64}:
        raise match.refuse(f"{len(elements)} elements do not make up a .{kind}")
    return f"b{bits // len(elements)}"


def _pack(match: Match, kind: str, elements: tuple[Operand, ...]) -> Operation:
    element = _element(match, kind, elements)
    register = bits_dtype(int(kind[1:]) // 8)

    def compute(*sources: Array) -> Array:
        parts = np.stack(np.broadcast_arrays(*sources), axis=-1)
        return join(parts, register)

    if (element, kind) == ("b32", "b64"):
        return Operation((kind,), (element,) * 2, _pair_up)
    return Operation((kind,), (element,) * len(elements), compute)


def _pair_up(low: Array, high: Array) -> Array:
    """Return `low | high << 32`: address arithmetic does this often."""
    return (high.astype(_U64) << np.uint64(32)) | low


def _unpack(match: Match, kind: str, elements: tuple[Operand, ...]) -> Operation:
    element = _element(match, kind, elements)
    dtype = bits_dtype(int(element[1:]) // 8)
    count = len(elements)

    def compute(source: Array) -> tuple[Array, ...]:
        parts = split(source, dtype)
        return tuple(parts[..., index] for index in range(count))

    return Operation((element,) * count, (kind,), compute)


# --- prmt ---------------------------------------------------------------------------------------

# Mode -> for each value of c[1:0], the selectors as one number, lowest byte in the lowest digit.
_MODES: dict[str, tuple[int, int, int, int]] = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}


@lru_cache(maxsize=1024)
def _permutation(selector: int) -> Callable[[Array, Array], Array]:
    """Return the permutation for a known selector: a byte each, by slices of the registers' bytes."""
    digits = [(selector >> (4 * place)) & 0xF for place in range(4)]

    def compute(a: Array, b: Array) -> Array:
        sources = (split(a, _U8), split(b, _U8))
        shape = np.broadcast_shapes(a.shape, b.shape)
        result = np.empty((*shape, 4), _U8)
        for place, digit in enumerate(digits):
            byte = sources[(digit >> 2) & 1][..., digit & 3]
            result[..., place] = np.where(byte > 0x7F, np.uint8(0xFF), np.uint8(0)) if digit & 8 else byte
        return join(result, _U32)

    return compute


def _permute(match: Match) -> Operation:
    match.expect_operands(4)
    selectors = np.array(_MODES[match["mode"]], _U32) if "mode" in match else None
    known = match.immediate(3)
    if known is not None:
        fixed = _permutation(known & 0xFFFF if selectors is None else int(selectors[known & 3]))
        return ternary("b32", ("b32", "b32", "b32"), lambda a, b, _selector: fixed(a, b))

    def compute(a: Array, b: Array, c: Array) -> Array:
        selector = c if selectors is None else selectors[c & np.uint32(3)]
        return _permuted(a, b, selector)

    return Operation(("b32",), ("b32",) * 3, compute)


def _permuted(a: Array, b: Array, selector: Array) -> Array:
    pair = _pair_up(a, b)
    result = np.zeros((1, 1), _U32)
    for place in range(4):
        digit = (selector >> np.uint32(4 * place)) & np.uint32(0xF)
        byte = ((pair >> ((digit & np.uint32(7)) << np.uint32(3)).astype(_U64)) & np.uint64(0xFF)).astype(_U32)
        sign = (byte >> np.uint32(7)) * np.uint32(0xFF)
        result = result | (np.where(digit & np.uint32(8), sign, byte) << np.uint32(8 * place))
    return result


_TYPES = ("pred", "b16", "b32", "b64", "b128", "u16", "u32", "u64", "s16", "s32", "s64", "f16", "bf16", "f32", "f64")

FORMS = (
    form("mov.type", _move, type=_TYPES),
    form("prmt.b32{.mode}", _permute, mode=_MODES),
)
