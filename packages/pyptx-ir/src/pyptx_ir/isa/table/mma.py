"""Manual: "Multiply-and-Accumulate Instruction: mma", the dense MMAs of sm_70 to sm_90."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.kinds.fragments import BITS, registers_of
from pyptx_ir.isa.rows import InstructionRow, ptx, row, summarised
from pyptx_ir.isa.table.type_sets import ROUNDINGS

if TYPE_CHECKING:
    from collections.abc import Iterator

BYTES = ("u8", "s8")
NIBBLES = ("u4", "s4")
FP8 = ("e4m3", "e5m2")
LAYOUTS = ("row", "col")


@dataclass(frozen=True, slots=True)
class MmaShapes:
    """Shapes of mma.sync that share types, PTX version and target.

    `a` are the types of A and of B, `c` those of C if they differ from D. Without `any_layout`, A is row-major and B is
    column-major. `times` is the number of MMAs of the shape that a warp computes at once.
    """

    shapes: tuple[str, ...]
    d: str
    a: tuple[str, ...]
    since: tuple[int, int]
    target: str
    c: tuple[str, ...] = ()
    saturates: bool = False
    rounds: bool = False
    any_layout: bool = False
    operation: str = ""
    times: int = 1

    def types(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield the valid combinations of the element types of D, A, B and C."""
        yield from ((self.d, a, b, c) for a in self.a for b in self.a for c in self.c or (self.d,))

    def registers(self, shape: str, types: tuple[str, str, str, str]) -> tuple[int, int, int, int]:
        """Return the number of registers per thread of D, A, B and C."""
        extents = zip(_extents(self.times), types, strict=True)
        d, a, b, c = (registers_of(shape, extent, BITS[name]) for extent, name in extents)
        return d, a, b, c


def _extents(times: int) -> tuple[str, str, str, str]:
    factor = f"*{times}" if times > 1 else ""
    return (f"mn{factor}", f"mk{factor}", f"kn{factor}", f"mn{factor}")


PRODUCTS = (
    *(
        MmaShapes(("m8n8k4",), d, ("f16",), ptx(6, 4), "sm_70", c=c, any_layout=True, times=4)
        for d, c in (("f16", ("f16",)), ("f32", ("f16", "f32")))
    ),
    *(MmaShapes(("m16n8k8",), d, ("f16",), ptx(6, 5), "sm_75") for d in ("f16", "f32")),
    *(MmaShapes(("m16n8k16",), d, ("f16",), ptx(7, 0), "sm_80") for d in ("f16", "f32")),
    MmaShapes(("m16n8k8", "m16n8k16"), "f32", ("bf16",), ptx(7, 0), "sm_80"),
    MmaShapes(("m16n8k4", "m16n8k8"), "f32", ("tf32",), ptx(7, 0), "sm_80"),
    MmaShapes(("m16n8k32",), "f32", FP8, ptx(8, 4), "sm_89"),
    MmaShapes(("m16n8k16",), "f32", FP8, ptx(8, 7), "sm_89"),
    MmaShapes(("m16n8k16", "m16n8k32"), "f16", FP8, ptx(8, 7), "sm_89"),
    MmaShapes(("m8n8k4",), "f64", ("f64",), ptx(7, 0), "sm_80", rounds=True),
    MmaShapes(("m16n8k4", "m16n8k8", "m16n8k16"), "f64", ("f64",), ptx(7, 8), "sm_90", rounds=True),
    MmaShapes(("m8n8k16",), "s32", BYTES, ptx(6, 5), "sm_75", saturates=True),
    MmaShapes(("m16n8k16", "m16n8k32"), "s32", BYTES, ptx(7, 0), "sm_80", saturates=True),
    MmaShapes(("m8n8k32",), "s32", NIBBLES, ptx(6, 5), "sm_75", saturates=True),
    MmaShapes(("m16n8k32", "m16n8k64"), "s32", NIBBLES, ptx(7, 0), "sm_80", saturates=True),
    MmaShapes(("m8n8k128",), "s32", ("b1",), ptx(7, 0), "sm_75", operation="xor"),
    MmaShapes(("m16n8k128", "m16n8k256"), "s32", ("b1",), ptx(7, 0), "sm_80", operation="xor"),
    MmaShapes(("m8n8k128", "m16n8k128", "m16n8k256"), "s32", ("b1",), ptx(7, 1), "sm_80", operation="and"),
)


def _row(product: MmaShapes) -> InstructionRow:
    slots = {
        "shape": product.shapes,
        "alayout": LAYOUTS if product.any_layout else ("row",),
        "blayout": LAYOUTS if product.any_layout else ("col",),
        "atype": product.a,
        "btype": product.a,
        "ctype": product.c or (product.d,),
    }
    saturate = "{.satfinite}" if product.saturates else ""
    tail = "{.rnd}" if product.rounds else f".{product.operation}.popc" if product.operation else ""
    d, a, b, c = _extents(product.times)
    return row(
        f"mma.sync.aligned.shape.alayout.blayout{saturate}.{product.d}.atype.btype.ctype{tail} d, a, b, c",
        operands={
            "d": f"fragment({d} {product.d})",
            "a": f"fragment({a} atype)",
            "b": f"fragment({b} btype)",
            "c": f"fragment({c} ctype)",
        },
        since=product.since,
        targets=(product.target,),
        manual="mma",
        slots=slots | ({"rnd": ROUNDINGS} if product.rounds else {}),
    )


SUMMARIES = {
    "Warp matrices": {
        "mma": "Multiply the matrix fragments of a warp on the tensor cores, and accumulate.",
    },
}

ROWS = summarised(
    SUMMARIES,
    *(_row(product) for product in PRODUCTS),
)
