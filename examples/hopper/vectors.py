"""Vectors of 16 bytes, the widest ordinary access: four f32 or eight bf16 in memory, f32 in registers."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from pyptx import ptx, reg
from pyptx.types import PtxType, b32, bf16, bf16x2, f32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx.reg import Reg

BYTES = 16


def load(
    dtype: PtxType,
    address: object,
    inside: Reg | None = None,
    fill: float = 0.0,
    *,
    space: str = "global",
    nc: bool = False,
) -> Sequence[Reg]:
    """Load 16 bytes as f32 registers: four, or eight of bf16; `fill` where `inside` is false.

    1 instruction for f32, 9 for bf16, and 4 more with `inside`. The other words are those of `ptx.ld`.
    """
    word, outside = (f32, fill) if dtype == f32 else (b32, twice_bf16(fill))
    words = [reg.scalar(word, init=None if inside is None else outside) for _ in range(4)]
    ptx.ld(word, words, address, space=space, nc=nc, pred=inside)
    if dtype == f32:
        return words
    values = [reg.scalar(f32) for _ in range(8)]
    for pair, low, high in zip(words, values[::2], values[1::2], strict=True):
        ptx.inst.shl.b32(low, pair, 16)  # a bf16 is the upper half of an f32
        ptx.inst.and_.b32(high, pair, 0xFFFF0000)
    return values


def twice_bf16(value: float) -> int:
    """Return a number that bf16 has as the two halves of a word."""
    half = struct.pack("<f", value)[2:]
    return int.from_bytes(half * 2, "little")


def store(
    dtype: PtxType, address: object, values: Sequence[Reg], *, inside: Reg | None = None, space: str = "global"
) -> None:
    """Store four f32 registers, or four or eight rounded to bf16: 1 instruction, and 1 more for each pair rounded."""
    if dtype == bf16:
        pairs = zip(values[::2], values[1::2], strict=True)
        values = [ptx.cvt(bf16x2, f32, reg.scalar(b32), high, low, rounding="rn") for low, high in pairs]
        dtype = b32
    ptx.st(dtype, address, values, space=space, pred=inside)
