"""Arithmetic instructions: `ptx.add(type, d, a, b)`, `ptx.mul`, `ptx.fma`, …; each call emits one instruction."""

from __future__ import annotations

from typing import Unpack, cast, overload

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms, ptx_type
from pyptx_dsl.instructions.forms.wrapper import Binary, BinaryOrTernary, Modifiers, Ternary, Unary, Wrapper
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import PtxType, from_name

__all__ = [
    "abs_",
    "add",
    "addc",
    "clmad",
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

add = Binary(
    "add",
    "Add: `d = a + b`.",
)

sub = Binary(
    "sub",
    "Subtract: `d = a - b`.",
)

mul = Binary(
    "mul",
    "Multiply: `d = a * b`; for integers the low half unless `mode` is `hi` or `wide` (`d` is twice as wide).",
)

fma = Ternary(
    "fma",
    "Multiply and add with one rounding: `d = a * b + c`.",
)

div = Binary(
    "div",
    "Divide: `d = a / b`; integers truncate toward zero, floats round to nearest unless `approx` or `full` is given.",
)

rem = Binary(
    "rem",
    "Remainder of integer division, with the sign of `a`.",
)

abs_ = Unary(
    "abs",
    "Absolute value.",
)

neg = Unary(
    "neg",
    "Negate.",
)

min_ = BinaryOrTernary(
    "min",
    "Minimum of two or three values; NaN operands are ignored for floats unless `nan=True`.",
)

max_ = BinaryOrTernary(
    "max",
    "Maximum of two or three values; NaN operands are ignored for floats unless `nan=True`.",
)

sad = Ternary(
    "sad",
    "Sum of absolute differences: `d = c + |a - b|`.",
)

mul24 = Binary(
    "mul24",
    "Multiply the low 24 bits of two values.",
)

mad24 = Ternary(
    "mad24",
    "Multiply the low 24 bits of two values and add a third.",
)

addc = Binary(
    "addc",
    "Add with the carry flag (CC.CF); `cc=True` also writes the flag.",
)

subc = Binary(
    "subc",
    "Subtract with the borrow flag (CC.CF); `cc=True` also writes the flag.",
)

madc = Ternary(
    "madc",
    "Multiply and add with the carry flag (CC.CF); `cc=True` also writes the flag.",
)


clmad = Ternary(
    "clmad",
    "Carry-less multiply and add (of polynomials over GF(2)): the low half of the product unless `mode` is `hi`.",
)


class MultiplyAdd(Wrapper):
    """`ptx.mad`: multiply and add into a given register, or into a register that the call declares."""

    @overload
    def __call__(
        self,
        dtype: PtxType,
        dst: Reg,
        a: object,
        b: object,
        c: object,
        /,
        *,
        pred: Reg | None = None,
        **modifiers: Unpack[Modifiers],
    ) -> Reg: ...

    @overload
    def __call__(
        self, a: object, b: object, c: object, /, *, pred: Reg | None = None, **modifiers: Unpack[Modifiers]
    ) -> Reg: ...

    def __call__(self, *args: object, pred: Reg | None = None, **modifiers: Unpack[Modifiers]) -> Reg:
        """Multiply and add: `d = a * b + c`, by one instruction; return `d`.

        `ptx.mad(type, d, a, b, c)` emits `mad.mode.type` for integers (`mode` is `lo`, `hi` or `wide`; default `lo`)
        and `mad.rn.type` for f32 and f64. `ptx.mad(a, b, c)` declares the result: its type is that of the first
        register among `a` and `b`. With `mode="wide"` the result and `c` are twice as wide. For floats it emits
        `fma.rn`.
        """
        if len(args) == 5:
            dtype, dst, a, b, c = args
            checked = ptx_type(dtype, "ptx.mad")
            if isinstance(dst, bool | int | float):
                raise OperandError(
                    f"ptx.mad needs a destination register, got {dst!r}", help="write ptx.mad(u32, d, a, b, c)"
                )
            self._emit(checked, (dst, a, b, c), modifiers, pred)
            return cast("Reg", dst)
        if len(args) != 3:
            raise OperandError(
                f"ptx.mad takes (type, d, a, b, c) or (a, b, c), got {len(args)} values",
                help="write ptx.mad(u32, d, a, b, c)",
            )
        return self._expression(args, pred, modifiers)

    def _expression(self, args: tuple[object, ...], pred: Reg | None, modifiers: Modifiers) -> Reg:
        factor = next((value for value in args[:2] if isinstance(value, Reg)), None)
        if factor is None:
            raise OperandError("ptx.mad(a, b, c) needs a register as a or b", help="write ptx.mad(u32, d, a, b, c)")
        trace = active("ptx.mad")
        dtype = factor.dtype
        a, b, c = args
        if not dtype.is_integer:
            return fma(dtype, trace.fresh(dtype), a, b, c, pred=pred, **modifiers)
        letter = "s" if dtype.kind == "signed" else "u"
        wide = modifiers.get("mode") == "wide"
        result = trace.fresh(from_name(f"{letter}{dtype.bits * 2 if wide else dtype.bits}"))
        self._emit(from_name(f"{letter}{dtype.bits}"), (result, a, b, c), modifiers, pred)
        return result


mad = MultiplyAdd("mad", "Multiply and add: `d = a * b + c`; integers: the low half unless `mode` is `hi` or `wide`.")


_DP4A = InstructionForms("ptx.dp4a", "dp4a")
_DP2A = InstructionForms("ptx.dp2a", "dp2a")


def dp4a(atype: PtxType, btype: PtxType, dst: Reg, a: object, b: object, c: object, *, pred: Reg | None = None) -> Reg:
    """Emit `dp4a.atype.btype d, a, b, c;`: the dot product of four bytes, plus `c`; types are u32 and s32. Return `d`.

    Manual: "Integer Arithmetic Instructions: dp4a".
    """
    active("ptx.dp4a").emit(_DP4A.words((atype, btype)), (dst, a, b, c), pred)
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
    """Emit `dp2a.mode.atype.btype d, a, b, c;`: two 16-bit values of `a` times two bytes of `b`, plus `c`. Return `d`.

    `mode` selects the low or the high two bytes; types are u32 and s32.

    Manual: "Integer Arithmetic Instructions: dp2a".
    """
    active("ptx.dp2a").emit(_DP2A.words((atype, btype), mode=mode), (dst, a, b, c), pred)
    return dst
