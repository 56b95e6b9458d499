"""Byte permutation in registers. Manual: "Data Movement and Conversion Instructions", prmt (9.7.9.7)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pyptx_ir.plugins.semantics import Semantics
from pyptx_sim.numerics.packed import join, split
from pyptx_sim.semantics.operations import constant, operation

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.isa.binding import Bound
    from pyptx_sim.operation import Array, Operation

_U8, _U32, _U64 = np.dtype(np.uint8), np.dtype(np.uint32), np.dtype(np.uint64)

# By mode of prmt: the byte selectors for each value of c[1:0], as four hex digits, lowest byte last.
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
    """Return prmt with a constant selector, as a function of the two source registers."""
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


def _permute(form: Bound) -> Operation:
    selectors = np.array(_MODES[form.word("mode")], _U32) if form.word("mode") else None
    known = constant(form, "c")
    if known is not None:
        fixed = _permutation(known & 0xFFFF if selectors is None else int(selectors[known & 3]))
        return operation(form, fixed, unread=("c",))

    def compute(a: Array, b: Array, c: Array) -> Array:
        selector = c if selectors is None else selectors[c & np.uint32(3)]
        return _permuted(a, b, selector)

    return operation(form, compute)


def _permuted(a: Array, b: Array, selector: Array) -> Array:
    pair = (b.astype(_U64) << np.uint64(32)) | a
    result = np.zeros((1, 1), _U32)
    for place in range(4):
        digit = (selector >> np.uint32(4 * place)) & np.uint32(0xF)
        byte = ((pair >> ((digit & np.uint32(7)) << np.uint32(3)).astype(_U64)) & np.uint64(0xFF)).astype(_U32)
        sign = (byte >> np.uint32(7)) * np.uint32(0xFF)
        result = result | (np.where(digit & np.uint32(8), sign, byte) << np.uint32(8 * place))
    return result


ROWS = (Semantics("prmt", _permute),)
