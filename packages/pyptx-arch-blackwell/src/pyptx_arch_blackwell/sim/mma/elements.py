"""Decoding of matrix elements from bytes in memory. Manual: "Packing formats of elements"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from pyptx_arch_blackwell.mma import container_bits
from pyptx_sim.numerics.operands import WIDEN

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_sim.extension import Array

__all__ = ["Decode", "memory_bits", "shared_decoder", "tensor_decoder", "used_bytes"]

Decode: TypeAlias = "Callable[[Array], Array]"
"""Decoder of matrix rows from bytes, `[…, bytes]`, to element values, `[…, elements]`."""

_CHUNK: Final = 16  # bytes of a shared memory chunk, which holds 16 elements of 4-, 6- or 8-bit types
_WIDTHS: Final = {"e2m1": 4, "e2m3": 6, "e3m2": 6}


def memory_bits(kind: str) -> int:
    """Return the bits of shared memory per element, including padding."""
    return container_bits(kind)


def used_bytes(kind: str, element: str) -> int:
    """Return how many of each 16 bytes of shared memory hold elements; the others are padding."""
    width = _WIDTHS.get(element, container_bits(kind))
    return _CHUNK if width >= container_bits(kind) else _CHUNK * width // 8


def shared_decoder(kind: str, element: str) -> Decode:
    """Return the decoder for shared memory, where kinds of 8-bit types pad 16 narrower elements to 16 bytes."""
    width = _WIDTHS.get(element)
    if width is None:
        return _whole(element)
    if container_bits(kind) == width:
        return lambda data: _narrow(element, _nibbles(data))
    used = _CHUNK * width // 8
    split = _nibbles if width == 4 else _sixes

    def decode(data: Array) -> Array:
        chunks = data.reshape(*data.shape[:-1], -1, _CHUNK)[..., :used]
        return _narrow(element, split(chunks)).reshape(data.shape)

    return decode


def tensor_decoder(kind: str, element: str) -> Decode:
    """Return the decoder for tensor memory, where kinds of 8-bit types store each narrower element in one byte."""
    width = _WIDTHS.get(element)
    if width is None or container_bits(kind) != width:
        return _whole(element)
    return lambda data: _narrow(element, _nibbles(data))


def _whole(element: str) -> Decode:
    """Return the decoder of elements of 8, 16 or 32 bits."""
    widen, size = WIDEN[element], {"f16": 2, "bf16": 2, "tf32": 4}.get(element, 1)
    dtype = np.dtype(f"<u{size}")
    return lambda data: widen(np.ascontiguousarray(data).view(dtype))


def _narrow(element: str, codes: Array) -> Array:
    """Return the values of 4- or 6-bit elements stored in bytes; a 4-bit element is in bits 2-5."""
    return WIDEN[element](codes << np.uint8(2) if _WIDTHS[element] == 4 else codes)


def _nibbles(data: Array) -> Array:
    """Return the two 4-bit elements in each byte as codes, the lower bits first."""
    return np.stack((data & 15, data >> 4), axis=-1).reshape(*data.shape[:-1], -1)


def _sixes(data: Array) -> Array:
    """Return the four 6-bit elements in each three bytes as codes, the lowest bits first."""
    threes = data.reshape(*data.shape[:-1], -1, 3).astype(np.uint32)
    words = threes[..., 0] | threes[..., 1] << 8 | threes[..., 2] << 16
    codes = np.stack([words >> 6 * place & 63 for place in range(4)], axis=-1).astype(np.uint8)
    return codes.reshape(*data.shape[:-1], -1)
