"""Arithmetic: `ptx.add(type, d, a, b)` and its kin, each one instruction."""

from __future__ import annotations

from typing import Unpack, overload

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.wrapper import Binary, Flags, Ternary, Unary, choice, form, ptx_type
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import PtxType, from_name

__all__ = [
    "abs_",
    "add",
    "addc",
    "div",
    "dp2a",
    "dp4a",
    "fma",
    "mad",
    "mad24",
    "madc",
    "max_",
    "min_",
    "mul",
    "mul24",
    "neg",
    "rem",
    "sad",
    "sub",
    "subc",
]

_ROUND = "rn rz rm rp"
_INTEGERS = "u16 u32 u64 s16 s32 s64"
_WIDE = "u32 s32 u64 s64"
_HALVES = "f16 f16x2"
_BRAINS = "bf16 bf16x2"

add = Binary(
    "add",
    "Add: `d = a + b`.",
    "d, a, b",
    "Integer, Floating Point and Half Precision Arithmetic Instructions: add, add.cc",
    form("add{.sat}.type", "s32"),
    form("add{.cc}.type", _WIDE),
    form("add.type", f"{_INTEGERS} u16x2 s16x2"),
    form("add{.rounding}{.ftz}{.sat}.type", "f32", rounding=_ROUND),
    form("add{.rounding}.type", "f64", rounding=_ROUND),
    form("add{.rounding}{.ftz}.type", "f32x2", rounding=_ROUND),
    form("add{.rounding}{.ftz}{.sat}.type", _HALVES, rounding="rn"),
    form("add{.rounding}.type", _BRAINS, rounding="rn"),
)

sub = Binary(
    "sub",
    "Subtract: `d = a - b`.",
    "d, a, b",
    "Integer, Floating Point and Half Precision Arithmetic Instructions: sub, sub.cc",
    form("sub{.sat}.type", "s32"),
    form("sub{.cc}.type", _WIDE),
    form("sub.type", _INTEGERS),
    form("sub{.rounding}{.ftz}{.sat}.type", "f32", rounding=_ROUND),
    form("sub{.rounding}.type", "f64", rounding=_ROUND),
    form("sub{.rounding}{.ftz}.type", "f32x2", rounding=_ROUND),
    form("sub{.rounding}{.ftz}{.sat}.type", _HALVES, rounding="rn"),
    form("sub{.rounding}.type", _BRAINS, rounding="rn"),
)

mul = Binary(
    "mul",
    "Multiply: `d = a * b`; of integers the low half unless `mode` says otherwise (`wide`: `d` is twice as wide).",
    "d, a, b",
    "Integer, Floating Point and Half Precision Arithmetic Instructions: mul",
    form("mul.mode.type", "u16 u32 s16 s32", mode="lo hi wide"),
    form("mul.mode.type", "u64 s64", mode="lo hi"),
    form("mul{.rounding}{.ftz}{.sat}.type", "f32", rounding=_ROUND),
    form("mul{.rounding}.type", "f64", rounding=_ROUND),
    form("mul{.rounding}{.ftz}.type", "f32x2", rounding=_ROUND),
    form("mul{.rounding}{.ftz}{.sat}.type", _HALVES, rounding="rn"),
    form("mul{.rounding}.type", _BRAINS, rounding="rn"),
)

fma = Ternary(
    "fma",
    "Multiply and add with one rounding: `d = a * b + c`.",
    "d, a, b, c",
    "Floating Point Instructions: fma; Half Precision Floating Point Instructions: fma",
    form("fma.rounding{.ftz}{.sat}.type", "f32", rounding=_ROUND),
    form("fma.rounding.type", "f64", rounding=_ROUND),
    form("fma.rounding{.ftz}.type", "f32x2", rounding=_ROUND),
    form("fma.rounding{.ftz}{.sat}.type", _HALVES, rounding="rn"),
    form("fma.rounding{.ftz}{.relu}.type", _HALVES, rounding="rn"),
    form("fma.rounding{.relu}.type", _BRAINS, rounding="rn"),
    form("fma.rounding{.oob}{.relu}.type", f"{_HALVES} {_BRAINS}", rounding="rn"),
)

div = Binary(
    "div",
    "Divide: `d = a / b`; integers truncate toward zero, floats round to nearest unless `approx` or `full` is given.",
    "d, a, b",
    "Integer Arithmetic Instructions: div; Floating Point Instructions: div",
    form("div.type", _INTEGERS),
    form("div.rounding{.ftz}.type", "f32", rounding=_ROUND),
    form("div{.approx}{.ftz}.type", "f32"),
    form("div{.full}{.ftz}.type", "f32"),
    form("div.rounding.type", "f64", rounding=_ROUND),
)

