"""Texture fetch of one thread in scalar arithmetic. CUDA C++ Programming Guide: "Texture Fetching"."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np


def index_of(i: int, size: int, mode: str) -> int | None:
    """Return the texel of index `i` by the address mode; None for the border."""
    if mode == "border":
        return i if 0 <= i < size else None
    if mode == "wrap":
        return i % size
    return min(max(i, 0), size - 1)


def axis(
    x: float, size: int, mode: str, filter_: str, offset: int, *, normalized: bool
) -> list[tuple[int | None, float]]:
    """Return the indices along an axis of the texels that a fetch reads (None: border), with their weights."""
    if normalized:
        if mode == "wrap":
            x -= math.floor(x)
        elif mode == "mirror":
            x = x - math.floor(x) if math.floor(x) % 2 == 0 else 1 - (x - math.floor(x))
        x *= size
    elif mode != "border":
        mode = "clamp"
    if filter_ == "point":
        return [(index_of(math.floor(x) + offset, size, mode), 1.0)]
    i = math.floor(x - 0.5)
    alpha = round((x - 0.5 - i) * 256 + 1e-9) / 256
    return [(index_of(i + offset, size, mode), 1 - alpha), (index_of(i + 1 + offset, size, mode), alpha)]


def fetch(
    array: Any,
    point: list[float],
    *,
    modes: list[str],
    filter: str = "point",  # noqa: A002 - the sampler's word
    normalized: bool = False,
    border: tuple[float, ...] = (0, 0, 0, 0),
    offsets: tuple[int, ...] = (0, 0, 0),
) -> list[float]:
    """Return four components at a point (x first) of an array `[z, y, x, channels]`, `[y, x, …]` or `[x, …]`."""
    sizes = array.shape[-2::-1]
    along = [
        axis(float(x), size, mode, filter, offset, normalized=normalized)
        for x, size, mode, offset in zip(point, sizes, modes, offsets, strict=False)
    ]
    total = [0.0] * 4
    for corner in itertools.product(*along):
        weight = math.prod(weight for _, weight in corner)
        places = [place for place, _ in corner]
        for channel in range(4):
            total[channel] += weight * _component(array, places, channel, border)
    return total


def _component(array: Any, places: list[int | None], channel: int, border: tuple[float, ...]) -> float:
    if None in places:
        return float(border[channel])
    if channel >= array.shape[-1]:
        return 1.0 if channel == 3 else 0.0
    return fraction(array[(*places[::-1], channel)])


def fraction(value: Any) -> float:
    """Return a float unchanged, and an integer as a fraction of the greatest value of its type."""
    if value.dtype.kind == "f":
        return float(value)
    return max(float(value) / np.iinfo(value.dtype).max, -1.0)


def face(x: float, y: float, z: float) -> tuple[int, float, float]:
    """Return the face of a cube in a direction, and the coordinates on the face, by the guide's table."""
    if abs(x) >= abs(y) and abs(x) >= abs(z):
        number, m, s, t = (0, x, -z, -y) if x >= 0 else (1, -x, z, -y)
    elif abs(y) >= abs(z):
        number, m, s, t = (2, y, x, z) if y >= 0 else (3, -y, x, -z)
    else:
        number, m, s, t = (4, z, x, -y) if z >= 0 else (5, -z, -x, -y)
    return number, (s / m + 1) / 2, (t / m + 1) / 2
