"""Texture sampling: coordinates, borders, filters, cube faces, levels of detail.

Coordinates are converted to texel positions along each axis. Linear filtering reads the two nearest texels of an axis,
with weights of 8 fractional bits in which 1 is exact. CUDA C++ Programming Guide: "Texture Fetching"; manual: "Texture
Sampler and Surface Types".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from pyptx_sim.errors import LaunchError
from pyptx_sim.numerics.transcendental import log2

if TYPE_CHECKING:
    from numpy.typing import NDArray

Numbers: TypeAlias = "NDArray[np.float64]"
Indices: TypeAlias = "NDArray[np.int64]"

ADDRESS_MODES: Final = ("wrap", "mirror", "clamp", "border")
FILTERS: Final = ("point", "linear")
COMPARISONS: Final = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}
_STEPS: Final = 256  # filter weights, of texels and of levels of detail, are multiples of 1 / 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """Texture sampling parameters.

    - `address`: mode outside of the texture, for all axes or for each, x first: `"clamp"` reads the nearest texel,
      `"border"` the color `border` (r, g, b, a), `"wrap"` and `"mirror"` the repeated texture. `"wrap"` and `"mirror"`
      require normalized coordinates; otherwise they act as `"clamp"`.
    - `filter`: `"point"` or `"linear"`. `mip_filter`: `"point"` or `"linear"` between levels of detail.
    - `normalized`: coordinates range from 0 to 1 along each axis.
    - `compare`: comparison of an instruction's depth with a texel: `"<="` gives 1 for a depth that is at most the
      texel's, else 0.

    CUDA C++ Programming Guide: "Texture Object API".
    """

    address: str | tuple[str, ...] = "clamp"
    filter: str = "point"
    mip_filter: str = "point"
    normalized: bool = False
    border: tuple[float, float, float, float] = (0, 0, 0, 0)
    compare: str | None = None

    def __post_init__(self) -> None:
        """Raise LaunchError for an unknown address mode, filter or comparison."""
        modes = (self.address,) if isinstance(self.address, str) else self.address
        asked = [*((mode, ADDRESS_MODES) for mode in modes), (self.filter, FILTERS), (self.mip_filter, FILTERS)]
        asked += [] if self.compare is None else [(self.compare, tuple(COMPARISONS))]
        for word, known in asked:
            if word not in known:
                raise LaunchError(f"unknown sampler option {word!r}", help=f"use one of: {', '.join(known)}")

    def mode(self, axis: int) -> str:
        """Return the address mode of an axis, 0 for x."""
        if isinstance(self.address, str):
            return self.address
        return self.address[min(axis, len(self.address) - 1)]


@dataclass(frozen=True, slots=True)
class Tap:
    """Texel that each thread reads along one axis: its index, its filter weight, and whether it is in the texture."""

    index: Indices
    weight: Numbers
    inside: NDArray[np.bool_]


def taps(
    coordinates: NDArray[Any], extent: int, sampler: Sampler, axis: int, offsets: NDArray[Any] | int = 0
) -> tuple[Tap, ...]:
    """Return the one or two texels that `coordinates` read along an axis of `extent` texels, shifted by `offsets`.

    Integer coordinates are texel indices and are not filtered.
    """
    mode = sampler.mode(axis)
    if coordinates.dtype.kind != "f":
        first = coordinates.astype(np.int64) + offsets
        return (_tap(first, np.ones(len(first)), extent, _plain(mode)),)
    position = np.nan_to_num(coordinates.astype(np.float64), posinf=_FAR, neginf=-_FAR)
    if sampler.normalized:
        position = _denormalized(position, extent, mode)
    else:
        mode = _plain(mode)
    if sampler.filter == "point":
        return (_tap(_floor(position) + offsets, np.ones(len(position)), extent, mode),)
    first = _floor(position - 0.5)
    weight = np.floor((position - 0.5 - first) * _STEPS + 0.5) / _STEPS
    first = first + offsets
    return _tap(first, 1 - weight, extent, mode), _tap(first + 1, weight, extent, mode)


_FAR: Final = 2.0**40  # replaces infinite coordinates: a texel index outside of every texture, but exact in float64


def _floor(values: Numbers) -> Indices:
    return np.floor(np.clip(values, -_FAR, _FAR)).astype(np.int64)


def _plain(mode: str) -> str:
    """Return the address mode that applies to coordinates that are not normalized."""
    return "border" if mode == "border" else "clamp"


def _denormalized(position: Numbers, extent: int, mode: str) -> Numbers:
    whole = np.floor(position)
    if mode == "wrap":
        position = position - whole
    elif mode == "mirror":
        rest = position - whole
        position = np.where(whole % 2 == 1, 1 - rest, rest)
    return position * extent


def _tap(index: Indices, weight: Numbers, extent: int, mode: str) -> Tap:
    inside = (index >= 0) & (index < extent)
    if mode == "border":
        return Tap(np.where(inside, index, 0), weight, inside)
    near = index % extent if mode == "wrap" else np.clip(index, 0, extent - 1)
    return Tap(near, weight, np.ones(len(index), np.bool_))


def faces(x: Numbers, y: Numbers, z: Numbers) -> tuple[Indices, Numbers, Numbers]:
    """Return the cube face that each direction (x, y, z) points to, and the normalized coordinates on that face.

    CUDA C++ Programming Guide: "Cubemap Textures".
    """
    across, down, along = np.abs(x), np.abs(y), np.abs(z)
    along_x = (across >= down) & (across >= along)
    along_y = ~along_x & (down >= along)
    cases = [along_x & (x >= 0), along_x, along_y & (y >= 0), along_y, z >= 0]
    face = np.select(cases, [0, 1, 2, 3, 4], 5).astype(np.int64)
    major: Numbers = np.maximum(np.maximum(across, down), along)
    major[major == 0] = 1
    s = np.choose(face, [-z, z, x, x, x, -x]) / major
    t = np.choose(face, [-y, -y, z, -z, -y, -y]) / major
    return face, (s + 1) / 2, (t + 1) / 2


def levels(detail: Numbers, count: int, mip_filter: str) -> tuple[tuple[Indices, Numbers], ...]:
    """Return the mipmap levels (of `count`) that are read at level of detail `detail`, with the levels' weights."""
    detail = np.clip(np.nan_to_num(detail), 0, count - 1)
    if mip_filter == "point":
        return ((_floor(detail + 0.5).clip(0, count - 1), np.ones(len(detail))),)
    lower = _floor(detail)
    weight = np.floor((detail - lower) * _STEPS + 0.5) / _STEPS
    return (lower, 1 - weight), (np.minimum(lower + 1, count - 1), weight)


def detail_of(gradients: tuple[tuple[Numbers, ...], ...], extents: tuple[int, ...]) -> Numbers:
    """Return the level of detail for the partial derivatives of the texture coordinates by x and by y."""
    lengths = [
        np.sqrt(sum((part * extent) ** 2 for part, extent in zip(parts, extents, strict=True))) for parts in gradients
    ]
    longest = np.maximum(*lengths)
    detail: Numbers = log2(np.where(longest > 0, longest, 1).astype(np.float32)).astype(np.float64)
    return detail
