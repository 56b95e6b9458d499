"""`ptx.tcgen05.mma` and its variants: MMAs into tensor memory, issued by one thread.

Manual: "TensorCore 5th Generation Matrix Multiply and accumulate Operations" (sm_100a, sm_103a, sm_110a).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, Unpack

from pyptx_arch_blackwell.ptx.issue import Extras, accumulation, in_brackets, issue, request, shift_of_sums
from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.forms.emission import emits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.types import PtxType

__all__ = ["Mma", "Options", "mma", "mma_sp", "mma_ws", "mma_ws_sp"]


class Options(TypedDict, total=False):
    """Types of the keyword arguments of `mma` except `cta_group`, for type checkers."""

    kind: str | None
    accumulate: object
    shape: Sequence[int] | None
    dtype_d: PtxType | None
    dtype_a: PtxType | None
    dtype_b: PtxType | None
    dtype_scale: PtxType | None
    trans_a: int | None
    trans_b: int | None
    a_k_offset: int
    b_k_offset: int
    scale_a: object | None
    scale_b: object | None
    scale_vec: str | None
    block: int | None
    disable_output_lanes: object | None
    scale_input_d: int | None
    ashift: bool
    collector_a: str | None
    collector_b: str | None
    lut: object | None
    pred: Reg | None


class Mma:
    """`ptx.tcgen05` functions for MMAs; each call emits one instruction unless stated otherwise."""

    def __repr__(self) -> str:
        return "ptx.tcgen05.mma"

    @emits(
        "tcgen05.mma",
        accumulate="p",
        disable_output_lanes="lanes",
        scale_input_d="scale",
        scale_vec="size",
        lut="meta",
    )
    def __call__(
        self,
        d: object,
        a: object,
        b: object,
        idesc: object | None = None,
        *,
        kind: str | None = None,
        cta_group: int | str = 1,
        accumulate: object = True,
        shape: Sequence[int] | None = None,
        dtype_d: PtxType | None = None,
        dtype_a: PtxType | None = None,
        dtype_b: PtxType | None = None,
        dtype_scale: PtxType | None = None,
        trans_a: int | None = None,
        trans_b: int | None = None,
        a_k_offset: int = 0,
        b_k_offset: int = 0,
        scale_a: object | None = None,
        scale_b: object | None = None,
        scale_vec: str | None = None,
        block: int | None = None,
        disable_output_lanes: object | None = None,
        scale_input_d: int | None = None,
        ashift: bool = False,
        collector_a: str | None = None,
        collector_b: str | None = None,
        lut: object | None = None,
        enable_input_d: object | None = None,
        scale_d: object | None = None,
        pred_operand: object | None = None,
        scale_c: int | None = None,
        a_is_tmem: bool = False,
        sparse: bool = False,
        sparse_metadata: object | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `tcgen05.mma.cta_group::N.kind::KIND{…} [d], a, b, idesc{, {lanes}}{, [scale_a], [scale_b]}, p{, n};`.

        d = a·b + d, or a·b with `accumulate=False`, asynchronously, issued by one thread; `commit` tracks completion.

        | kind | d += a x b | K |
        |---|---|---|
        | f16 | f16 or f32 += f16 x f16; f32 += f16, bf16 x f16, bf16 | 16 |
        | tf32 | f32 += tf32 x tf32 | 8 |
        | f8f6f4 | f16 or f32 += e4m3, e5m2, e2m3, e3m2, e2m1 x the same types | 32 |
        | i8 (sm_100a, sm_110a) | s32 += s8, u8 x s8, u8 | 32 |
        | mxf8f6f4 | f32 += types of f8f6f4 x the same types, scale factors ue8m0 of 32 values | 32 |
        | mxf4 | f32 += e2m1 x e2m1, scale factors ue8m0 of 32 values | 64, 96 on sm_103a |
        | mxf4nvf4 | f32 += e2m1 x e2m1, scale factors of mxf4, or ue4m3 or ue8m0 of 16 values | 64, 96 on sm_103a |

        M is 64 or 128 (kinds with scale factors: 128), with `cta_group=2` 128 or 256. N is at most 256, and a multiple
        of 8 (i8 above 32: of 16), with `cta_group=2` of 16 (i8: of 32).

        `d` is a tensor memory address: `t[…]` of `ptx.tmem.alloc`, the register with an allocation's address, or
        `ptx.addr(register, offset)`. `a` is a matrix in shared memory, or in tensor memory (`t[…]`, `ptx.addr`); `b` is
        a matrix in shared memory. A matrix in shared memory is a descriptor in a u64 register, a tile of `smem.tile`
        or a stage of a tile. The descriptor of a tile is computed before the MMA by three instructions, one more for a
        static address. `a_k_offset` and `b_k_offset` are byte offsets from the start of the matrix
        (`SharedTile.offset`). With `cta_group=2`, each CTA of the pair has half of the rows of a and half of the
        columns of b.

        `idesc` is a 32-bit register, a number, or an `InstructionDescriptor`; by default it is built from `shape` (M,
        N) or (M, N, K), `dtype_d`, `dtype_a`, `dtype_b`, and `trans_a`, `trans_b` (1 for MN-major; the default is the
        tile's major). `accumulate` is a constant, a predicate, or a 32-bit register, which one `setp` compares with 0.

        `scale_a` and `scale_b` are tensor memory addresses of scale factors; `scale_vec` ("1X", "2X", "4X") or `block`
        (16, 32) is the number of values per scale factor. `disable_output_lanes` are four 32-bit registers, for a CTA
        pair eight: lanes of d whose bits are set are not written. `scale_input_d=n` divides d by 2^n first (kinds f16,
        tf32; not on sm_110a). `ashift` shifts the rows of a down by one (a in tensor memory). `collector_a` is "fill",
        "use", "lastuse" or "discard": the use of the collector buffer for a. `collector_b` and `lut`, a table by which
        b is decompressed, need PTX 9.4 (sm_107).

        Older names: `enable_input_d` and `scale_d` are `accumulate`; `pred_operand` is the predicate itself and
        overrides `enable_input_d`; `scale_c` is `scale_input_d`; `a_is_tmem` makes the register `a` a tensor memory
        address; `sparse` with `sparse_metadata` call `mma_sp`.

        Raise OperandError for invalid or contradictory kinds, shapes, types and options.
        """
        what = "ptx.tcgen05.mma"
        older = (("pred_operand", pred_operand),) if pred_operand is not None else (("enable_input_d", enable_input_d),)
        asked = request(
            ws=False,
            sparse=sparse,
            kind=kind,
            cta_group=cta_group,
            scaled=scale_a is not None or scale_b is not None,
            shape=shape,
            types=(dtype_d, dtype_a, dtype_b, dtype_scale),
            turns=(trans_a, trans_b),
        )
        if sparse_metadata is not None and not sparse:
            raise OperandError(f"{what}: sparse_metadata is not valid for a dense MMA", help="call ptx.tcgen05.mma_sp")
        extras = Extras(
            offsets=(a_k_offset, b_k_offset),
            metadata=sparse_metadata,
            lut=lut,
            scales=(scale_a, scale_b),
            scale_vec=scale_vec,
            block=block,
            lanes=disable_output_lanes,
            shift=shift_of_sums(what, scale_input_d, scale_c),
            ashift=ashift,
            collector_a=collector_a,
            collector_b=collector_b,
            pred=pred,
        )
        factors = (d, in_brackets(a, place=a_is_tmem), b)
        issue(asked, factors, idesc, accumulation(what, accumulate, *older, ("scale_d", scale_d)), extras)

    def async_2sm(
        self, d: object, a: object, b: object, idesc: object | None = None, **options: Unpack[Options]
    ) -> None:
        """Emit `tcgen05.mma.cta_group::2…`: `mma` with `cta_group=2`, one MMA of a CTA pair.

        One thread of one CTA of the pair issues it. The MMA reads operands and writes accumulators of both CTAs. All
        options are those of `mma`.
        """
        self(d, a, b, idesc, cta_group=2, **options)


