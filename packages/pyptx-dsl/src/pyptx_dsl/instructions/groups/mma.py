"""`ptx.mma.sync`, `ptx.mma.sp.sync`: warp-level MMA.

Manual: "Matrix multiply-accumulate operation using mma instruction", "… mma.sp instruction with sparse matrix A".
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms, ptx_type
from pyptx_dsl.instructions.groups.fragments import Fragment, held, limits_of, shape_name, shares_of
from pyptx_dsl.registers.operands import lower
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.trace_context import active
from pyptx_ir.fragments import fragment_of
from pyptx_ir.isa.limits import constant_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_dsl.instructions.forms.row_forms import RowForm
    from pyptx_dsl.types import PtxType
    from pyptx_ir.fragments import Fragment as Layout
    from pyptx_ir.fragments.mma import Operand

__all__ = ["Fragment", "Mma", "SparseMma", "mma"]


_DENSE = InstructionForms("ptx.mma.sync", "mma.sync.aligned")
_SPARSE = InstructionForms("ptx.mma.sp.sync", "mma.sp.sync.aligned")
_ORDERED = InstructionForms("ptx.mma.sp.sync", "mma.sp::ordered_metadata.sync.aligned")
Scale: TypeAlias = "Reg | tuple[Reg, Sequence[object]]"
"""Scale factors of a matrix: a register, optionally with the selected byte and lane."""

_MATRICES: tuple[Operand, ...] = ("d", "a", "b", "c")


def _held(
    words: tuple[str, ...],
    form: RowForm,
    values: tuple[Fragment, Fragment, Fragment, Fragment],
    layout: Callable[[Operand], Layout] | None,
) -> list[object]:
    """Return the register lists of the matrices d, a, b and c; raise OperandError for a wrong number or type."""
    shares = shares_of(form, words)
    return [held(name, value, shares[name], layout) for name, value in zip(_MATRICES, values, strict=True)]


def _types(what: str, *dtypes: PtxType | None) -> tuple[PtxType, ...]:
    return tuple([ptx_type(dtype, what) for dtype in dtypes if dtype is not None])


class SparseMma:
    """MMA with a sparse operand A, of which only half of the elements are stored; each call emits one instruction."""

    @emits(metadata="e", selector="f", scale_a="scale_a,byte_a", scale_b="scale_b,byte_b")
    def sync(
        self,
        *,
        shape: Sequence[int],
        dtype_d: PtxType,
        dtype_a: PtxType,
        dtype_b: PtxType,
        dtype_c: PtxType,
        d: Fragment,
        a: Fragment,
        b: Fragment,
        c: Fragment,
        metadata: Reg,
        selector: int = 0,
        ordered: bool = True,
        satfinite: bool = False,
        kind: str | None = None,
        scale_vec: str | None = None,
        dtype_scale: PtxType | None = None,
        scale_a: Scale | None = None,
        scale_b: Scale | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `mma.sp{::ordered_metadata}.sync.aligned.mMnNkK.row.col… {d…}, {a…}, {b…}, {c…}, metadata, selector;`.

        K counts all elements of a row of A, including zeros; `a` contains half of them. `metadata`, a 32-bit register,
        contains their indices; in each group of four lanes, lane `selector` (and its neighbors) supplies it: see the
        method `metadata`. `ordered`: the indices of a chunk increase from the low bits up, as packing produces them;
        sm_90 and later are fast only with these (PTX 8.5).

        | types a, b → d, c | shapes (registers of d, a, b; selectors) |
        |---|---|
        | f16 → f16 or f32, bf16 → f32 | m16n8k16 (f32: 4, 2, 2; 4), m16n8k32 (f32: 4, 4, 4; 2) |
        | tf32 → f32 | m16n8k8 (4, 2, 2; 4), m16n8k16 (4, 4, 4; 2) |
        | s8, u8 → s32 | m16n8k32 (4, 2, 2; 2), m16n8k64 (4, 4, 4; 1) |
        | s4, u4 → s32 | m16n8k64 (4, 2, 2; 2), m16n8k128 (4, 4, 4; 1) |
        | e4m3, e5m2 → f32 (sm_89) | m16n8k64 (4, 4, 4; 1) |

        `kind` and the scale factors are those of `ptx.mma.sync`, with twice the K.

        Raise OperandError for a nonexistent form, InstructionUseError for a target or PTX version that lacks the form.
        """
        types = _types("ptx.mma.sp.sync", dtype_d, dtype_a, dtype_b, dtype_c, dtype_scale)
        shared = _modifiers(shape, kind, scale_vec, scale_a)
        words, form = (_ORDERED if ordered else _SPARSE).chosen(types, satfinite=satfinite, **shared)
        known = limits_of(form, "f")
        number = constant_value(lower(selector, active("ptx.mma.sp.sync")))
        if isinstance(selector, bool) or number not in range(known[-1] + 1):
            what = f"mma.sp {shape_name(shape)} of {types[1]}"
            raise OperandError(f"selector must be 0 to {known[-1]} for {what}, got {selector!r}")
        layout = None if kind else partial(_sparse_layout, shape_name(shape), types)
        fragments = _held(words, form, (d, a, b, c), layout)
        scales = (*_scaled(scale_a), *_scaled(scale_b))
        active("ptx.mma.sp.sync").emit(words, [*fragments, metadata, selector, *scales], pred)

    def fragment(self, *, shape: Sequence[int], dtype: PtxType) -> Layout:
        """Return the fragment layout of the stored elements of a sparse A, K / 2 per row. Emits nothing."""
        return fragment_of("mma.sp", shape_name(shape), "a", ptx_type(dtype, "ptx.mma.sp.fragment").name)

    def metadata(self, *, shape: Sequence[int], dtype: PtxType) -> Layout:
        """Return the fragment layout of the two-bit sparsity metadata fields, for selector 0. Emits nothing."""
        return fragment_of("mma.sp", shape_name(shape), "e", ptx_type(dtype, "ptx.mma.sp.metadata").name)


