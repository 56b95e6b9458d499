"""Manual: "Warp Level Matrix Instructions": ldmatrix, stmatrix, movmatrix, and the dense mma of sm_75 to sm_90."""

from __future__ import annotations

from dataclasses import dataclass

from pyptx_ir.isa.rows import InstructionRow, ptx, row

SHARED = ("shared", "shared::cta")


@dataclass(frozen=True, slots=True)
class Product:
    """A shape of mma.sync: types, the registers of each fragment, PTX version and target.

    `counts` are the registers of d, a, b and c; `tail` are modifiers behind the types (`.xor.popc`).
    """

    shape: str
    d: tuple[str, ...]
    a: tuple[str, ...]
    b: tuple[str, ...]
    counts: tuple[int, int, int, int]
    since: tuple[int, int]
    target: str
    saturates: bool = False
    tail: str = ""


BYTES = ("u8", "s8")
NIBBLES = ("u4", "s4")
FP8 = ("e4m3", "e5m2")

# What the registers of a and b hold; otherwise integers.
FACTORS = {"f64": "f64", "f16": "f16x2", "bf16": "bf16x2", "tf32": "tf32", "e4m3": "e4m3x4"}

PRODUCTS = (
    Product("m16n8k8", ("f32",), ("f16",), ("f16",), (4, 2, 1, 4), ptx(6, 5), "sm_75"),
    Product("m16n8k8", ("f16",), ("f16",), ("f16",), (2, 2, 1, 2), ptx(6, 5), "sm_75"),
    Product("m16n8k16", ("f32",), ("f16",), ("f16",), (4, 4, 2, 4), ptx(7, 0), "sm_80"),
    Product("m16n8k16", ("f16",), ("f16",), ("f16",), (2, 4, 2, 2), ptx(7, 0), "sm_80"),
    Product("m16n8k8", ("f32",), ("bf16",), ("bf16",), (4, 2, 1, 4), ptx(7, 0), "sm_80"),
    Product("m16n8k16", ("f32",), ("bf16",), ("bf16",), (4, 4, 2, 4), ptx(7, 0), "sm_80"),
    Product("m16n8k4", ("f32",), ("tf32",), ("tf32",), (4, 2, 1, 4), ptx(7, 0), "sm_80"),
    Product("m16n8k8", ("f32",), ("tf32",), ("tf32",), (4, 4, 2, 4), ptx(7, 0), "sm_80"),
    Product("m16n8k16", ("f32",), FP8, FP8, (4, 2, 1, 4), ptx(8, 7), "sm_89"),
    Product("m16n8k16", ("f16",), FP8, FP8, (2, 2, 1, 2), ptx(8, 7), "sm_89"),
    Product("m16n8k32", ("f32",), FP8, FP8, (4, 4, 2, 4), ptx(8, 4), "sm_89"),
    Product("m16n8k32", ("f16",), FP8, FP8, (2, 4, 2, 2), ptx(8, 7), "sm_89"),
    Product("m8n8k4", ("f64",), ("f64",), ("f64",), (2, 1, 1, 2), ptx(7, 0), "sm_80"),
    Product("m16n8k4", ("f64",), ("f64",), ("f64",), (4, 2, 1, 4), ptx(7, 8), "sm_90"),
    Product("m16n8k8", ("f64",), ("f64",), ("f64",), (4, 4, 2, 4), ptx(7, 8), "sm_90"),
    Product("m16n8k16", ("f64",), ("f64",), ("f64",), (4, 8, 4, 4), ptx(7, 8), "sm_90"),
    Product("m8n8k16", ("s32",), BYTES, BYTES, (2, 1, 1, 2), ptx(6, 5), "sm_75", saturates=True),
    Product("m16n8k16", ("s32",), BYTES, BYTES, (4, 2, 1, 4), ptx(7, 0), "sm_80", saturates=True),
    Product("m16n8k32", ("s32",), BYTES, BYTES, (4, 4, 2, 4), ptx(7, 0), "sm_80", saturates=True),
    Product("m8n8k32", ("s32",), NIBBLES, NIBBLES, (2, 1, 1, 2), ptx(6, 5), "sm_75", saturates=True),
    Product("m16n8k32", ("s32",), NIBBLES, NIBBLES, (4, 2, 1, 4), ptx(7, 0), "sm_80", saturates=True),
    Product("m16n8k64", ("s32",), NIBBLES, NIBBLES, (4, 4, 2, 4), ptx(7, 0), "sm_80", saturates=True),
)


def _product(product: Product) -> InstructionRow:
    """Return the row of one shape: row by column, and c of d's type."""
    accumulator = {"f16": "f16x2", "s32": "int32"}.get(product.d[0], product.d[0])
    factor = FACTORS.get(product.a[0], "int32")
    kinds = {"d": accumulator, "a": factor, "b": factor, "c": accumulator}
    count = dict(zip("dabc", product.counts, strict=True))
    saturate = "{.satfinite}" if product.saturates else ""
    return row(
        f"mma.sync.aligned.{product.shape}.row.col{saturate}.dtype.atype.btype.ctype{product.tail} d, a, b, c",
        dtype=product.d,
        atype=product.a,
        btype=product.b,
        ctype=product.d,
        operands={name: f"{count[name]}*{kind}" for name, kind in kinds.items()},
        since=product.since,
        targets=(product.target,),
        manual="mma",
    )


def _matrices(name: str, since: tuple[int, int], target: str) -> tuple[InstructionRow, ...]:
    """Return ldmatrix or stmatrix of 8x8 matrices of 16-bit elements."""
    value, operands = ("d", "d, [a]") if name == "ldmatrix" else ("b", "[a], b")
    return tuple(
        row(
            f"{name}.sync.aligned.m8n8.x{count}{{.trans}}{{.ss}}.b16 {operands}",
            ss=SHARED,
            operands={value: f"{count}*b32"},
            since=since,
            targets=(target,),
            manual=name,
        )
        for count in (1, 2, 4)
    )


ROWS = (
    *_matrices("ldmatrix", ptx(6, 5), "sm_75"),
    *_matrices("stmatrix", ptx(7, 8), "sm_90"),
    row(
        "movmatrix.sync.aligned.m8n8.trans.b16 d, a",
        operands={"d": "b32", "a": "b32"},
        since=ptx(7, 8),
        targets=("sm_75",),
        manual="movmatrix",
    ),
    *(_product(product) for product in PRODUCTS),
)

# Not described yet: sparse, block-scaled, single-bit and m8n8k4 f16 products, and the matrices of 8-bit elements.
PARTIAL = (
    *(("mma", word) for word in ("sp", "sp::ordered_metadata", "block_scale", "b1", "kind::f8f6f4")),
    ("mma", "m8n8k4", "f16"),
    ("mma", "kind::mxf8f6f4"),
    ("mma", "kind::mxf4"),
    ("mma", "kind::mxf4nvf4"),
    *(
        (name, word)
        for name in ("ldmatrix", "stmatrix")
        for word in ("b8", "b8x16.b6x16_p32", "m16n16", "m16n8", "m8n16")
    ),
)
