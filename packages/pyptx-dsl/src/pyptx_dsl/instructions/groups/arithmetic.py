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

add = Binary("add")

sub = Binary("sub")

mul = Binary("mul")

fma = Ternary("fma")

div = Binary("div")

rem = Binary("rem")

abs_ = Unary("abs")

neg = Unary("neg")

min_ = BinaryOrTernary("min")

max_ = BinaryOrTernary("max")

sad = Ternary("sad")

mul24 = Binary("mul24")

mad24 = Ternary("mad24")

addc = Binary("addc")

subc = Binary("subc")

madc = Ternary("madc")


clmad = Ternary("clmad")


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


mad = MultiplyAdd("mad")


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
