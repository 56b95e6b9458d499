"""Manual: "Asynchronous Warpgroup Level Matrix Instructions"."""

from __future__ import annotations

from dataclasses import dataclass

from pyptx_ir.isa.rows import InstructionRow, ptx, row, summarised

TARGETS = ("sm_90a",)
# Valid N of wgmma.mma_async: multiples of 8; integer and single-bit MMAs support only some of them.
COLUMNS = tuple(range(8, 257, 8))
INTEGER_COLUMNS = (8, 16, 24, *range(32, 257, 16))
FP8 = ("e4m3", "e5m2")
BYTES = ("s8", "u8")
DENSE = ptx(8, 0)
SPARSE = ptx(8, 2)
MIXED_BYTES = ptx(8, 4)

SIGNS = "-1 1"  # values of wgmma's imm-scale-a and imm-scale-b: -1 negates the operand
ORDERS = "0 1"  # values of wgmma's imm-trans-a and imm-trans-b: 1 transposes the operand


@dataclass(frozen=True, slots=True)
class WgmmaTypes:
    """A type combination of wgmma.mma_async.

    `factors` are the types of A and B as modifiers, and `a` is the register fragment of A (see
    `pyptx_ir.isa.kinds.fragments`). `depth` is K of the dense MMA; the sparse MMA has twice this K. `selector` is the
    maximum of the operand that selects the threads with the metadata of a sparse A; None if no sparse MMA has these
    types. `negates` and `transposes`: whether the immediates imm-scale and imm-trans exist; only matrices in shared
    memory are transposed.
    """

    d: str
    factors: str
    depth: int
    a: str
    selector: int | None
    columns: tuple[int, ...] = COLUMNS
    negates: bool = True
    transposes: bool = False
    slots: tuple[tuple[str, tuple[str, ...]], ...] = ()
    since: tuple[int, int] = DENSE


def _bytes(a: str, b: str, since: tuple[int, int]) -> WgmmaTypes:
    return WgmmaTypes("s32", f".{a}.{b}{{.satfinite}}", 32, a, 0, INTEGER_COLUMNS, negates=False, since=since)


PRODUCTS = (
    *(WgmmaTypes(d, ".f16.f16", 16, "f16", 1, transposes=True) for d in ("f16", "f32")),
    WgmmaTypes("f32", ".bf16.bf16", 16, "bf16 f16", 1, transposes=True),
    WgmmaTypes("f32", ".tf32.tf32", 8, "tf32 f16", 1),
    *(
        WgmmaTypes(d, ".atype.btype", 32, "atype f16", 0, slots=(("atype", FP8), ("btype", FP8)))
        for d in ("f16", "f32")
    ),
    *(_bytes(each, each, DENSE) for each in BYTES),
    _bytes("s8", "u8", MIXED_BYTES),
    _bytes("u8", "s8", MIXED_BYTES),
    WgmmaTypes("s32", ".b1.b1.and.popc", 256, "b1", None, INTEGER_COLUMNS, negates=False),
)


def _row(product: WgmmaTypes, *, sparse: bool, registers: bool) -> InstructionRow:
    """Return the instruction-table row of wgmma with A in registers or in shared memory, dense or sparse."""
    metadata = {"meta": "braced(b32)", "sel": f"imm in 0..{product.selector}"} if sparse else {}
    signs = dict.fromkeys(("scale_a", "scale_b"), f"imm in {SIGNS}") if product.negates else {}
    turned = ("trans_b",) if registers else ("trans_a", "trans_b")
    orders = dict.fromkeys(turned, f"imm in {ORDERS}") if product.transposes else {}
    a = f"fragment(mk{'/2' if sparse else ''} {product.a} over 4 warps)" if registers else "u64"
    operands = {
        "d": f"fragment(mn {product.d} over 4 warps)",
        "a" if registers else "a_desc": a,
        "b_desc": "u64",
        **metadata,
        "scale_d": "pred or ! in 0..1",
        **signs,
        **orders,
    }
    depth = product.depth * (2 if sparse else 1)
    variant = ".sp" if sparse else ""
    return row(
        f"wgmma.mma_async{variant}.sync.aligned.shape.{product.d}{product.factors} {', '.join(operands)}",
        operands=operands,
        access="x" + "r" * (len(operands) - 1),
        since=max(product.since, SPARSE) if sparse else product.since,
        targets=TARGETS,
        leading=1,
        manual="wgmma.mma_async.sp" if sparse else "wgmma.mma_async",
        slots={"shape": tuple(f"m64n{columns}k{depth}" for columns in product.columns), **dict(product.slots)},
    )


SUMMARIES = {
    "Warpgroup matrices": {
        "wgmma.mma_async": "Multiply matrices with the threads of a warpgroup and accumulate, asynchronously.",
        "wgmma.mma_async.sp": "Multiply a sparse by a dense matrix with a warpgroup and accumulate, asynchronously.",
        "wgmma.fence": "Order register accesses of a warpgroup before the warpgroup's asynchronous MMAs.",
        "wgmma.commit_group": "Commit the warpgroup's uncommitted asynchronous MMAs as a new wgmma group.",
        "wgmma.wait_group": "Wait until at most n of the warpgroup's latest wgmma groups are pending.",
    },
}

ROWS = summarised(
    SUMMARIES,
    row("wgmma.fence.sync.aligned", since=DENSE, targets=TARGETS, leading=1, manual="wgmma.fence"),
    row("wgmma.commit_group.sync.aligned", since=DENSE, targets=TARGETS, leading=1, manual="wgmma.commit_group"),
    row(
        "wgmma.wait_group.sync.aligned n",
        operands={"n": f"imm in 0..{(1 << 63) - 1}"},
        access="r",
        since=DENSE,
        targets=TARGETS,
        leading=1,
        manual="wgmma.wait_group",
    ),
    *(_row(product, sparse=False, registers=registers) for product in PRODUCTS for registers in (False, True)),
    *(
        _row(product, sparse=True, registers=registers)
        for product in PRODUCTS
        if product.selector is not None
        for registers in (False, True)
    ),
)
