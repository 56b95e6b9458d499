"""The ways by which copies walk through a tensor beside boxes and columns: rows here and there, and rows of pixels.

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
_PIXELS: Final = 128  # of im2col::w::128


class Rows(Descriptor):
    """Four rows of a matrix, which lie together in shared memory: a corner is the first column, and the rows."""

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The elements of a row, and the rows."""
        return self.map.box[0], _ROWS

    def unfit(self) -> tuple[str, str] | None:
        """Return what such copies cannot use of a map, and what to do."""
        if self.map.interleave or self.map.box[1] != 1:
            what = "an interleaved tensor" if self.map.interleave else f"boxes of {self.map.box[1]} rows"
            return f"a tensor map of {what}", "encode the map for boxes of one row"
        return None

    def origin(self, corner: tuple[int, ...]) -> int | None:
        """Return None: no pattern tells where the rows lie."""
        del corner
        return None

    def units(self, corner: tuple[int, ...], offsets: tuple[int, ...], unit: int) -> tuple[IntArray, Mask | None]:
        """Return the address of each `unit` bytes, row by row, and which are in bounds."""
        del offsets
        record = self.map
        columns = corner[0] + np.arange(0, record.box[0], unit // record.itemsize, dtype=np.int64)
        rows = np.array(corner[1:], np.int64)
        addresses = record.address + rows[:, None] * record.strides[1] + columns * record.itemsize
        inside = _within(rows, record.extents[1])[:, None] & _within(columns, record.extents[0])
        return addresses.reshape(-1), inside.reshape(-1)


class PixelRows(Descriptor):
    """Pixels along the width of images, from image to image, at one place of all other dimensions.

    What the figures of the manual alone say is not known here: where the pixels of a halo lie, so that copies with one
    raise MissingSemantics.
    """

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The channels, and the pixels."""
        return self.map.channels, self.map.pixels

    def unfit(self) -> tuple[str, str] | None:
        """Return what such copies cannot use of a map, and what to do."""
        return ("a tensor map of an interleaved tensor", "such copies have none") if self.map.interleave else None

    def misplaced(self, corner: tuple[int, ...]) -> tuple[str, str] | None:
        """Return what is wrong with the coordinates of a copy, and what to do; None if nothing is."""
        _, high = self._bounds(1)
        if corner[1] > high:
            message = f"coordinate 1 is {corner[1]}, behind the bounding box, which ends at {high}"
            return message, "begin inside of the box that the map's corners leave, or to the left of it"
        return None

    def units(self, corner: tuple[int, ...], offsets: tuple[int, ...], unit: int) -> tuple[IntArray, Mask | None]:
        """Return the address of each element, the channels innermost, and which are in bounds."""
        assert unit == self.itemsize  # noqa: S101 - columns are never moved by larger units
        halo, shift = offsets
        if halo:
            raise MissingSemantics("the simulator has no semantics for tensor copies by im2col::w with a halo")
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
    """The same, of 128 pixels whatever the map says."""

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The channels, and the pixels."""
        return self.map.channels, _PIXELS


MODES: Final[dict[str, type[Descriptor]]] = {
    "tile::gather4": Rows,
    "tile::scatter4": Rows,
    "im2col::w": PixelRows,
    "im2col::w::128": ManyPixelRows,
}
"""The words of opcodes that mean such a way, and what a map then names."""


@lru_cache(maxsize=256)
def walked(described: Descriptor, mode: str) -> Descriptor:
    """Return what copies in a mode name by a sound map, by the word of the opcode; those of boxes and columns alike."""
    return MODES[mode](described.map, described.packing) if mode in MODES else described


def _within(places: IntArray, extent: int) -> Mask:
    return (places >= 0) & (places < extent)
