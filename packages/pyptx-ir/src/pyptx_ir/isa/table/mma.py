"""Manual: "Multiply-and-Accumulate Instruction: mma", the dense products of sm_70 to sm_90."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.kinds.fragments import registers_of
from pyptx_ir.isa.rows import InstructionRow, ptx, row
from pyptx_ir.isa.table.type_sets import ROUNDINGS

if TYPE_CHECKING:
    from collections.abc import Iterator

BYTES = ("u8", "s8")
NIBBLES = ("u4", "s4")
FP8 = ("e4m3", "e5m2")
LAYOUTS = ("row", "col")
BIT_OPERATIONS = ("xor", "and")


@dataclass(frozen=True, slots=True)
class Product:
    """Shapes of mma.sync that share types, PTX version and target.

    `d` and `c` are the one type of that matrix, or the types. Without `any_layout` a lies in rows and b in columns.
    `times` tells how many products of the shape a warp computes at once.
    """

    shapes: tuple[str, ...]
    d: str
    a: tuple[str, ...]
    since: tuple[int, int]
    target: str
    b: tuple[str, ...] = ()
    c: tuple[str, ...] = ()
    saturates: bool = False
    rounds: bool = False
    any_layout: bool = False
    operations: tuple[str, ...] = ()
    times: int = 1

    def types(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield the types of d, a, b and c that go together."""
        yield from ((self.d, a, b, c) for a in self.a for b in self.b or self.a for c in self.c or (self.d,))

    def registers(self, shape: str, types: tuple[str, str, str, str]) -> tuple[int, int, int, int]:
        """Return how many registers a thread has of d, a, b and c."""
        extents = zip(_extents(self.times), types, strict=True)
        d, a, b, c = (registers_of(shape, extent, name) for extent, name in extents)
        return d, a, b, c


def _extents(times: int) -> tuple[str, str, str, str]:
    factor = f"*{times}" if times > 1 else ""
    return (f"mn{factor}", f"mk{factor}", f"kn{factor}", f"mn{factor}")


PRODUCTS = (
    *(
        Product(("m8n8k4",), d, ("f16",), ptx(6, 4), "sm_70", c=c, any_layout=True, times=4)
        for d, c in (("f16", ("f16",)), ("f32", ("f16", "f32")))
    ),
    *(Product(("m16n8k8",), d, ("f16",), ptx(6, 5), "sm_75") for d in ("f16", "f32")),
    *(Product(("m16n8k16",), d, ("f16",), ptx(7, 0), "sm_80") for d in ("f16", "f32")),
    Product(("m16n8k8", "m16n8k16"), "f32", ("bf16",), ptx(7, 0), "sm_80"),
    Product(("m16n8k4", "m16n8k8"), "f32", ("tf32",), ptx(7, 0), "sm_80"),
    Product(("m16n8k32",), "f32", FP8, ptx(8, 4), "sm_89"),
    Product(("m16n8k16",), "f32", FP8, ptx(8, 7), "sm_89"),
    Product(("m16n8k16", "m16n8k32"), "f16", FP8, ptx(8, 7), "sm_89"),
    Product(("m8n8k4",), "f64", ("f64",), ptx(7, 0), "sm_80", rounds=True),
    Product(("m16n8k4", "m16n8k8", "m16n8k16"), "f64", ("f64",), ptx(7, 8), "sm_90", rounds=True),
    Product(("m8n8k16",), "s32", BYTES, ptx(6, 5), "sm_75", saturates=True),
    Product(("m16n8k16", "m16n8k32"), "s32", BYTES, ptx(7, 0), "sm_80", saturates=True),
    Product(("m8n8k32",), "s32", NIBBLES, ptx(6, 5), "sm_75", saturates=True),
    Product(("m16n8k32", "m16n8k64"), "s32", NIBBLES, ptx(7, 0), "sm_80", saturates=True),
    Product(("m8n8k128",), "s32", ("b1",), ptx(7, 0), "sm_75", operations=("xor",)),
    Product(("m16n8k128", "m16n8k256"), "s32", ("b1",), ptx(7, 0), "sm_80", operations=("xor",)),
    Product(("m8n8k128", "m16n8k128", "m16n8k256"), "s32", ("b1",), ptx(7, 1), "sm_80", operations=("and",)),
)


def _row(product: Product) -> InstructionRow:
    layouts = ".alayout.blayout" if product.any_layout else ".row.col"
    modes = "{.satfinite}" if product.saturates else ""
    ctype = ".ctype" if product.c else f".{product.d}"
    tail = ("{.rnd}" if product.rounds else "") + (".operation.popc" if product.operations else "")
    d, a, b, c = _extents(product.times)
    slots = {
        "shape": product.shapes,
        "atype": product.a,
        "btype": product.b or product.a,
        **({"alayout": LAYOUTS, "blayout": LAYOUTS} if product.any_layout else {}),
        **({"ctype": product.c} if product.c else {}),
        **({"rnd": ROUNDINGS} if product.rounds else {}),
        **({"operation": product.operations} if product.operations else {}),
    }
    return row(
        f"mma.sync.aligned.shape{layouts}{modes}.{product.d}.atype.btype{ctype}{tail} d, a, b, c",
        operands={
            "d": f"fragment({d} {product.d})",
            "a": f"fragment({a} atype)",
            "b": f"fragment({b} btype)",
            "c": f"fragment({c} {'ctype' if product.c else product.d})",
        },
        since=product.since,
        targets=(product.target,),
        manual="mma",
        slots=slots,
    )


ROWS = tuple(_row(product) for product in PRODUCTS)