mma = Mma()


@emits(
    "tcgen05.mma.sp",
    accumulate="p",
    metadata="meta",
    disable_output_lanes="lanes",
    scale_input_d="scale",
    scale_vec="size",
)
def mma_sp(
    d: object,
    a: object,
    b: object,
    metadata: object,
    idesc: object | None = None,
    *,
    kind: str | None = None,
    cta_group: int | str = 1,
    accumulate: object = True,
    shape: Sequence[int] | None = None,
    dtype_d: PtxType | None = None,
    dtype_a: PtxType | None = None,
    dtype_b: PtxType | None = None,
    dtype_scale: PtxType | None = None,
    trans_a: int | None = None,
    trans_b: int | None = None,
    a_k_offset: int = 0,
    b_k_offset: int = 0,
    scale_a: object | None = None,
    scale_b: object | None = None,
    scale_vec: str | None = None,
    block: int | None = None,
    disable_output_lanes: object | None = None,
    scale_input_d: int | None = None,
    ashift: bool = False,
    collector_a: str | None = None,
    collector_b: str | None = None,
    pred: Reg | None = None,
) -> None:
    """Emit `tcgen05.mma.sp.cta_group::N.kind::KIND{…} [d], a, b, [metadata], idesc{, …}, p{, n};`.

    `mma` with half of the elements of a omitted: one of two (tf32), two of four, or four of eight in pairs (4-bit
    kinds). `a` has the K / 2 stored elements, and K is twice that of `mma`; `metadata`, a tensor memory address, has
    their positions. Kinds with scale factors have M = 128, and M = 256 with `cta_group=2`; 4-bit kinds need sm_100a,
    sm_103a or sm_110a. A selector is in the `InstructionDescriptor`.
    """
    asked = request(
        ws=False,
        sparse=True,
        kind=kind,
        cta_group=cta_group,
        scaled=scale_a is not None or scale_b is not None,
        shape=shape,
        types=(dtype_d, dtype_a, dtype_b, dtype_scale),
        turns=(trans_a, trans_b),
    )
    extras = Extras(
        offsets=(a_k_offset, b_k_offset),
        metadata=metadata,
        scales=(scale_a, scale_b),
        scale_vec=scale_vec,
        block=block,
        lanes=disable_output_lanes,
        shift=scale_input_d,
        ashift=ashift,
        collector_a=collector_a,
        collector_b=collector_b,
        pred=pred,
    )
    issue(asked, (d, a, b), idesc, accumulate, extras)


