"""Comparison and selection instructions: `setp`, `set`, `selp`, `slct`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms, choice, ptx_type
from pyptx_dsl.registers import operators
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import from_name
from pyptx_ir.plugins.caches import until_plugins_change

if TYPE_CHECKING:
    from pyptx_dsl.registers.operands import PipeRef
    from pyptx_dsl.types import PtxType

__all__ = ["literal", "selp", "set_", "setp", "slct"]


def setp(
    cmp_op: str,
    dtype: PtxType,
    pred_out: Reg | PipeRef,
    a: object,
    b: object,
    *,
    combine: str | None = None,
    c: Reg | None = None,
    ftz: bool = False,
    pred: Reg | None = None,
    pred_negate: Reg | None = None,
) -> Reg | PipeRef:
    """Emit `setp.cmp{.combine}{.ftz}.type p, a, b{, c};` and return `p`.

    `cmp_op` is `eq ne lt le gt ge`, for unsigned integers also `lo ls hi hs`, for floats also `num nan` and `equ neu
    ltu leu gtu geu`, which are true if an operand is NaN. `pred_out` is a predicate, or `reg.PipeRef(p, q)`, where `q`
    gets the result of the opposite comparison. With `combine` (`and`, `or`, `xor`) the result is combined with the
    predicate `c` (or `~c`). `pred_negate` is an older name of `pred`. Manual: "Comparison and Selection Instructions:
    setp".
    """
    if pred is not None and pred_negate is not None:
        raise OperandError("ptx.setp: got two guards, pred and pred_negate", help="pass pred= alone")
    if (combine is None) != (c is None):
        raise OperandError("ptx.setp: combine and c must be passed together", help='write combine="and", c=other')
    words = _words("setp", cmp_op, combine, ftz, ptx_type(dtype, "ptx.setp").name)
    operands = (pred_out, a, b) if c is None else (pred_out, a, b, c)
    active("ptx.setp").emit(words, operands, pred if pred is not None else pred_negate)
    return pred_out


def set_(
    cmp_op: str,
    dtype: PtxType,
    stype: PtxType | None,
    dst: Reg,
    a: object,
    b: object,
    *,
    combine: str | None = None,
    c: Reg | None = None,
    ftz: bool = False,
    pred: Reg | None = None,
) -> Reg:
    """Emit `set.cmp{.combine}{.ftz}.dtype.stype d, a, b{, c};` and return `d`.

    If the comparison in `stype` is true, `d` is all ones (u32, s32) or 1.0 (floats); else 0. Packed integers have one
    type, `set.cmp.u8x4`: `stype` is None. Manual: "Comparison and Selection Instructions: set", "Half Precision
    Comparison Instructions: set".
    """
    if (combine is None) != (c is None):
        raise OperandError("ptx.set_: combine and c must be passed together", help='write combine="and", c=other')
    types = tuple([ptx_type(each, "ptx.set_").name for each in (dtype, stype) if each is not None])
    words = _words("set", cmp_op, combine, ftz, *types)
    active("ptx.set_").emit(words, (dst, a, b) if c is None else (dst, a, b, c), pred)
    return dst


@until_plugins_change(maxsize=4096)
def _words(opcode: str, cmp_op: str, combine: str | None, ftz: bool, *types: str) -> tuple[str, ...]:  # noqa: FBT001  a key of the cache
    """Return the opcode of `setp` or `set`; raise OperandError for an unsupported `cmp_op` or `combine`."""
    from pyptx_dsl.instructions.forms.row_forms import choices_of

    compared = choice("cmp_op", cmp_op, choices_of(opcode, "cmp_op"))
    combined = () if combine is None else (choice("combine", combine, choices_of(opcode, "combine")),)
    return (opcode, compared, *combined, *(("ftz",) if ftz else ()), *types)


def selp(
    dtype: PtxType, dst: Reg, true_val: object, false_val: object, pred_reg: Reg, *, pred: Reg | None = None
) -> Reg:
    """Emit `selp.type d, true_val, false_val, p;` and return `d`: `true_val` where `p` is true, else `false_val`.

    16-bit floats and packed types are selected as untyped bits. `pred_reg` must be a predicate that is not negated.
    Manual: "Comparison and Selection Instructions: selp".
    """
    checked = ptx_type(dtype, "ptx.selp")
    operands = (dst, literal(checked, true_val), literal(checked, false_val), pred_reg)
    active("ptx.selp").emit(("selp", checked.move or checked.name), operands, pred)
    return dst


_SLCT = InstructionForms("ptx.slct", "slct")


def slct(
    dtype: PtxType,
    ctype: PtxType,
    dst: Reg,
    a: object,
    b: object,
    c: object,
    *,
    ftz: bool = False,
    pred: Reg | None = None,
) -> Reg:
    """Emit `slct{.ftz}.dtype.ctype d, a, b, c;` and return `d`: `a` where `c >= 0`, else `b`; `ctype` is s32 or f32.

    Manual: "Comparison and Selection Instructions: slct".
    """
    first = ptx_type(dtype, "ptx.slct")
    words = _SLCT.words((from_name(first.move or first.name), ctype), ftz=ftz)
    active("ptx.slct").emit(words, (dst, literal(first, a), literal(first, b), c), pred)
    return dst


def literal(dtype: PtxType, value: object) -> object:
    """Return the literal of type `dtype` for a number, and any other value, such as a register, unchanged."""
    if isinstance(value, bool | int | float) or (hasattr(type(value), "__index__") and not isinstance(value, Reg)):
        return operators.immediate(dtype, value)
    return value
