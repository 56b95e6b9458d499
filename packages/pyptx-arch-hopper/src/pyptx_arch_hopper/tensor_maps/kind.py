"""Tensor maps as a kind of kernel-argument descriptor, for the plugin interface."""

from __future__ import annotations

from typing import Final

from pyptx_arch_hopper.tensor_maps.c_code import CODE
from pyptx_arch_hopper.tensor_maps.description import tensor_map
from pyptx_arch_hopper.tensor_maps.fitting import fitting_tile
from pyptx_arch_hopper.tensor_maps.records import plain, restore
from pyptx_ir.plugins.descriptor_rows import DescriptorKind
from pyptx_ir.plugins.packed import PACKED_ELEMENTS
from pyptx_ir.plugins.rows import TensorMap

__all__ = ["TENSOR_MAP"]

# Alignment in bytes of a tensor's global address, and the larger one for interleave 32B and for padded elements. CUDA
# driver API: cuTensorMapEncodeTiled.
_ALIGNMENT: Final = 16
_WIDE_ALIGNMENT: Final = 32


def _array_alignment(described: TensorMap) -> int:
    packed = PACKED_ELEMENTS.get(described.dtype)
    padded = packed is not None and packed.padded
    return _WIDE_ALIGNMENT if padded or described.interleave == "32B" else _ALIGNMENT


TENSOR_MAP: Final = DescriptorKind(
    name="tensor_map",
    described=TensorMap,
    size=128,  # bytes of a CUtensorMap. CUDA driver API: "Tensor Map Object Management"
    alignment=64,
    suffix="_tma_desc",
    example='Tile("M", "N", bf16, Layout.TMA_128B, tma_box=(64, 64))',
    describe=tensor_map,
    plain=plain,
    restore=restore,
    array_alignment=_array_alignment,
    code=CODE,
    fitting=fitting_tile,
)
