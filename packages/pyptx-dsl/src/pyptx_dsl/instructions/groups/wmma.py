"""`ptx.wmma`: warp-level MMA with opaque fragments, which only `ptx.wmma.load` can load.

Manual: "Matrix multiply-accumulate operation using wmma instructions".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms, ptx_type
from pyptx_dsl.instructions.groups.fragments import held, shape_name, shares_of
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import f16
from pyptx_ir.fragments import fragment_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_dsl.instructions.groups.fragments import Fragment
    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.types import PtxType
    from pyptx_ir.fragments import Fragment as Layout

__all__ = ["Wmma", "wmma"]

Which: TypeAlias = Literal["a", "b", "c", "d"]
_LOAD = InstructionForms("ptx.wmma.load", "wmma.load")
_STORE = InstructionForms("ptx.wmma.store", "wmma.store")
_MMA = InstructionForms("ptx.wmma.mma", "wmma.mma")


class Wmma:
    """Loads, MMAs and stores of opaque fragments; each call emits one instruction."""

    def load(
        self,
        which: Which,
        *,
        shape: Sequence[int],
        dtype: PtxType,
        dst: Fragment,
        src: object,
        layout: str = "row",
        stride: Reg | int | None = None,
        space: str | None = "shared",
        aligned: bool = True,
        pred: Reg | None = None,
    ) -> None:
        """Emit `wmma.load.which.sync.aligned.layout.shape{.space}.type {dst…}, [src]{, stride};`.

        `which` is `a`, `b` or `c`. `stride` is the number of elements from row to row (`layout` `row`) or from column
        to column (`col`); by default, they are contiguous. `space` is `shared`, `shared::cta`, `global`, or None for a
        generic address. All lanes must pass the same address and stride. `aligned=False` is the older form, for f16
        only. Raise OperandError for an unsupported matrix, or for wrong registers.
        """
        words, registers = _moved(_LOAD, which, shape, dtype, dst, layout=layout, space=space, aligned=aligned)
        more = () if stride is None else (stride,)
        active("ptx.wmma.load").emit(words, (registers, as_address(src), *more), pred)

    def store(
        self,
        *,
        shape: Sequence[int],
        dtype: PtxType,
        dst: object,
        src: Fragment,
        layout: str = "row",
        stride: Reg | int | None = None,
        space: str | None = "shared",
        aligned: bool = True,
        pred: Reg | None = None,
    ) -> None:
        """Emit `wmma.store.d.sync.aligned.layout.shape{.space}.type [dst], {src…}{, stride};`.

        The keywords are those of `ptx.wmma.load`.
        """
        words, registers = _moved(_STORE, "d", shape, dtype, src, layout=layout, space=space, aligned=aligned)
        more = () if stride is None else (stride,)
        active("ptx.wmma.store").emit(words, (as_address(dst), registers, *more), pred)

    def mma(
        self,
        *,
        shape: Sequence[int],
        dtype_d: PtxType,
        dtype_a: PtxType,
        dtype_c: PtxType,
        d: Fragment,
        a: Fragment,
        b: Fragment,
        c: Fragment,
        a_layout: str = "row",
        b_layout: str = "col",
        satfinite: bool = False,
        bit_op: str | None = None,
        rounding: str | None = None,
        aligned: bool = True,
        pred: Reg | None = None,
    ) -> None:
        """Emit `wmma.mma{.bit_op.popc}.sync.aligned.alayout.blayout.shape… {d…}, {a…}, {b…}, {c…};`: d = ab + c.

        `dtype_a` is also the type of b, and the layouts are those of the loads. Registers per thread:

        | types a → d, c | shapes (registers of d, a, b) |
        |---|---|
        | f16 → f16 or f32 | m16n16k16, m8n32k16, m32n8k16 (f32: 8, 8, 8; f16: 4, 8, 8) |
        | bf16 → f32 | m16n16k16 (8, 4, 4), m8n32k16 (8, 2, 8), m32n8k16 (8, 8, 2) |
        | tf32 → f32 | m16n16k8 (8, 4, 4) |
        | f64 → f64, `rounding` | m8n8k4 (2, 1, 1) |
        | s8, u8 → s32, `satfinite` | m16n16k16 (8, 2, 2), m8n32k16 (8, 1, 4), m32n8k16 (8, 4, 1) |
        | s4, u4 → s32, `satfinite` | m8n8k32 (2, 1, 1) |
        | b1 → s32, `bit_op` `xor` or `and` | m8n8k128 (2, 1, 1) |

        Raise OperandError for unsupported matrices or wrong registers, InstructionUseError for a target or PTX version
        without them.
        """
        kinds = {"d": dtype_d, "a": dtype_a, "b": dtype_a, "c": dtype_c}
        elements = {which: ptx_type(kind, "ptx.wmma.mma") for which, kind in kinds.items()}
        types = (elements["d"], elements["c"]) if elements["a"] is f16 else tuple([elements[each] for each in "dabc"])
        modifiers: dict[str, str | bool | None] = {"shape": shape_name(shape), "aligned": aligned}
        modifiers |= {"a_layout": a_layout, "b_layout": b_layout, "satfinite": satfinite}
        modifiers |= {"bit_op": bit_op, "rounding": rounding}
        words, form = _MMA.chosen(types, **modifiers)
        _refuse_unaligned(words, aligned=aligned)
        shares = shares_of(form, words)
        values: dict[Which, Fragment] = {"d": d, "a": a, "b": b, "c": c}
        registers = [held(which, value, shares[which]) for which, value in values.items()]
        active("ptx.wmma.mma").emit(words, registers, pred)

    def fragment(self, *, shape: Sequence[int], operand: Which, dtype: PtxType) -> Layout:
        """Return the simulator's fragment layout of a matrix; the manual documents none. Emits nothing."""
        return fragment_of("wmma", shape_name(shape), operand, ptx_type(dtype, "ptx.wmma.fragment").name)


def _moved(
    instruction: InstructionForms,
    which: Which,
    shape: Sequence[int],
    dtype: PtxType,
    value: Fragment,
    **modifiers: str | bool | None,
) -> tuple[tuple[str, ...], list[object]]:
    """Return the opcode of a `wmma` load or store, and the registers; raise OperandError for an unsupported matrix."""
    modifiers |= {"which": which, "shape": shape_name(shape)}
    words, form = instruction.chosen(dtype, **modifiers)
    _refuse_unaligned(words, aligned=bool(modifiers["aligned"]))
    share = shares_of(form, words)["r"]
    return words, held("dst" if instruction is _LOAD else "src", value, share)


def _refuse_unaligned(words: tuple[str, ...], *, aligned: bool) -> None:
    """Raise OperandError for `aligned=False` if the form requires `.aligned`."""
    if not aligned and "aligned" in words:
        raise OperandError(f"{'.'.join(words)} requires .aligned", help="leave aligned= out")


wmma = Wmma()
