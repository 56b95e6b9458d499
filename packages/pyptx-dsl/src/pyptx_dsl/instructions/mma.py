"""`ptx.mma.sync`, `ptx.mma.sp.sync`: the tensor cores of a warp.

Manual: "Matrix multiply-accumulate operation using mma instruction", "… mma.sp instruction with sparse matrix A".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.fragments import Fragment, held, shape_name
from pyptx_dsl.instructions.spelling import choice, ptx_type
from pyptx_dsl.trace_context import active
from pyptx_ir.fragments import metadata_fragment, mma_fragment, sparse_fragment
from pyptx_ir.isa.table.mma import PRODUCTS
from pyptx_ir.isa.table.mma_sparse import PRODUCTS as SPARSE
from pyptx_ir.isa.table.type_sets import ROUNDINGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.types import PtxType
    from pyptx_ir.fragments import Fragment as Layout
    from pyptx_ir.fragments.mma import Operand

__all__ = ["Fragment", "Mma", "SparseMma", "mma"]


@dataclass(frozen=True, slots=True)
class MmaForm:
    """One shape of mma.sync with its types, and the registers that a thread holds of d, a, b and c."""

    shape: str
    types: tuple[str, str, str, str]
    counts: tuple[int, int, int, int]
    saturates: bool = False
    bitwise: bool = False
    any_layout: bool = False
    rounds: bool = False
    selectors: int = 0


MmaForms: TypeAlias = "Mapping[tuple[str, tuple[str, ...]], MmaForm]"
"""The forms of an instruction by shape and types."""


@lru_cache(maxsize=1)
def _forms() -> MmaForms:
    return {(form.shape, form.types): form for form in _all_forms()}


def _all_forms() -> Iterator[MmaForm]:
    """Yield the forms of the instruction table."""
    for entry in PRODUCTS:
        for shape in entry.shapes:
            for types in entry.types():
                yield MmaForm(
                    shape,
                    types,
                    entry.registers(shape, types),
                    entry.saturates,
                    bool(entry.operation),
                    entry.any_layout,
                    entry.rounds,
                )


@lru_cache(maxsize=1)
def _sparse_forms() -> MmaForms:
    return {(form.shape, form.types): form for form in _all_sparse_forms()}


def _all_sparse_forms() -> Iterator[MmaForm]:
    for entry in SPARSE:
        for a, b in product(entry.a, entry.a):
            parts = (
                mma_fragment(entry.shape, "d", entry.d),
                sparse_fragment(entry.shape, a),
                mma_fragment(entry.shape, "b", b),
            )
            d, a_count, b_count = (part.registers for part in parts)
            types, counts = (entry.d, a, b, entry.d), (d, a_count, b_count, d)
            yield MmaForm(entry.shape, types, counts, entry.saturates, selectors=entry.selector + 1)


class SparseMma:
    """Products with a sparse first matrix, of which every second element is stored; each call emits one instruction."""

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
        pred: Reg | None = None,
    ) -> None:
        """Emit `mma.sp{::ordered_metadata}.sync.aligned.mMnNkK.row.col… {d…}, {a…}, {b…}, {c…}, metadata, selector;`.

        K counts the elements of a row of a, zeros included; `a` holds half of them. `metadata`, a 32-bit register,
        tells their places; lanes `selector` (and its neighbours) of each group of four hold it: see `metadata`.
        `ordered`: places of a chunk grow from the low bits up, as all do that packing makes; sm_90 and later are fast
        with such alone (PTX 8.5).

        | types a, b → d, c | shapes (registers of d, a, b; selectors) |
        |---|---|
        | f16 → f16 or f32, bf16 → f32 | m16n8k16 (f32: 4, 2, 2; 4), m16n8k32 (f32: 4, 4, 4; 2) |
        | tf32 → f32 | m16n8k8 (4, 2, 2; 4), m16n8k16 (4, 4, 4; 2) |
        | s8, u8 → s32 | m16n8k32 (4, 2, 2; 2), m16n8k64 (4, 4, 4; 1) |
        | s4, u4 → s32 | m16n8k64 (4, 2, 2; 2), m16n8k128 (4, 4, 4; 1) |
        | e4m3, e5m2 → f32 (sm_89) | m16n8k64 (4, 4, 4; 1) |

        Raise OperandError for what does not exist, InstructionUseError for a target or PTX version that has it not.
        """
        types = tuple(ptx_type(dtype, "ptx.mma.sp.sync").name for dtype in (dtype_d, dtype_a, dtype_b, dtype_c))
        form = _find("mma.sp", shape, types, _sparse_forms())
        if satfinite and not form.saturates:
            raise OperandError(
                f"mma.sp {form.shape} of {types[1]} has no satfinite", hint="only integer products have it"
            )
        if isinstance(selector, bool) or not 0 <= selector < form.selectors:
            raise OperandError(
                f"selector={selector!r}: mma.sp {form.shape} of {types[1]} has selectors 0 to {form.selectors - 1}"
            )
        layouts = (
            mma_fragment(form.shape, "d", types[0]),
            sparse_fragment(form.shape, types[1]),
            mma_fragment(form.shape, "b", types[2]),
            mma_fragment(form.shape, "c", types[3]),
        )
        parts = zip("dabc", (d, a, b, c), layouts, types, strict=True)
        fragments = [held(*part) for part in parts]
        head = ("mma", "sp::ordered_metadata" if ordered else "sp", "sync", "aligned", form.shape, "row", "col")
        words = (*head, *(("satfinite",) if satfinite else ()), *types)
        active("ptx.mma.sp.sync").emit(words, [*fragments, metadata, selector], pred)

    def fragment(self, *, shape: Sequence[int], dtype: PtxType) -> Layout:
        """Return the layout of the stored elements of a, K / 2 in each row. Emits nothing."""
        return sparse_fragment(shape_name(shape), ptx_type(dtype, "ptx.mma.sp.fragment").name)

    def metadata(self, *, shape: Sequence[int], dtype: PtxType) -> Layout:
        """Return the layout of the metadata's fields, two bits each, for selector 0. Emits nothing."""
        return metadata_fragment(shape_name(shape), ptx_type(dtype, "ptx.mma.sp.metadata").name)


