"""Logic, shifts, permutations, counts, bit fields. The type gives the width: `ptx.and_(u32, …)` emits `and.b32`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms
from pyptx_dsl.instructions.forms.wrapper import Binary, Quaternary, Ternary, Unary, Wrapper
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
    from pyptx_dsl.registers.operands import PipeRef
    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.types import PtxType

__all__ = [
    "and_",
    "bfe",
    "bfi",
    "bfind",
    "bmsk",
    "brev",
    "clz",
    "cnot",
    "fns",
    "lop3",
    "not_",
    "or_",
    "popc",
    "prmt",
    "shf",
    "shl",
    "shr",
    "szext",
    "xor_",
]

and_ = Binary("and_")
or_ = Binary("or_")
xor_ = Binary("xor_")
not_ = Unary("not_")
cnot = Unary("cnot")
shl = Binary("shl")
shr = Binary("shr")
brev = Unary("brev")
popc = Unary("popc")
clz = Unary("clz")
bfind = Unary("bfind")
bfe = Ternary("bfe")
bfi = Quaternary("bfi")
bmsk = Binary("bmsk")
szext = Binary("szext")
fns = Ternary("fns")
prmt = Ternary("prmt")


class Lop3(Wrapper):
    """`ptx.lop3`: any function of three bits, given by its truth table as a number."""

    def __call__(
        self,
        dtype: PtxType,
        dst: Reg | PipeRef,
        a: object,
        b: object,
        c: object,
        lut: int,
        q: Reg | None = None,
        *,
        combine: Literal["and", "or"] | None = None,
        pred: Reg | None = None,
    ) -> Reg | PipeRef:
        """Emit `lop3{.combine}.b32 d{|p}, a, b, c, lut{, q};` and return `d`.

        `lut` is the truth table: the function applied to 0xF0, 0xCC and 0xAA. With `combine` the destination is
        `reg.PipeRef(d, p)`; `p` is whether the result is nonzero, combined with the predicate `q`.
        """
        operands = (dst, a, b, c, lut) if q is None else (dst, a, b, c, lut, q)
        self._emit(dtype, operands, {} if combine is None else {"combine": combine}, pred)
        return dst


lop3 = Lop3("lop3")


_SHF = InstructionForms("ptx.shf", "shf")


def shf(
    dtype: PtxType,
    dst: Reg,
    a: object,
    b: object,
    c: object,
    *,
    direction: str,
    mode: str = "wrap",
    pred: Reg | None = None,
) -> Reg:
    """Emit `shf.direction.mode.b32 d, a, b, c;`, the funnel shift of `b:a` by `c` bits, and return `d`.

    `direction` is `l` (the high half of the result) or `r` (the low half). `mode` is `wrap` or `clamp`, for shifts by
    32 and more. Manual: "Logic and Shift Instructions: shf".
    """
    active("ptx.shf").emit(_SHF.words(dtype, direction=direction, mode=mode), (dst, a, b, c), pred)
    return dst
