"""`pyptx_sim.TensorMap`: a TMA tensor map, encoded to 128 bytes and decoded from 128 bytes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pyptx_arch_hopper.sim.tma import maps
from pyptx_arch_hopper.sim.tma.map_fields import SIZE
from pyptx_ir.element_types import BY_ARRAY, BY_NAME
from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.plugins.rows import L2_PROMOTIONS, Im2col
from pyptx_ir.plugins.rows import TensorMap as Row
from pyptx_sim.errors import LaunchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_sim.types import DType


class TensorMap(Row):
    """Fields of a TMA tensor map, except the address. CUDA driver API: "Tensor Map Object Management".

    Dimensions are in the order of the array's shape, innermost last; the driver expects the reverse order. `strides`
    are bytes, `box` and `element_strides` count elements, `dtype` is the PTX name. `pyptx_sim.WithDescriptor(array,
    map)` passes the map with its array; `encode` returns the 128 bytes in memory.
    """

    __slots__ = ()

    @classmethod
    def of(
        cls,
        array: Any,  # noqa: ANN401 - a NumPy array, or a DeviceArray, whose module plugins must not import
        box: Sequence[int],
        *,
        dtype: str | None = None,
        element_strides: Sequence[int] | None = None,
        swizzle: str = "none",
        l2_promotion: str = "none",
        fill: str = "zeros",
    ) -> TensorMap:
        """Return the tensor map of an array or a `DeviceArray`, with its strides, for boxes of `box` elements.

        `dtype`, a PTX name, is for elements without a NumPy type: "bf16" for an array of uint16, "b4x16" for bytes that
        hold two elements each. Raise LaunchError for a box of another rank, for a type without a tensor map, for a
        `dtype` of another width, and for an array whose innermost elements are not adjacent.
        """
        held = getattr(array, "array", array)
        name, shape = _elements(tuple(held.shape), dtype, held.dtype)
        if len(box) != len(shape):
            raise LaunchError(
                f"expected a box of rank {len(shape)}, got {tuple(box)}",
                help=f"pass one box extent for each dimension of the tensor, whose shape is {shape}",
            )
        strides = _strides(held)
        steps = (1,) * len(shape) if element_strides is None else tuple(element_strides)
        return cls(name, shape, strides, tuple(box), steps, swizzle, l2_promotion=l2_promotion, fill=fill)

    def encode(self, address: int) -> bytes:
        """Return the 128 bytes of the map of a tensor at `address`, to be stored at a multiple of 64 bytes.

        Fields of `tensormap.replace` are at the offsets that devices use. The driver's other fields are unknown, so the
        bytes are valid in the simulator only. Raise LaunchError for a map that no driver encodes.
        """
        return maps.encode(self, address)

    @classmethod
    def decode(cls, data: bytes) -> tuple[TensorMap, int]:
        """Return the tensor map decoded from 128 bytes, and the tensor's address.

        The bytes are those of `encode`, or of a map in tiled mode as devices read it. Fields of im2col mode and the L2
        promotion are read at the offsets of `encode`, because the driver's offsets are undocumented. Raise LaunchError
        for an invalid map.
        """
        if len(data) != SIZE:
            raise LaunchError(f"expected the {SIZE} bytes of a tensor map, got {counted(len(data), 'byte')}")
        record = maps.unpack(bytes(data))
        if record is None:
            raise LaunchError(f"the {SIZE} bytes are not a tensor map", help="pass the result of TensorMap.encode")
        fault = record.fault()
        if fault is not None:
            raise LaunchError(f"invalid tensor map: {fault[0]}", help=fault[1])
        return cls._said(record), record.address

    @classmethod
    def _said(cls, record: maps.Record) -> TensorMap:
        def listed(numbers: tuple[int, ...], rank: int = record.rank) -> tuple[int, ...]:
            return numbers[:rank][::-1]

        spatial = record.rank - 2
        window = Im2col(listed(record.lower, spatial), listed(record.upper, spatial), record.channels, record.pixels)
        return cls(
            record.type,
            listed(record.extents),
            listed(record.strides),
            () if record.columns else listed(record.box),
            listed(record.steps),
            record.swizzle_name,
            maps.INTERLEAVES[record.interleave],
            L2_PROMOTIONS[record.promotion],
            maps.FILLS[record.fill],
            window if record.columns else None,
        )


def _strides(array: Any) -> tuple[int, ...]:  # noqa: ANN401 - a NumPy array, or an object with its shape and strides
    """Return the strides of an array in bytes; a dimension of extent 1 gets the stride that it has in a dense array."""
    dense = [array.dtype.itemsize * math.prod(array.shape[axis + 1 :]) for axis in range(len(array.shape))]
    strides = zip(array.shape, array.strides, dense, strict=True)
    found = tuple(own if extent > 1 else alone for extent, own, alone in strides)
    if found and found[-1] != array.dtype.itemsize:
        raise LaunchError(
            f"tensor map of an array with strides of {array.strides} bytes: innermost elements are not adjacent",
            help="make the tensor map of array.T, or of a contiguous copy",
        )
    return found


def _elements(shape: tuple[int, ...], dtype: str | None, stored: DType) -> tuple[str, tuple[int, ...]]:
    """Return the PTX type of an array's elements, and the number of such elements along each dimension."""
    packing, size = maps.PACKINGS.get(dtype or ""), stored.itemsize
    if dtype is not None and packing is not None and size == 1:
        return dtype, (*shape[:-1], packing.elements.elements(shape[-1]))
    known = BY_NAME.get(dtype) if dtype is not None else BY_ARRAY.get(stored.name)
    if known is None or known.tensor_map is None or known.bytes != size:
        raise LaunchError(
            f"invalid element type {dtype or stored} of a tensor map, for an array with elements of "
            f"{counted(size, 'byte')}",
            help="pass a PTX type of this size, for example dtype='bf16'",
        )
    return known.name, shape
