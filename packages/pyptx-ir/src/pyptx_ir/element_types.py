"""Element types that arrays of NumPy, torch and jax share with PTX, one row each.

This is the only table of their framework names, DLPack codes and tensor map codes. The runtimes and the simulator
derive their tables from it, each with the types that its framework has.
"""

from __future__ import annotations

from typing import Final

from pyptx_ir.isa.scalar_types import WIDTHS
from pyptx_ir.values import Value, value


@value
class ElementType(Value):
    """Type of array elements.

    `name` is the PTX type, `array` the name in NumPy (with ml_dtypes), torch and jax; a framework may lack a type.
    `kind` is `bits`, `unsigned`, `signed`, `float` or `packed`. `dlpack` is a DLDataType: code, bits, lanes.
    `tensor_map` is a CUtensorMapDataType, None if tensor maps lack the type.
    """

    name: str
    kind: str
    array: str
    dlpack: tuple[int, int, int]
    tensor_map: int | None

    @property
    def bits(self) -> int:
        """Width of an element in bits."""
        return WIDTHS[self.name]

    @property
    def bytes(self) -> int:
        """Size of an element in bytes."""
        return self.bits // 8


# DLPack 1.1, "DLDataTypeCode"; CUDA driver API, "CUtensorMapDataType". If two rows share a PTX or array name, the first
# row defines the conversion: uint8 arrays are u8, and u8 is allocated as uint8, not as bool.
ELEMENT_TYPES: Final = (
    ElementType("u8", "unsigned", "uint8", (1, 8, 1), 0),
    ElementType("u16", "unsigned", "uint16", (1, 16, 1), 1),
    ElementType("u32", "unsigned", "uint32", (1, 32, 1), 2),
    ElementType("u64", "unsigned", "uint64", (1, 64, 1), 4),
    ElementType("s8", "signed", "int8", (0, 8, 1), 0),
    ElementType("s16", "signed", "int16", (0, 16, 1), 1),
    ElementType("s32", "signed", "int32", (0, 32, 1), 3),
    ElementType("s64", "signed", "int64", (0, 64, 1), 5),
    ElementType("f16", "float", "float16", (2, 16, 1), 6),
    ElementType("f32", "float", "float32", (2, 32, 1), 7),
    ElementType("f64", "float", "float64", (2, 64, 1), 8),
    ElementType("bf16", "float", "bfloat16", (4, 16, 1), 9),
    ElementType("e4m3", "float", "float8_e4m3fn", (10, 8, 1), 0),
    ElementType("e5m2", "float", "float8_e5m2", (12, 8, 1), 0),
    ElementType("ue8m0", "float", "float8_e8m0fnu", (14, 8, 1), 0),
    ElementType("e2m1x2", "packed", "float4_e2m1fn_x2", (17, 4, 2), None),
    # tf32 is stored in memory as f32.
    ElementType("tf32", "float", "float32", (2, 32, 1), 11),
    # Untyped bits are stored as unsigned integers and accept elements of any type of their width.
    ElementType("b8", "bits", "uint8", (1, 8, 1), 0),
    ElementType("b16", "bits", "uint16", (1, 16, 1), 1),
    ElementType("b32", "bits", "uint32", (1, 32, 1), 2),
    ElementType("b64", "bits", "uint64", (1, 64, 1), 4),
    # PTX has no boolean type in memory; arrays store booleans as bytes.
    ElementType("u8", "unsigned", "bool", (6, 8, 1), 0),
)

BY_NAME: Final = {row.name: row for row in reversed(ELEMENT_TYPES)}
"""`ElementType` by PTX type, for allocation."""

BY_ARRAY: Final = {row.array: row for row in reversed(ELEMENT_TYPES)}
"""`ElementType` by array element type, for conversion to PTX."""

UNTYPED: Final = {row.name: row for row in ELEMENT_TYPES if row.kind == "bits"}
"""PTX types of untyped bits, which accept elements of any other type of equal width."""


def takes(declared: str, given: str) -> bool:
    """Return whether `given` elements match the `declared` type: the same type, bits of its width, or f32 for tf32."""
    if declared == given:
        return True
    if declared in UNTYPED:
        return WIDTHS.get(given) == WIDTHS[declared]
    return declared == "tf32" and given == "f32"