class Mma:
    """Matrix products of a warp; each call emits one instruction."""

    sp = SparseMma()

    def fragment(self, *, shape: Sequence[int], operand: Operand, dtype: PtxType, layout: str = "") -> Layout:
        """Return the layout of an operand (`a`, `b`, `c`, `d`): who holds which element. Emits nothing.

        `fragment.row(lane, i)` and `.column(lane, i)` take a lane as a number, or as a register, for which they emit
        the instructions that compute it; `print(fragment)` draws the table. `layout` is of a and b of m8n8k4 with f16.
        """
        return mma_fragment(shape_name(shape), operand, ptx_type(dtype, "ptx.mma.fragment").name, layout)

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
        pred: Reg | None = None,
    ) -> None:
        """Emit `mma.sync.aligned.mMnNkK.row.col{.satfinite}.d.a.b.c{.bit_op.popc} {d…}, {a…}, {b…}, {c…};`: d = ab + c.

        All lanes of the warp take part. `shape` is (M, N, K). Registers of a thread, with f16, bf16, fp8, s8 and s4
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

        `satfinite` clamps integer sums; `rounding` (`rn`, `rz`, `rm`, `rp`) is f64's. Raise OperandError for a shape,
        type, layout or number of registers that does not exist, InstructionUseError for a target or PTX version that
        has it not.
        """
        types = tuple([ptx_type(dtype, "ptx.mma.sync").name for dtype in (dtype_d, dtype_a, dtype_b, dtype_c)])
        form = _find("mma.sync", shape, types, _forms())
        layouts = (choice("a_layout", a_layout, ("row", "col")), choice("b_layout", b_layout, ("row", "col")))
        if layouts != ("row", "col") and not form.any_layout:
            raise OperandError(
                f"mma.sync {form.shape} of {types[1]} multiplies row by column, not {layouts[0]} by {layouts[1]}"
            )
        if satfinite and not form.saturates:
            raise OperandError(
                f"mma.sync {form.shape} of {types[1]} has no satfinite", hint="only integer products have it"
            )
        fragments = [
            held(operand, value, _layout(form, operand, element, layouts), element)
            for operand, value, element in zip(_OPERANDS, (d, a, b, c), types, strict=True)
        ]
        words = ("mma", "sync", "aligned", form.shape, *layouts, *(("satfinite",) if satfinite else ()), *types)
        active("ptx.mma.sync").emit((*words, *_bit_words(form, bit_op), *_rounding(form, rounding)), fragments, pred)


_OPERANDS: tuple[Operand, ...] = ("d", "a", "b", "c")


def _layout(form: MmaForm, operand: Operand, element: str, layouts: tuple[str, str]) -> Layout:
    """Return the layout of an operand; that of a and b depends on their order in memory where any will do."""
    order = dict(zip("ab", layouts, strict=True)).get(operand, "") if form.any_layout else ""
    return mma_fragment(form.shape, operand, element, order)


def _find(what: str, shape: Sequence[int], types: tuple[str, ...], forms: MmaForms) -> MmaForm:
    name = shape_name(shape)
    found = forms.get((name, types))
    if found is not None:
        return found
    shapes = dict.fromkeys(form.shape for form in forms.values() if form.types == types)
    if shapes:
        raise OperandError(f"{what} has no shape {name} for {'.'.join(types)}", hint=f"it has {', '.join(shapes)}")
    kinds = dict.fromkeys(".".join(form.types) for form in forms.values() if form.shape == name)
    if kinds:
        raise OperandError(
            f"{what} {name} has no types {'.'.join(types)} (d, a, b, c)", hint=f"it has {', '.join(kinds)}"
        )
    raise OperandError(f"{what} has neither the shape {name} nor the types {'.'.join(types)} (d, a, b, c)")


def _rounding(form: MmaForm, rounding: str | None) -> tuple[str, ...]:
    if rounding is None:
        return ()
    if not form.rounds:
        raise OperandError(f"rounding={rounding!r}: only products of f64 have it")
    return (choice("rounding", rounding, ROUNDINGS),)


def _bit_words(form: MmaForm, bit_op: str | None) -> tuple[str, ...]:
    if form.bitwise:
        return (choice("bit_op", bit_op, ("xor", "and")), "popc")
    if bit_op is not None:
        raise OperandError(f"bit_op={bit_op!r}: only products of b1 have it")
    return ()


mma = Mma()
