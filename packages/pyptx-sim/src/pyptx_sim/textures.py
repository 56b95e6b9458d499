"""Textures and surfaces: arrays with parameters that specify how kernels access them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from pyptx_ir.isa.modules.counting import counted
from pyptx_sim.errors import LaunchError
from pyptx_sim.machine.memory.texels import GEOMETRIES
from pyptx_sim.numerics.sampling import Sampler

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_sim.memory import DeviceArray
    from pyptx_sim.operation import Array

_CHANNELS: Final = (1, 2, 4)
_ELEMENTS: Final = ("u1", "u2", "u4", "i1", "i2", "i4", "f2", "f4")


@dataclass(frozen=True, slots=True, eq=False)
class Texture:
    """An array that kernels read as a texture; as an argument, it passes a 64-bit handle (`cudaTextureObject_t`).

    The axes of the array are: layers (`a1d`, `a2d`) or the six faces of a `cube` (for an `acube`, those of all layers);
    z, y, x; and optionally 1, 2 or 4 channels. Elements have 8, 16 or 32 bits. `geometry` is that of the `tex`
    instruction: `1d 2d 3d a1d a2d cube acube`. `levels` are smaller arrays, one for each further level of detail.
    `normalized_float` converts integers of 8 or 16 bits to numbers from 0 to 1, or from -1 to 1. LaunchError for a
    texture that no device supports. CUDA C++ Programming Guide: "Texture Memory".
    """

    array: Array | DeviceArray
    geometry: str = "2d"
    sampler: Sampler = field(default_factory=Sampler)
    normalized_float: bool = False
    levels: Sequence[Array | DeviceArray] = ()

    def __post_init__(self) -> None:
        """Raise LaunchError for a texture that no device supports."""
        dtype = _check(self.geometry, self.array, *self.levels)
        integers = dtype.kind != "f"
        if self.normalized_float and (not integers or dtype.itemsize > 2):
            raise LaunchError(f"normalized_float must be False for {dtype}", help="use integers of 8 or 16 bits")
        if self.sampler.filter == "linear" and integers and not self.normalized_float:
            raise LaunchError(
                f"unsupported linear filtering of {dtype} texels", help='set normalized_float=True, or filter="point"'
            )


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """An array that kernels read and write as a surface; as an argument, it passes a `cudaSurfaceObject_t`.

    The array's axes are as for a `Texture`; `geometry` is one of `1d 2d 3d a1d a2d`.
    """

    array: Array | DeviceArray
    geometry: str = "2d"

    def __post_init__(self) -> None:
        """Raise LaunchError for a surface that no device supports."""
        _check(self.geometry, self.array)
        if isinstance(self.array, np.ndarray) and not self.array.flags.c_contiguous:
            raise LaunchError("surface of a non-contiguous array", help="pass a contiguous copy")
        if GEOMETRIES[self.geometry].faces > 1:
            raise LaunchError(f"invalid surface geometry {self.geometry!r}", help="use a2d, with cube faces as layers")


Opaque: TypeAlias = Texture | Surface | Sampler


def extents_of(array: Array | DeviceArray, geometry: str) -> tuple[int, tuple[int, ...], int]:
    """Return an array's number of slices (layers, faces), its extents (x first) and its number of channels."""
    shape, kind = array.shape if isinstance(array, np.ndarray) else array.array.shape, GEOMETRIES[geometry]
    channels = shape[kind.dimensions] if len(shape) > kind.dimensions else 1
    axes = shape[kind.dimensions - kind.axes : kind.dimensions]
    return int(np.prod(shape[: kind.dimensions - kind.axes], dtype=np.int64)), axes[::-1], channels


def texels_of(array: Array | DeviceArray) -> Array | DeviceArray:
    """Return a contiguous array of the texels: the array itself, or a copy (like `cudaMemcpy2DToArray`)."""
    return array if not isinstance(array, np.ndarray) or array.flags.c_contiguous else np.ascontiguousarray(array)


def _check(geometry: str, *arrays: Array | DeviceArray) -> np.dtype[np.generic]:
    known = GEOMETRIES.get(geometry)
    if known is None:
        raise LaunchError(f"unknown geometry {geometry!r}", help=f"use one of: {', '.join(GEOMETRIES)}")
    for each in arrays:
        array = each if isinstance(each, np.ndarray) else each.array
        if array.dtype.str[1:] not in _ELEMENTS or array.ndim - known.dimensions not in (0, 1) or not array.size:
            raise LaunchError(
                f"invalid array for geometry {geometry}: {array.dtype} elements of shape {array.shape}",
                help=f"use elements of 8 to 32 bits, {known.dimensions} axes and optionally an axis of channels",
            )
        if array is not each and not array.flags.c_contiguous:
            raise LaunchError(
                f"non-contiguous DeviceArray for geometry {geometry}",
                help="put a contiguous copy in the Memory",
            )
        slices, _, channels = extents_of(array, geometry)
        if channels not in _CHANNELS or slices % known.faces:
            raise LaunchError(
                f"invalid array for geometry {geometry}: {counted(channels, 'channel')}, {counted(slices, 'slice')}",
                help="use 1, 2 or 4 channels, and 6 faces per cube",
            )
    first = arrays[0]
    dtype: np.dtype[np.generic] = (first if isinstance(first, np.ndarray) else first.array).dtype
    return dtype
