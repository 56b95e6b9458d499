"""Bits: logic, shifts, permutations, counts, fields. The type says the width; `ptx.and_(u32, …)` emits `and.b32`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.instructions.wrapper import Binary, Quaternary, Ternary, Unary, choice, form, ptx_type
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
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

_NARROW = "b16 u16 s16 f16 bf16"
_MIDDLE = "b32 u32 s32 f32 f16x2 bf16x2"
_DOUBLE = "b64 u64 s64 f64"
_ALL = f"pred {_NARROW} {_MIDDLE} {_DOUBLE}"
_SHIFTED = f"{_NARROW} {_MIDDLE} {_DOUBLE}"
_LARGE = f"{_MIDDLE} {_DOUBLE}"
_SIGNED = "u32 u64 s32 s64"

and_ = Binary(
    "and_",
    "Bitwise, or of predicates, and.",
    "d, a, b",
    "Logic and Shift Instructions: and",
    form("and.type", _ALL, bits=True),
)
or_ = Binary(
    "or_",
    "Bitwise, or of predicates, or.",
    "d, a, b",
    "Logic and Shift Instructions: or",
    form("or.type", _ALL, bits=True),
)
xor_ = Binary(
    "xor_",
    "Bitwise, or of predicates, exclusive or.",
    "d, a, b",
    "Logic and Shift Instructions: xor",
    form("xor.type", _ALL, bits=True),
)
not_ = Unary(
    "not_",
    "Invert all bits, or a predicate.",
    "d, a",
    "Logic and Shift Instructions: not",
    form("not.type", _ALL, bits=True),
)
cnot = Unary(
    "cnot",
    "1 if the source is 0, else 0.",
    "d, a",
    "Logic and Shift Instructions: cnot",
    form("cnot.type", _SHIFTED, bits=True),
)
shl = Binary(
    "shl",
    "Shift left by a 32-bit amount; 32 or more (for 32 bits) gives 0.",
    "d, a, b",
    "Logic and Shift Instructions: shl",
    form("shl.type", _SHIFTED, bits=True),
)
shr = Binary(
    "shr",
    "Shift right by a 32-bit amount: signed types copy the sign bit.",
    "d, a, b",
    "Logic and Shift Instructions: shr",
    form("shr.type", "b16 b32 b64 u16 u32 u64 s16 s32 s64"),
)
brev = Unary(
    "brev",
    "Reverse the order of bits.",
    "d, a",
    "Integer Arithmetic Instructions: brev",
    form("brev.type", _LARGE, bits=True),
)
popc = Unary(
    "popc",
    "Count the bits that are 1, into u32.",
    "d, a",
    "Integer Arithmetic Instructions: popc",
    form("popc.type", _LARGE, bits=True),
)
clz = Unary(
    "clz",
    "Count the leading bits that are 0, into u32.",
    "d, a",
    "Integer Arithmetic Instructions: clz",
    form("clz.type", _LARGE, bits=True),
)
bfind = Unary(
    "bfind",
    "Find the highest bit that is not the sign, into u32 (-1 if there is none); `shiftamt`: how far left it can go.",
    "d, a",
    "Integer Arithmetic Instructions: bfind",
    form("bfind{.shiftamt}.type", _SIGNED),
)
bfe = Ternary(
    "bfe",
    "Extract `c` bits from position `b` of `a`, extended by the field's sign for signed types.",
    "d, a, b, c",
    "Integer Arithmetic Instructions: bfe",
    form("bfe.type", _SIGNED),
)
bfi = Quaternary(
    "bfi",
    "Insert the low `d` bits of `a` into `b` at position `c`.",
    "f, a, b, c, d",
    "Integer Arithmetic Instructions: bfi",
    form("bfi.type", _LARGE, bits=True),
)
bmsk = Binary(
    "bmsk",
    "A mask of `b` bits from position `a`.",
    "d, a, b",
    "Integer Arithmetic Instructions: bmsk",
    form("bmsk.mode.type", "b32 u32 s32", bits=True, mode="clamp wrap"),
)
szext = Binary(
    "szext",
    "Extend the low `b` bits of `a` by their sign, or by zeros for u32.",
    "d, a, b",
    "Integer Arithmetic Instructions: szext",
    form("szext.mode.type", "u32 s32", mode="clamp wrap"),
)
fns = Ternary(
    "fns",
    "Find the position of the `offset`-th 1 of `mask`, counted from bit `base`.",
    "d, mask, base, offset",
    "Integer Arithmetic Instructions: fns",
    form("fns.type", "b32 u32 s32", bits=True),
)
prmt = Ternary(
    "prmt",
    "Choose four bytes from the eight of `a` and `b` by the selectors in `c`; `mode` changes what `c` means.",
    "d, a, b, c",
    "Data Movement and Conversion Instructions: prmt",
    form("prmt.type{.mode}", _MIDDLE, bits=True, mode="f4e b4e rc8 ecl ecr rc16"),
)
_LOP3 = Quaternary(
    "lop3",
    "Any function of three bits, by its truth table.",
    "d, a, b, c, immLut",
    "Logic and Shift Instructions: lop3",
    form("lop3.type", _MIDDLE, bits=True),
)


def lop3(dtype: PtxType, dst: Reg, a: object, b: object, c: object, lut: int, *, pred: Reg | None = None) -> Reg:
    """Emit `lop3.b32 d, a, b, c, lut;` and return `d`.

    `lut` is the truth table: apply the function to 0xF0, 0xCC and 0xAA. Manual: "Logic and Shift Instructions: lop3".
    """
    return _LOP3(dtype, dst, a, b, c, lut, pred=pred)


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

    `direction` is `l` (the high half of the result) or `r` (the low half); `mode` is `wrap` or `clamp` for amounts of
    32 and more. Manual: "Logic and Shift Instructions: shf".
    """
    words = ("shf", choice("direction", direction, ("l", "r")), choice("mode", mode, ("wrap", "clamp")))
    width = ptx_type(dtype, "ptx.shf").bits
    active("ptx.shf").emit((*words, f"b{width}"), (dst, a, b, c), pred)
    return dst
