"""Textures and surfaces of a launch, with the offsets of their texels in the global space.

Manual: "Texture Instructions".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyptx_sim.numerics.sampling import Indices, Sampler
    from pyptx_sim.types import DType


@dataclass(frozen=True, slots=True)
class TextureGeometry:
    """Layout of a texture: number of axes (1 to 3), whether it is layered, number of faces (6 for a cube map)."""

    axes: int
    layered: bool = False
    faces: int = 1

    @property
    def dimensions(self) -> int:
        """Number of dimensions of the array, without channels."""
        return self.axes + (self.layered or self.faces > 1)


GEOMETRIES: Final[Mapping[str, TextureGeometry]] = {
    "1d": TextureGeometry(1),
    "2d": TextureGeometry(2),
    "3d": TextureGeometry(3),
    "a1d": TextureGeometry(1, layered=True),
    "a2d": TextureGeometry(2, layered=True),
    "cube": TextureGeometry(2, faces=6),
    "acube": TextureGeometry(2, layered=True, faces=6),
}


@dataclass(frozen=True, slots=True)
class Level:
    """One mipmap level: its offset in the global arena, and its extents in texels (x first)."""

    start: int
    extents: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Texels:
    """Texels of a texture or surface; `slices` is the number of layers times the number of cube faces.

    `writeable`: it is a surface. `normalized_float`: integers are read as numbers from 0 (unsigned) or -1 (signed) to
    1.
    """

    name: str
    geometry: str
    levels: tuple[Level, ...]
    slices: int
    channels: int
    dtype: DType
    sampler: Sampler | None = None
    normalized_float: bool = False
    writeable: bool = False

    @property
    def shape(self) -> TextureGeometry:
        """The `TextureGeometry` that `geometry` (`"2d"`) names."""
        return GEOMETRIES[self.geometry]

    @property
    def texel_bytes(self) -> int:
        """Size of one texel in bytes."""
        return self.dtype.itemsize * self.channels

    def rows(self, level: Level, slice_: Indices | int, outer: tuple[Indices, ...]) -> Indices:
        """Return the arena offsets of rows of texels along x, at coordinates `outer` (y, or y and z) in `slice_`."""
        row: Indices = np.asarray(slice_, np.int64)
        for extent, index in zip(level.extents[:0:-1], outer[::-1], strict=True):
            row = row * extent + index
        return level.start + row * (level.extents[0] * self.texel_bytes)


Bound: TypeAlias = "Texels | Sampler"
Handles: TypeAlias = "Mapping[int, Bound]"
"""Textures, surfaces and samplers by 64-bit handle."""
