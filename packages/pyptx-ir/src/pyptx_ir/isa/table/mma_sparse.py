"""Manual: "Multiply-and-Accumulate Instruction: mma.sp / mma.sp::ordered_metadata", sm_80 to sm_90."""

from __future__ import annotations

from dataclasses import dataclass

from pyptx_ir.isa.rows import InstructionRow, ptx, row, summarised
from pyptx_ir.isa.table.mma import BYTES, FP8, NIBBLES

SPARSE = ptx(7, 1)
ORDERED = ptx(8, 5)


@dataclass(frozen=True, slots=True)
class SparseMma:
    """A shape of mma.sp.

    `selector` is the maximum sparsity selector: the index of a thread, or of a pair of threads, in a group of four
    ("Sparse matrix storage"). `registers` is the type whose registers hold A and B, if they differ from those of the
    element type.
    """

    shape: str
    d: str
    a: tuple[str, ...]
    selector: int
    since: tuple[int, int] = SPARSE
    target: str = "sm_80"
    saturates: bool = False
    registers: str = ""


PRODUCTS = (
    *(SparseMma("m16n8k16", d, ("f16",), 3) for d in ("f16", "f32")),
    *(SparseMma("m16n8k32", d, ("f16",), 1) for d in ("f16", "f32")),
    SparseMma("m16n8k16", "f32", ("bf16",), 3, registers="b32"),
    SparseMma("m16n8k32", "f32", ("bf16",), 1, registers="b32"),
    SparseMma("m16n8k8", "f32", ("tf32",), 3, registers="b32"),
    SparseMma("m16n8k16", "f32", ("tf32",), 1, registers="b32"),
    SparseMma("m16n8k32", "s32", BYTES, 1, saturates=True),
    SparseMma("m16n8k64", "s32", BYTES, 0, saturates=True),
    SparseMma("m16n8k64", "s32", NIBBLES, 1, saturates=True),
    SparseMma("m16n8k128", "s32", NIBBLES, 0, saturates=True),
    SparseMma("m16n8k64", "f32", FP8, 0, since=ptx(8, 4), target="sm_89"),
)


def _row(product: SparseMma, variant: str, since: tuple[int, int]) -> InstructionRow:
    saturate = "{.satfinite}" if product.saturates else ""
    like = f" {product.registers}" if product.registers else ""
    d = product.d
    return row(
        f"mma.{variant}.sync.aligned.shape.row.col{saturate}.{d}.atype.btype.{d} d, a, b, c, e, f",
        operands={
            "d": f"fragment(mn {d})",
            "a": f"fragment(mk/2 atype{like})",
            "b": f"fragment(kn btype{like})",
            "c": f"fragment(mn {d})",
            "e": "register(b32)",
            "f": f"imm in 0..{product.selector}",
        },
        since=since,
        targets=(product.target,),
        manual="mma.sp",
        instruction=f"mma.{variant}",
        slots={"shape": (product.shape,), "atype": product.a, "btype": product.a},
    )


SUMMARIES = {
    "Warp matrices": {
        "mma.sp": "Multiply a structured-sparse matrix by a dense matrix on the tensor cores, and accumulate.",
        "mma.sp::ordered_metadata": "Multiply a sparse matrix with ordered metadata by a dense matrix, and accumulate.",
    },
}

ROWS = summarised(
    SUMMARIES,
    *(_row(product, "sp", product.since) for product in PRODUCTS),
    *(_row(product, "sp::ordered_metadata", max(product.since, ORDERED)) for product in PRODUCTS),
)
