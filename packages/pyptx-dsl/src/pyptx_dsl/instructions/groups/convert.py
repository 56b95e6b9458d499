"""`ptx.mov` moves bits; `ptx.cvt` and `ptx.cvt_pack` convert numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.forms.instruction_forms import choice, ptx_type
from pyptx_dsl.instructions.groups.compare import literal
from pyptx_dsl.trace_context import active
from pyptx_ir.plugins.caches import until_plugins_change

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.types import PtxType

__all__ = ["cvt", "cvt_pack", "mov"]


def mov(dtype: PtxType, dst: object, src: object, *, pred: Reg | None = None) -> object:
    """Emit `mov.type d, src;` and return `d`.

    `src` is a register, a number (emitted exactly in the type), a symbol (its address), or a list of registers to pack.
    `d` may be a list to unpack into. With two lists of 2 or 4 registers, the elements are moved (`mov.v2`). 16-bit
    floats and packed types are moved as untyped bits: `ptx.mov(bf16, …)` is `mov.b16`.

    Manual: "Data Movement and Conversion Instructions: mov".
    """
    checked = ptx_type(dtype, "ptx.mov")
    word = checked.move or checked.name
    count = _length(dst) if _length(src) else 0
    words = ("mov", f"v{count}", word) if count else ("mov", word)
    active("ptx.mov").emit(words, (dst, literal(checked, src)), pred)
    return dst


def _length(value: object) -> int:
    """Return the number of elements of a list; 0 for anything else."""
    return len(cast("list[object]", value)) if isinstance(value, list) else 0


@emits(random_bits="rbits")
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
    pzo: bool = False,
    scale: object | None = None,
    random_bits: object | None = None,
    pred: Reg | None = None,
) -> Reg:
    """Emit `cvt{.rounding}{.ftz}{.sat}{.relu}….dst_type.src_type d, a{, b}{, scale}{, random_bits};` and return `d`.

    `rounding` is `rn rz rm rp` between floats, `rni rzi rmi rpi` to integers, `rna` for tf32, `rs` with `random_bits`.
    For packed results from f32, `src` goes to the high half and `second` to the low one; for four packed results `src`
    is a list of four. `scale` is one ue8m0 scale factor (a power of 2), or two of them, for packed values (PTX 9.1).
    `pzo` makes zeros positive (PTX 9.4). The instruction table determines which conversions require or forbid a
    rounding (InstructionUseError). Manual: "Data Movement and Conversion Instructions: cvt".
    """
    to, source = ptx_type(dst_type, "ptx.cvt"), ptx_type(src_type, "ptx.cvt")
    if (rounding == "rs") != (random_bits is not None):
        raise OperandError(
            'ptx.cvt: rounding="rs" and random_bits must be passed together', help='pass rounding="rs", random_bits=…'
        )
    asked = {"ftz": ftz, "sat": sat, "relu": relu, "satfinite": satfinite, "pzo": pzo}
    flags = tuple([word for word, wanted in asked.items() if wanted])
    words = _words(to.name, source.name, rounding, flags, scale is not None)
    operands = [dst, src, *(value for value in (second, scale, random_bits) if value is not None)]
    active("ptx.cvt").emit(words, operands, pred)
    return dst


@until_plugins_change(maxsize=4096)
def _words(
    to: str,
    source: str,
    rounding: str | None,
    flags: tuple[str, ...],
    scaled: bool,  # noqa: FBT001  a key of the cache
) -> tuple[str, ...]:
    """Return the opcode, its modifiers in the order of an instruction table row; unchanged if no row has them all."""
    from pyptx_dsl.instructions.forms.row_forms import choices_of, in_order

    rounded = () if rounding is None else (choice("rounding", rounding, choices_of("cvt", "rounding")),)
    scales = [(word,) for word in choices_of("cvt", "scaled")] if scaled else [()]
    spelt = [("cvt", *rounded, *flags, *scale, to, source) for scale in scales]
    return next((words for words in map(in_order, spelt) if words is not None), spelt[0])


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

    `a` and `b` are saturated to `convert_type` and packed, `a` in the higher bits. For types of 8 bits or fewer, the
    pair occupies the low bits of `d`, and the low bits of `c` those above. Manual: "Data Movement and Conversion
    Instructions: cvt.pack".
    """
    words = ("cvt", "pack", "sat", ptx_type(convert_type, "ptx.cvt_pack").name, ptx_type(ab_type, "ptx.cvt_pack").name)
    if c is None:
        active("ptx.cvt_pack").emit(words, (dst, a, b), pred)
    else:
        active("ptx.cvt_pack").emit((*words, "b32"), (dst, a, b, c), pred)
    return dst
