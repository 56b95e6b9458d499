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

and_ = Binary(
    "and_",
    "Bitwise and, or logical and of predicates.",
)
or_ = Binary(
    "or_",
    "Bitwise or, or logical or of predicates.",
)
xor_ = Binary(
    "xor_",
    "Bitwise exclusive or, or logical exclusive or of predicates.",
)
not_ = Unary(
    "not_",
    "Invert all bits, or a predicate.",
)
cnot = Unary(
    "cnot",
    "1 if the source is 0, else 0.",
)
shl = Binary(
    "shl",
    "Shift left by a 32-bit amount; 32 or more (for 32 bits) gives 0.",
)
shr = Binary(
    "shr",
    "Shift right by a 32-bit amount: signed types copy the sign bit.",
)
brev = Unary(
    "brev",
    "Reverse the order of bits.",
)
popc = Unary(
    "popc",
    "Count the bits that are 1, into u32.",
)
clz = Unary(
    "clz",
    "Count the leading bits that are 0, into u32.",
)
bfind = Unary(
    "bfind",
    "Find the highest 1, or bit unlike the sign, into u32 (-1 if none); `shiftamt`: the left shift to the top bit.",
)
bfe = Ternary(
    "bfe",
    "Extract `c` bits from position `b` of `a`, extended by the field's sign for signed types.",
)
bfi = Quaternary(
    "bfi",
    "Insert the low `d` bits of `a` into `b` at position `c`.",
)
bmsk = Binary(
    "bmsk",
    "Create a mask of `b` bits from position `a`.",
)
szext = Binary(
    "szext",
    "Extend the low `b` bits of `a` by their sign, or by zeros for u32.",
)
fns = Ternary(
    "fns",
    "Find the position of the `offset`-th 1 of `mask`, counted from bit `base`.",
)
prmt = Ternary(
    "prmt",
    "Select four of the eight bytes of `a` and `b` by the selectors in `c`; `mode` changes the meaning of `c`.",
)


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


lop3 = Lop3("lop3", "Compute any function of three bits, given by its truth table.")


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
