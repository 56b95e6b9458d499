"""TMA im2col mode: columns of pixels instead of boxes, which makes a convolution a GEMM.

    window = Im2col.convolution((3, 3), pixels=128, channels=64, padding=1)
    Tile("N", "H", "W", "C", bf16, layout=Layout.TMA_128B, im2col=window)

Manual: "Tensors", "im2col mode"; CUDA driver API: "Tensor Map Object Management".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import SpecError
from pyptx_dsl.registers.operands import as_count
from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Im2col"]

_MOST_PIXELS, _MOST_CHANNELS, _MOST_STRIDE = 1024, 256, 8
# Number of spatial dimensions -> bits of each signed offset in `lower` and `upper` of an im2col tensor map.
_CORNER_BITS = {1: 16, 2: 8, 3: 5}


@value
class Im2col(Value):
    """Pixels of one TMA copy of a tensor N x (D x H x) W x C: `pixels` pixels in this order, `channels` of each.

    The copy starts at the pixel of its coordinates and advances by `strides` through a bounding box, image after image.
    `lower` and `upper` have one offset for each of D, H and W: `lower` is the start of the box relative to the first
    pixel, `upper` its end relative to the last pixel. The copy's offsets (the position in the filter) are added to
    every pixel; pixels outside the tensor are filled. `convolution` computes these values from a filter.
    """

    pixels: int
    channels: int
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    strides: tuple[int, ...]

    def __post_init__(self) -> None:
        """Raise SpecError for values that a tensor map cannot encode."""
        spatial = len(self.lower)
        if not len(self.upper) == len(self.strides) == spatial or spatial not in _CORNER_BITS:
            raise SpecError(
                f"{self!r}: lower, upper and strides must have one entry for each of W, H and D",
                help="pass one to three entries: the tensor has three to five dimensions",
            )
        for what, number, most in (
            ("pixels", self.pixels, _MOST_PIXELS),
            ("channels", self.channels, _MOST_CHANNELS),
            *(("stride", stride, _MOST_STRIDE) for stride in self.strides),
        ):
            if not 1 <= (as_count(number) or 0) <= most:
                raise SpecError(f"{self!r}: {what} must be 1 to {most}, got {number}")
        limit = 1 << _CORNER_BITS[spatial] - 1
        if not all(-limit <= offset < limit for offset in (*self.lower, *self.upper)):
            raise SpecError(
                f"{self!r}: corner offsets with {spatial} spatial dimensions must be {-limit} to {limit - 1}"
            )

    @classmethod
    def convolution(
        cls,
        filter_size: Sequence[int],
        *,
        pixels: int,
        channels: int,
        padding: int | Sequence[int] = 0,
        stride: int | Sequence[int] = 1,
        dilation: int | Sequence[int] = 1,
    ) -> Im2col:
        """Return a convolution's im2col mode: pixel i of a copy belongs to output i, counted from the copy's first.

        `filter_size` is (D, H,) W. The first output's coordinates are `lower`; the filter element (y, x) has the
        offsets (x * dilation, y * dilation).
        """
        count = len(filter_size)
        before, steps, gaps = (_each(value, count) for value in (padding, stride, dilation))
        if len({count, len(before), len(steps), len(gaps)}) > 1:
            raise SpecError(
                f"invalid filter {tuple(filter_size)} with padding {before}, stride {steps} and dilation {gaps}",
                help="pass one number for all dimensions, or one for each",
            )
        after = (pad - (size - 1) * gap for pad, size, gap in zip(before, filter_size, gaps, strict=True))
        return cls(pixels, channels, tuple(-pad for pad in before), tuple(after), steps)

    def outputs(self, extents: Sequence[int]) -> tuple[int, ...]:
        """Return the convolution's number of outputs in each of D, H and W for an input tensor with these extents."""
        corners = zip(extents, self.lower, self.upper, self.strides, strict=True)
        return tuple(len(range(low, extent + high, step)) for extent, low, high, step in corners)


def _each(value: int | Sequence[int], count: int) -> tuple[int, ...]:
    return (value,) * count if isinstance(value, int) else tuple(value)
