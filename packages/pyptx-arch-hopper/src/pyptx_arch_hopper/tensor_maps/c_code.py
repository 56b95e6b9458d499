"""C code for tensor maps: declarations for a launch, and the call that encodes a map for an address.

CUDA driver API: "Tensor Map Object Management".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_ir.element_types import BY_NAME
from pyptx_ir.plugins.descriptor_rows import DescriptorCode
from pyptx_ir.plugins.packed import PACKED_ELEMENTS
from pyptx_ir.plugins.rows import FILLS, INTERLEAVES, L2_PROMOTIONS, SWIZZLES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.plugins.rows import TensorMap

__all__ = ["CODE"]

_BYTES: Final = 128
_ALIGNMENT: Final = 128  # bytes: alignment of CUtensorMap in cuda.h of CUDA 13; the driver requires only 64
_TENSOR: Final = "void *, int, unsigned int, void *, const uint64_t *, const uint64_t *"
_COUNTS: Final = "const unsigned int *"
_COLUMNS: Final = "const int *, const int *, unsigned int, unsigned int"
_MODES: Final = "int, int, int, int"
_FUNCTIONS: Final = (
    ("cuTensorMapEncodeTiled", f"{_TENSOR}, {_COUNTS}, {_COUNTS}, {_MODES}"),
    ("cuTensorMapEncodeIm2col", f"{_TENSOR}, {_COLUMNS}, {_COUNTS}, {_MODES}"),
)


def _expresses(described: TensorMap) -> bool:
    """Return whether the driver supports tensor maps of the element type."""
    return _number(described) is not None


def _number(described: TensorMap) -> int | None:
    """Return the CUtensorMapDataType number of the element type; None for a type without a number."""
    element = PACKED_ELEMENTS.get(described.dtype) or BY_NAME.get(described.dtype)
    return None if element is None else element.tensor_map


def _storage(name: str, described: TensorMap) -> list[str]:
    outer = described.strides[-2::-1]
    return [
        f"static const uint64_t {name}_shape[] = {{{_listed(described.shape[::-1])}}};",
        *([f"static const uint64_t {name}_strides[] = {{{_listed(outer)}}};"] if outer else []),
        *_window(name, described),
        f"static const unsigned int {name}_steps[] = {{{_listed(described.element_strides[::-1])}}};",
        f"unsigned char {name}_room[{_BYTES + _ALIGNMENT}];",
        f"unsigned char *{name} = {name}_room + {_ALIGNMENT} - (uintptr_t){name}_room % {_ALIGNMENT};",
    ]


def _window(name: str, described: TensorMap) -> list[str]:
    """Return C declarations of the box or, in im2col mode, of the bounding box corners."""
    columns = described.im2col
    if columns is None:
        return [f"static const unsigned int {name}_box[] = {{{_listed(described.box[::-1])}}};"]
    corners = (("lower", columns.lower), ("upper", columns.upper))
    return [f"static const int {name}_{which}[] = {{{_listed(corner[::-1])}}};" for which, corner in corners]


def _encoding(name: str, described: TensorMap, address: str) -> list[str]:
    strides = f"{name}_strides" if len(described.shape) > 1 else "NULL"
    columns = described.im2col
    window = f"{name}_box" if columns is None else f"{name}_lower, {name}_upper, {columns.channels}, {columns.pixels}"
    return [
        f"result = driver.cuTensorMapEncode{'Tiled' if columns is None else 'Im2col'}(",
        f"    {name}, {_number(described)}, {len(described.shape)},",
        f"    (void *)(uintptr_t){address}, {name}_shape, {strides},",
        f"    {window}, {name}_steps, {_modes(described)});",
        "if (result != 0) {",
        "    return result;",
        "}",
    ]


def _modes(described: TensorMap) -> str:
    return _listed(
        (
            INTERLEAVES.index(described.interleave),
            SWIZZLES.index(described.swizzle),
            L2_PROMOTIONS.index(described.l2_promotion),
            FILLS.index(described.fill),
        )
    )


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


CODE: Final = DescriptorCode(_FUNCTIONS, _storage, _encoding, _expresses)
