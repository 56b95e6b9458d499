"""Modes of tensor copies other than box and im2col: gathered rows, and pixel rows (`im2col::w`).

Manual: "`.tile::scatter4` and `.tile::gather4` modes", "im2col::w and im2col::w::128 modes".
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_arch_hopper.sim.tma.boxes import Descriptor, walk
from pyptx_sim.errors import MissingSemantics

if TYPE_CHECKING:
    from pyptx_sim.extension import IntArray, Mask

_ROWS: Final = 4
_PIXELS: Final = 128  # number of pixels that an im2col::w::128 copy moves


class Rows(Descriptor):
    """Copy of .tile::gather4 or ::scatter4: four matrix rows; `corner` is the first column and the row indices."""

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Extents of the copy: elements per row, and four rows."""
        return self.map.box[0], _ROWS

    def unfit(self) -> tuple[str, str] | None:
        """Return why .tile::gather4 and ::scatter4 cannot use the tensor map, and the remedy; None if they can."""
        if self.map.interleave:
            return (
                "tensor map is interleaved, but .tile::gather4 and ::scatter4 need none",
                "encode it without interleave",
            )
        if self.map.box[1] != 1:
            message = f"tensor map has boxes of {self.map.box[1]} rows, but .tile::gather4 and ::scatter4 need 1"
            return message, "encode the map with boxes of one row"
        return None

    def origin(self, corner: tuple[int, ...]) -> int | None:
        """Return None: the four rows of a gather4 copy have arbitrary coordinates, and so four addresses."""
        del corner
        return None

    def units(self, corner: tuple[int, ...], offsets: tuple[int, ...], unit: int) -> tuple[IntArray, Mask | None]:
        """Return the global address of each run of `unit` bytes, row by row, and which runs are in bounds."""
        del offsets
        record = self.map
        columns = corner[0] + np.arange(0, record.box[0], unit // record.itemsize, dtype=np.int64)
        rows = np.array(corner[1:], np.int64)
        addresses = record.address + rows[:, None] * record.strides[1] + columns * record.itemsize
        inside = _within(rows, record.extents[1])[:, None] & _within(columns, record.extents[0])
        return addresses.reshape(-1), inside.reshape(-1)


class PixelRows(Descriptor):
    """Elements of .im2col::w: pixels along the width of successive images, at fixed coordinates in other dimensions.

    Halo pixels are defined only by figures of the manual and not implemented: copies with a halo raise
    MissingSemantics.
    """

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Extents of the copy: channels and pixels."""
        return self.map.channels, self.map.pixels

    def unfit(self) -> tuple[str, str] | None:
        """Return why .im2col::w cannot use the tensor map, and the remedy; None if it can."""
        if self.map.interleave:
            return "tensor map is interleaved, but .im2col::w needs none", "encode it without interleave"
        return None

    def misplaced(self, corner: tuple[int, ...]) -> tuple[str, str] | None:
        """Return the fault of a copy's coordinates, and the remedy; None if they are valid."""
        _, high = self._bounds(1)
        if corner[1] > high:
            message = f"coordinate 1 is {corner[1]}, past the end of the bounding box ({high})"
            return message, "start inside the bounding box that the map's corners define, or before its first column"
        return None

    def units(self, corner: tuple[int, ...], offsets: tuple[int, ...], unit: int) -> tuple[IntArray, Mask | None]:
        """Return the global address of each element, channels innermost, and which elements are in bounds."""
        assert unit == self.itemsize  # noqa: S101 - im2col copies move single elements
        halo, shift = offsets
        if halo:
            raise MissingSemantics("no simulator semantics for tensor copies with .im2col::w and a halo")
        record, last = self.map, self.rank - 1
        low, high = self._bounds(1)
        place, image = walk(
            np.arange(self.shape[1], dtype=np.int64), corner[1] + shift, (low + shift, high + shift), record.steps[1]
        )
        channels = corner[0] + np.arange(record.channels, dtype=np.int64)
        image = corner[last] + image
        address = record.address + place * record.strides[1] + image * record.strides[last]
        inside = _within(place, record.extents[1]) & _within(image, record.extents[last])
        for axis in range(2, last):
            address += corner[axis] * record.strides[axis]
            inside &= 0 <= corner[axis] < record.extents[axis]
        addresses = address[:, None] + channels * record.itemsize
        return addresses.reshape(-1), (inside[:, None] & _within(channels, record.extents[0])).reshape(-1)


class ManyPixelRows(PixelRows):
    """Elements of .im2col::w::128: pixel rows of 128 pixels, independent of the map's pixel count."""

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Extents of the copy: channels and pixels."""
        return self.map.channels, _PIXELS


MODES: Final[dict[str, type[Descriptor]]] = {
    "tile::gather4": Rows,
    "tile::scatter4": Rows,
    "im2col::w": PixelRows,
    "im2col::w::128": ManyPixelRows,
}
"""Classes of tensor copy modes, by modifier."""


@lru_cache(maxsize=256)
def walked(described: Descriptor, mode: str) -> Descriptor:
    """Return the `Descriptor` of the map for a copy mode; `described` itself for box and im2col copies."""
    return MODES[mode](described.map, described.packing) if mode in MODES else described


def _within(places: IntArray, extent: int) -> Mask:
    return (places >= 0) & (places < extent)