class Mma:
    """Warp-level MMA; each call emits one instruction."""

    sp = SparseMma()

    def fragment(self, *, shape: Sequence[int], operand: Operand, dtype: PtxType, layout: str = "") -> Layout:
        """Return the layout of an operand (`a`, `b`, `c`, `d`): the lane and register of each element. Emits nothing.

        `fragment.row(lane, i)` and `.column(lane, i)` take a lane as a number, or as a register, for which they emit
        the instructions that compute it; `print(fragment)` draws the table. `layout` is for a and b of m8n8k4 with f16.
        """
        return fragment_of("mma", shape_name(shape), operand, ptx_type(dtype, "ptx.mma.fragment").name, layout)

    @emits(scale_a="scale_a,byte_a", scale_b="scale_b,byte_b")
    def sync(
        self,
        *,
        shape: Sequence[int],
        dtype_d: PtxType,
        dtype_a: PtxType,
        dtype_b: PtxType,
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
        kind: str | None = None,
        scale_vec: str | None = None,
        dtype_scale: PtxType | None = None,
        scale_a: Scale | None = None,
        scale_b: Scale | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `mma.sync.aligned.mMnNkK.row.col{.satfinite}.d.a.b.c{.bit_op.popc} {d…}, {a…}, {b…}, {c…};`: d = ab + c.

        All lanes of the warp participate. `shape` is (M, N, K). Registers per thread, with f16, bf16, fp8, s8 and s4
        packed into 32 bits:

        | types a, b → d, c | shapes (registers of d, a, b) |
        |---|---|
        | f16 → f16 or f32 | m16n8k8 (f32: 4, 2, 1; f16: 2, 2, 1), m16n8k16 (f32: 4, 4, 2; f16: 2, 4, 2), m8n8k4 |
        | bf16 → f32 | m16n8k8 (4, 2, 1), m16n8k16 (4, 4, 2) |
        | tf32 → f32 | m16n8k4 (4, 2, 1), m16n8k8 (4, 4, 2) |
        | e4m3, e5m2 → f32 or f16 (sm_89) | m16n8k16 (4, 2, 1), m16n8k32 (4, 4, 2); with f16 half of d |
        | f64 → f64 | m8n8k4 (2, 1, 1); from sm_90 m16n8k4, m16n8k8, m16n8k16 |
        | s8, u8 → s32 | m8n8k16 (2, 1, 1), m16n8k16 (4, 2, 1), m16n8k32 (4, 4, 2) |
        | s4, u4 → s32 | m8n8k32 (2, 1, 1), m16n8k32 (4, 2, 1), m16n8k64 (4, 4, 2) |
        | b1 → s32, `bit_op="xor"` or `"and"` | m8n8k128 (2, 1, 1), m16n8k128 (4, 2, 1), m16n8k256 (4, 4, 2) |

        `satfinite` saturates integer accumulators; `rounding` (`rn`, `rz`, `rm`, `rp`) is for f64.

        On sm_120a, `kind="f8f6f4"` multiplies any two of e4m3, e5m2, e3m2, e2m3 and e2m1, each in a byte (m16n8k32).
        `mxf8f6f4` (m16n8k32), `mxf4` and `mxf4nvf4` (m16n8k64, eight e2m1 per register) apply scale factors to blocks
        of a and b. `scale_a` and `scale_b` are registers (b32) with scale factors of `dtype_scale` (ue8m0, ue4m3).
        `(register, (byte, lane))` selects a byte and a lane of each group of four. `scale_vec` (`1X`, `2X`, `4X`) is
        the number of scale factors per row.

        Raise OperandError for a shape, type, layout or number of registers that does not exist, InstructionUseError for
        a target or PTX version without the form.
        """
        types = _types("ptx.mma.sync", dtype_d, dtype_a, dtype_b, dtype_c, dtype_scale)
        shared = {**_modifiers(shape, kind, scale_vec, scale_a), "satfinite": satfinite, "bit_op": bit_op}
        words, form = _DENSE.chosen(types, a_layout=a_layout, b_layout=b_layout, rounding=rounding, **shared)
        orders = {"a": a_layout, "b": b_layout} if len(form.choices("a_layout")) > 1 else {}
        layout = None if kind else partial(_dense_layout, shape_name(shape), types, orders)
        fragments = _held(words, form, (d, a, b, c), layout)
        active("ptx.mma.sync").emit(words, [*fragments, *_scaled(scale_a), *_scaled(scale_b)], pred)


def _modifiers(
    shape: Sequence[int], kind: str | None, scale_vec: str | None, scale: Scale | None
) -> dict[str, str | bool | None]:
    """Return the keywords of the modifiers common to dense and sparse `mma`."""
    return {"shape": shape_name(shape), "kind": kind, "scale_vec": scale_vec, "block_scale": scale is not None}


def _scaled(scale: Scale | None) -> tuple[object, ...]:
    """Return the operands for scale factors: the register, and the selectors of its byte and lane; () for None."""
    if scale is None:
        return ()
    register, selector = (scale, (0, 0)) if isinstance(scale, Reg) else scale
    return (register, list(selector))


def _dense_layout(shape: str, types: Sequence[PtxType], orders: Mapping[str, str], which: Operand) -> Layout:
    """Return the fragment layout of a dense MMA operand; `orders` has `row` or `col` for a and b if both are valid."""
    return fragment_of("mma", shape, which, types[_MATRICES.index(which)].name, orders.get(which, ""))


def _sparse_layout(shape: str, types: Sequence[PtxType], which: Operand) -> Layout:
    """Return the fragment layout of an operand of a sparse MMA; for a, that of the stored half of its elements."""
    return fragment_of("mma.sp", shape, which, types[_MATRICES.index(which)].name)


mma = Mma()