@emits("tcgen05.mma.ws", accumulate="p", zero_columns="zeros")
def mma_ws(
    d: object,
    a: object,
    b: object,
    idesc: object | None = None,
    *,
    kind: str | None = None,
    accumulate: object = True,
    shape: Sequence[int] | None = None,
    dtype_d: PtxType | None = None,
    dtype_a: PtxType | None = None,
    dtype_b: PtxType | None = None,
    trans_a: int | None = None,
    trans_b: int | None = None,
    a_k_offset: int = 0,
    b_k_offset: int = 0,
    zero_columns: object | None = None,
    collector: str | None = None,
    pred: Reg | None = None,
) -> None:
    """Emit `tcgen05.mma.ws.cta_group::1.kind::KIND{.collector::bN::op} [d], a, b, idesc, p{, zero_columns};`.

    `mma` that keeps b in one of four collector buffers (weight-stationary): `collector` is "b0::fill", "b3::lastuse",
    and so on, with fill, use, lastuse and discard. Kinds f16, tf32, f8f6f4 and i8; M is 32, 64 or 128, N 64, 128 or
    256. `zero_columns` is a `ZeroColumnMask`, or a u64 register with its bits: the columns of b that count as zero.
    """
    asked = request(
        ws=True,
        sparse=False,
        kind=kind,
        shape=shape,
        types=(dtype_d, dtype_a, dtype_b, None),
        turns=(trans_a, trans_b),
    )
    extras = Extras(offsets=(a_k_offset, b_k_offset), zero_columns=zero_columns, collector=collector, pred=pred)
    issue(asked, (d, a, b), idesc, accumulate, extras)


@emits("tcgen05.mma.ws.sp", accumulate="p", metadata="meta", zero_columns="zeros")
def mma_ws_sp(
    d: object,
    a: object,
    b: object,
    metadata: object,
    idesc: object | None = None,
    *,
    kind: str | None = None,
    accumulate: object = True,
    shape: Sequence[int] | None = None,
    dtype_d: PtxType | None = None,
    dtype_a: PtxType | None = None,
    dtype_b: PtxType | None = None,
    trans_a: int | None = None,
    trans_b: int | None = None,
    a_k_offset: int = 0,
    b_k_offset: int = 0,
    zero_columns: object | None = None,
    collector: str | None = None,
    pred: Reg | None = None,
) -> None:
    """Emit `tcgen05.mma.ws.sp.cta_group::1.kind::KIND{.collector::bN::op} [d], a, b, [metadata], idesc, p{, zeros};`.

    `mma_ws` with a sparse a, as in `mma_sp`. M is 32, 64 or 128, N 64 or 128.
    """
    asked = request(
        ws=True,
        sparse=True,
        kind=kind,
        shape=shape,
        types=(dtype_d, dtype_a, dtype_b, None),
        turns=(trans_a, trans_b),
    )
    extras = Extras(
        offsets=(a_k_offset, b_k_offset),
        metadata=metadata,
        zero_columns=zero_columns,
        collector=collector,
        pred=pred,
    )
    issue(asked, (d, a, b), idesc, accumulate, extras)