rem = Binary(
    "rem",
    "Remainder of the integer division: the sign is that of `a`.",
    "d, a, b",
    "Integer Arithmetic Instructions: rem",
    form("rem.type", _INTEGERS),
)

abs_ = Unary(
    "abs",
    "Absolute value.",
    "d, a",
    "Integer, Floating Point and Half Precision Arithmetic Instructions: abs",
    form("abs.type", "s16 s32 s64 f64"),
    form("abs{.ftz}.type", f"f32 {_HALVES}"),
    form("abs.type", _BRAINS),
)

neg = Unary(
    "neg",
    "Negate.",
    "d, a",
    "Integer, Floating Point and Half Precision Arithmetic Instructions: neg",
    form("neg.type", "s16 s32 s64 f64"),
    form("neg{.ftz}.type", f"f32 {_HALVES}"),
    form("neg.type", _BRAINS),
)

min_ = Binary(
    "min",
    "The lesser of two; of floats the one that is a number, unless `nan=True`.",
    "d, a, b",
    "Integer, Floating Point and Half Precision Arithmetic Instructions: min",
    form("min.type", "u16 u32 u64 u16x2 s16 s64 f64"),
    form("min{.relu}.type", "s16x2 s32"),
    form("min{.ftz}{.nan}{.xorsign_abs}.type", f"f32 {_HALVES}"),
    form("min{.nan}{.xorsign_abs}.type", _BRAINS),
)

max_ = Binary(
    "max",
    "The greater of two; of floats the one that is a number, unless `nan=True`.",
    "d, a, b",
    "Integer, Floating Point and Half Precision Arithmetic Instructions: max",
    form("max.type", "u16 u32 u64 u16x2 s16 s64 f64"),
    form("max{.relu}.type", "s16x2 s32"),
    form("max{.ftz}{.nan}{.xorsign_abs}.type", f"f32 {_HALVES}"),
    form("max{.nan}{.xorsign_abs}.type", _BRAINS),
)

sad = Ternary(
    "sad",
    "Sum of absolute differences: `d = c + |a - b|`.",
    "d, a, b, c",
    "Integer Arithmetic Instructions: sad",
    form("sad.type", _INTEGERS),
)

mul24 = Binary(
    "mul24",
    "Multiply the low 24 bits of two values.",
    "d, a, b",
    "Integer Arithmetic Instructions: mul24",
    form("mul24.mode.type", "u32 s32", mode="lo hi"),
)

mad24 = Ternary(
    "mad24",
    "Multiply the low 24 bits of two values and add a third.",
    "d, a, b, c",
    "Integer Arithmetic Instructions: mad24",
    form("mad24.mode.type", "u32 s32", mode="lo hi"),
    form("mad24.mode{.sat}.type", "s32", mode="hi"),
)

addc = Binary(
    "addc",
    "Add with the carry of the instruction before; `cc=True` writes the carry out.",
    "d, a, b",
    "Extended-Precision Integer Arithmetic Instructions: addc",
    form("addc{.cc}.type", _WIDE),
)

subc = Binary(
    "subc",
    "Subtract with the borrow of the instruction before; `cc=True` writes the borrow out.",
    "d, a, b",
    "Extended-Precision Integer Arithmetic Instructions: subc",
    form("subc{.cc}.type", _WIDE),
)

madc = Ternary(
    "madc",
    "Multiply and add with the carry of the instruction before; `cc=True` writes the carry out.",
    "d, a, b, c",
    "Extended-Precision Integer Arithmetic Instructions: madc",
    form("madc.mode{.cc}.type", _WIDE, mode="lo hi"),
)

_MAD = Ternary(
    "mad",
    "Multiply and add.",
    "d, a, b, c",
    "Integer Arithmetic Instructions: mad; Floating Point Instructions: mad",
    form("mad.mode.type", "u16 u32 s16 s32", mode="lo hi wide"),
    form("mad.mode.type", "u64 s64", mode="lo hi"),
    form("mad.mode{.cc}.type", _WIDE, mode="lo hi"),
    form("mad.mode{.sat}.type", "s32", mode="hi"),
    form("mad.rounding{.ftz}{.sat}.type", "f32", rounding=_ROUND),
    form("mad.rounding.type", "f64", rounding=_ROUND),
)


