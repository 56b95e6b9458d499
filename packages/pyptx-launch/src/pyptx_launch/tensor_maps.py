"""Tensor maps: descriptors for TMA copies of a tensor at any address. Driver API, "Tensor Map Object"."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from pyptx_launch import _shim, libcuda
from pyptx_launch.tensor_map_rules import FILLS, INTERLEAVES, PROMOTIONS, SWIZZLES, TYPES, Im2colLike, checked

if TYPE_CHECKING:
    from typing import Self


@runtime_checkable
class TensorMapLike(Protocol):
    """Protocol of `pyptx_ir.plugins.rows.TensorMap`; see `TensorMap` for the fields."""

    @property
    def dtype(self) -> str:
        """PTX element type."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the tensor."""
        ...

    @property
    def strides(self) -> tuple[int, ...]:
        """Strides of the tensor in bytes."""
        ...

    @property
    def box(self) -> tuple[int, ...]:
        """Extents of the box."""
        ...

    @property
    def element_strides(self) -> tuple[int, ...]:
        """Traversal strides of a copy along each dimension, in elements."""
        ...

    @property
    def swizzle(self) -> str:
        """Swizzle pattern in shared memory."""
        ...

    @property
    def interleave(self) -> str:
        """Interleave mode of channels."""
        ...

    @property
    def l2_promotion(self) -> str:
        """L2 promotion: size of L2 fetches."""
        ...

    @property
    def fill(self) -> str:
        """Value of out-of-bounds elements."""
        ...

    @property
    def im2col(self) -> Im2colLike | None:
        """im2col mode: columns of pixels that a copy transfers instead of a box."""
        ...


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A tensor of one to five dimensions and the box of one copy, innermost dimension last, as in an array's shape.

    `dtype` is a PTX name (`f32`, `bf16`, `e4m3`, `tf32`, `f32.ftz`, `b4x16`, …). `strides` are bytes, one for each
    dimension; the innermost is the element size. `box` and `element_strides` count elements. `swizzle` is `none`,
    `32B`, `64B`, `128B`, `128B_atom_32B`, `128B_atom_32B_flip_8B` or `128B_atom_64B`; `interleave` `none`, `16B` or
    `32B`; `l2_promotion` `none`, `64B`, `128B` or `256B`; `fill` `zeros` or `nan`. With `im2col`, the copy moves
    columns of pixels instead of a box, and `box` is empty.

    The constructor raises TensorMapError for a map that violates a hardware rule.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    swizzle: str = "none"
    interleave: str = "none"
    l2_promotion: str = "none"
    fill: str = "zeros"
    im2col: Im2colLike | None = None

    def __post_init__(self) -> None:
        """Check the fields against the hardware's rules; raise TensorMapError for the first violated rule."""
        checked(self)

    @classmethod
    def dense(
        cls,
        dtype: str,
        shape: tuple[int, ...],
        box: tuple[int, ...],
        *,
        swizzle: str = "none",
        l2_promotion: str = "none",
        fill: str = "zeros",
    ) -> Self:
        """Return the tensor map of a contiguous tensor, with a box of adjacent elements."""
        bits = TYPES[dtype].bits if dtype in TYPES else 8  # 8 bits for an unknown dtype, which the constructor rejects
        strides = [max(1, bits // 8)]
        for step in range(1, len(shape)):
            strides.append(bits * shape[-1] // 8 if step == 1 else strides[-1] * shape[-step])
        return cls(dtype, shape, tuple(reversed(strides)), box, (1,) * len(shape), swizzle, "none", l2_promotion, fill)

    @property
    def alignment(self) -> int:
        """Required alignment of the tensor's address, in bytes."""
        return checked(self).alignment

    def encode(self, address: int) -> bytes:
        """Return the driver's 128-byte encoding for a tensor at `address`; store it with 64-byte alignment."""
        arguments = packed(self)
        libcuda.open_driver()
        return _shim.encode_map(arguments, address)


# struct format of MapArguments in the native extension (tensor_map.h).
_LAYOUT: Final = struct.Struct("@iI5Q5Q5I5I4iIi5i5iII")


def packed(map_: TensorMapLike) -> bytes:
    """Check a tensor map and return its fields as the native extension's arguments, innermost dimension first."""
    im2col = map_.im2col
    view = checked(map_)
    # im2col corner offsets start with the innermost dimension, like the extents and like CUTLASS's order (W, H, D).
    corners = ((), ()) if im2col is None else (im2col.lower[::-1], im2col.upper[::-1])
    arrays = (view.shape, view.strides[1:], view.box, view.element_strides)
    return _LAYOUT.pack(
        view.type.number,
        view.rank,
        *(number for array in arrays for number in _five(array)),
        INTERLEAVES[view.interleave],
        SWIZZLES[view.swizzle].number,
        PROMOTIONS[view.l2_promotion],
        FILLS[view.fill],
        view.alignment,
        im2col is not None,
        *(number for corner in corners for number in _five(corner)),
        0 if im2col is None else im2col.channels,
        0 if im2col is None else im2col.pixels,
    )


def _five(numbers: tuple[int, ...]) -> tuple[int, ...]:
    return numbers + (0,) * (5 - len(numbers))
