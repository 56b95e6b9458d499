"""`mov` and `cvt`: moving bits, and converting numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.compare import literal
from pyptx_dsl.instructions.wrapper import choice, ptx_type
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.types import PtxType

__all__ = ["cvt", "cvt_pack", "mov"]

_ROUNDINGS = ("rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "rna", "rs")
_SMALL = frozenset(
    {"e4m3x2", "e5m2x2", "e2m1x2", "e2m3x2", "e3m2x2", "e4m3x4", "e5m2x4", "e2m1x4", "e2m3x4", "e3m2x4", "tf32"}
)


def mov(dtype: PtxType, dst: object, src: object, *, pred: Reg | None = None) -> object:
    """Emit `mov.type d, src;` and return `d`.

    `src` is a register, a number (spelt exactly for the type), a symbol (its address), or a list of registers to
    pack; `d` may be a list to unpack into. 16-bit floats and packed types move as bits: `ptx.mov(bf16, …)` is
    `mov.b16`. Manual: "Data Movement and Conversion Instructions: mov".
    """
    checked = ptx_type(dtype, "ptx.mov")
    active("ptx.mov").emit(("mov", checked.move or checked.name), (dst, literal(checked, src)), pred)
    return dst


def cvt(
    dst_type: PtxType,
    src_type: PtxType,
    dst: Reg,
    src: object,
    second: object | None = None,
    *,
    rounding: str | None = None,
    ftz: bool = False,
    sat: bool = False,
    relu: bool = False,
    satfinite: bool = False,
    random_bits: object | None = None,
    pred: Reg | None = None,
) -> Reg:
    """Emit `cvt{.rounding}{.ftz}{.sat}{.relu}{.satfinite}.dst_type.src_type d, a{, b}{, random_bits};` and return `d`.

    `rounding` is `rn rz rm rp` between floats, `rni rzi rmi rpi` to integers, `rna` for tf32, `rs` with
    `random_bits`. For packed results from f32, `src` goes to the high half and `second` to the low one; for four
    packed results `src` is a list of four. Which conversions need a rounding, and which must not have one, is the
    table's to say (InstructionUseError). Manual: "Data Movement and Conversion Instructions: cvt".
    """
    to, source = ptx_type(dst_type, "ptx.cvt"), ptx_type(src_type, "ptx.cvt")
    if (rounding == "rs") != (random_bits is not None):
        raise OperandError('ptx.cvt: rounding="rs" and random_bits go together', hint="pass both or neither")
    words = ["cvt"]
    if rounding is not None:
        words.append(choice("rounding", rounding, _ROUNDINGS))
    words += [word for word, asked in (("ftz", ftz), ("sat", sat)) if asked]
    tail = [word for word, asked in (("relu", relu), ("satfinite", satfinite)) if asked]
    # The manual writes them in this order for the floats of 16 bits and in the other for all smaller ones.
    words += tail[::-1] if to.name in _SMALL and rounding != "rs" else tail
    operands = [dst, src, *(value for value in (second, random_bits) if value is not None)]
    active("ptx.cvt").emit((*words, to.name, source.name), operands, pred)
    return dst


def cvt_pack(
    convert_type: PtxType,
    ab_type: PtxType,
    dst: Reg,
    a: object,
    b: object,
    c: object | None = None,
    *,
    pred: Reg | None = None,
) -> Reg:
    """Emit `cvt.pack.sat.convert_type.ab_type{.b32} d, a, b{, c};` and return `d`.

    `a` and `b` are saturated to `convert_type` and packed, `a` above `b`; types of 8 bits and fewer shift `c` up and
    go below it. Manual: "Data Movement and Conversion Instructions: cvt.pack".
    """
    words = ("cvt", "pack", "sat", ptx_type(convert_type, "ptx.cvt_pack").name, ptx_type(ab_type, "ptx.cvt_pack").name)
    if c is None:
        active("ptx.cvt_pack").emit(words, (dst, a, b), pred)
    else:
        active("ptx.cvt_pack").emit((*words, "b32"), (dst, a, b, c), pred)
    return dst