@overload
def mad(
    dtype: PtxType,
    dst: Reg,
    a: object,
    b: object,
    c: object,
    /,
    *,
    mode: str | None = None,
    pred: Reg | None = None,
    **modifiers: Unpack[Flags],
) -> Reg: ...


@overload
def mad(
    a: object,
    b: object,
    c: object,
    /,
    *,
    mode: str | None = None,
    pred: Reg | None = None,
    **modifiers: Unpack[Flags],
) -> Reg: ...


def mad(*args: object, mode: str | None = None, pred: Reg | None = None, **modifiers: Unpack[Flags]) -> Reg:
    """Multiply and add: `d = a * b + c`, by one instruction; return `d`.

    `ptx.mad(type, d, a, b, c)` emits `mad.mode.type` for integers (`mode` is `lo`, `hi` or `wide`; `lo` if left out)
    and `mad.rn.type` for f32 and f64. `ptx.mad(a, b, c)` declares the result itself: the type is that of the first
    register among `a` and `b`; with `mode="wide"` the result and `c` are twice as wide, and for floats the
    instruction is `fma.rn`. Manual: "Integer Arithmetic Instructions: mad", "Floating Point Instructions: fma, mad".
    """
    if len(args) == 5:
        dtype, dst, a, b, c = args
        checked = ptx_type(dtype, "ptx.mad")
        if not isinstance(dst, Reg):
            raise OperandError(f"ptx.mad writes a register, not {dst!r}", hint="write ptx.mad(u32, d, a, b, c)")
        return _MAD(checked, dst, a, b, c, mode=mode, pred=pred, **modifiers)
    if len(args) != 3:
        raise OperandError(
            f"ptx.mad takes (type, d, a, b, c) or (a, b, c), not {len(args)} values",
            hint="write ptx.mad(u32, d, a, b, c)",
        )
    return _mad_expression(args, mode, pred, modifiers)


def _mad_expression(args: tuple[object, ...], mode: str | None, pred: Reg | None, modifiers: Flags) -> Reg:
    factor = next((value for value in args[:2] if isinstance(value, Reg)), None)
    if factor is None:
        raise OperandError("ptx.mad(a, b, c) needs a register among a and b", hint="write ptx.mad(u32, d, a, b, c)")
    trace = active("ptx.mad")
    dtype = factor.dtype
    a, b, c = args
    if not dtype.is_integer:
        return fma(dtype, trace.fresh(dtype), a, b, c, mode=mode, pred=pred, **modifiers)
    letter = "s" if dtype.kind == "signed" else "u"
    result = trace.fresh(from_name(f"{letter}{dtype.bits * 2 if mode == 'wide' else dtype.bits}"))
    return _MAD(from_name(f"{letter}{dtype.bits}"), result, a, b, c, mode=mode, pred=pred, **modifiers)


def dp4a(atype: PtxType, btype: PtxType, dst: Reg, a: object, b: object, c: object, *, pred: Reg | None = None) -> Reg:
    """Emit `dp4a.atype.btype d, a, b, c;`: the dot product of four bytes, plus `c`; types are u32 and s32. Return `d`.

    Manual: "Integer Arithmetic Instructions: dp4a".
    """
    active("ptx.dp4a").emit(("dp4a", *_byte_types("ptx.dp4a", atype, btype)), (dst, a, b, c), pred)
    return dst


def dp2a(
    atype: PtxType,
    btype: PtxType,
    dst: Reg,
    a: object,
    b: object,
    c: object,
    *,
    mode: str = "lo",
    pred: Reg | None = None,
) -> Reg:
    """Emit `dp2a.mode.atype.btype d, a, b, c;`: two 16-bit values by two bytes of `b`, plus `c`. Return `d`.

    `mode` takes the low or the high two bytes; types are u32 and s32.

    Manual: "Integer Arithmetic Instructions: dp2a".
    """
    words = ("dp2a", choice("mode", mode, ("lo", "hi")), *_byte_types("ptx.dp2a", atype, btype))
    active("ptx.dp2a").emit(words, (dst, a, b, c), pred)
    return dst


def _byte_types(what: str, atype: PtxType, btype: PtxType) -> tuple[str, str]:
    first, second = ptx_type(atype, what), ptx_type(btype, what)
    return choice("atype", first.name, ("u32", "s32")), choice("btype", second.name, ("u32", "s32"))
