"""Vectors, the widest accesses of a thread: 16 bytes in every state space, and on Blackwell 32 in global memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from examples.rows.numbers import halves, joined, twice

from pyptx import ptx, reg
from pyptx.types import PtxType, b32, bf16, bf16x2, f32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx.reg import Reg

BYTES = 16  # bytes of the widest vector access that every state space supports


@dataclass(frozen=True, slots=True)
class Vector:
    """Access to `bytes` bytes of `dtype`, f32 or bf16, as registers of type `number`.

    A `number` is f32, or a pair of them (f32x2); `numbers.py` computes with both.
    """

    dtype: PtxType
    bytes: int = BYTES
    number: PtxType = f32

    @property
    def elements(self) -> int:
        """Number of elements per vector."""
        return self.bytes // self.dtype.bytes

    def load(
        self,
        address: object,
        inside: Reg | None = None,
        fill: float = 0.0,
        *,
        space: str = "global",
        nc: bool = False,
    ) -> Sequence[Reg]:
        """Load a vector as numbers; elements are `fill` if `inside` is false. `space` and `nc` are those of `ptx.ld`.

        1 instruction for f32; for bf16, 1 more per element; with `inside`, 1 more per loaded register. The load has
        32-bit registers, which ptxas assigns to wide accesses and to pairs without a move. With 64-bit registers it
        copies the values that it stores.
        """
        word, outside = (f32, fill) if self.dtype == f32 else (b32, twice(fill, bf16))
        count = self.bytes // word.bytes
        words = [reg.scalar(word, init=None if inside is None else outside) for _ in range(count)]
        ptx.ld(word, words, address, space=space, nc=nc, pred=inside)
        values = words if self.dtype == f32 else widened(words)
        if self.number == f32:
            return values
        return [joined(values[first : first + 2]) for first in range(0, len(values), 2)]

    def store(
        self, address: object, values: Sequence[Reg], *, inside: Reg | None = None, space: str = "global"
    ) -> None:
        """Store numbers as a vector, or as half of one: 1 instruction; for bf16, 1 more per two elements."""
        singles = [half for value in values for half in halves(value)]
        if self.dtype == f32:
            ptx.st(f32, address, singles, space=space, pred=inside)
            return
        pairs = zip(singles[::2], singles[1::2], strict=True)
        words = [ptx.cvt(bf16x2, f32, reg.scalar(b32), high, low, rounding="rn") for low, high in pairs]
        ptx.st(b32, address, words, space=space, pred=inside)


def widened(words: Sequence[Reg]) -> Sequence[Reg]:
    """Return pairs of bf16 as f32 registers: a bf16 is the upper half of an f32."""
    values = [reg.scalar(f32) for _ in range(2 * len(words))]
    for pair, low, high in zip(words, values[::2], values[1::2], strict=True):
        ptx.inst.shl.b32(low, pair, 16)
        ptx.inst.and_.b32(high, pair, 0xFFFF0000)
    return values
