"""PTX types as NumPy dtypes.

Integer and bit types map to integers (`b32` is unsigned) and `f16 f32 f64` to floats. `bf16` and every other format
that NumPy lacks are raw bits. Packed formats (`f16x2`, `bf16x2`, `e4m3x4`, …) are one unsigned integer. `pred` is bool.
`b128` is a structure of two 64-bit words, `lo` and `hi`, little-endian as in memory.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from pyptx_ir.isa.scalar_types import HELD_BY, SIZES, WIDTHS

DType: TypeAlias = np.dtype[Any]

B128: DType = np.dtype([("lo", "<u8"), ("hi", "<u8")])
# dtype of 16-byte registers, which are only moved: NumPy copies, gathers and scatters it at full speed, for any bits.
SIXTEEN: DType = np.dtype(np.complex128)

_EXACT: dict[str, str] = {"pred": "?", "f16": "<f2", "f32": "<f4", "f64": "<f8", "tf32": "<u4"}
_INTEGER_KINDS = {"u": "u", "b": "u", "s": "i"}

# Bits of the raw integer for each format that NumPy lacks: the width of the register that holds the format. Formats
# without a register type: 32 for the integers of MMA operands (`u4`, `b1`), 8 for floats. 64 for handles of textures,
# samplers and surfaces. Manual: "Alternate Floating-Point Data Formats", "Packed Data Types".
_RAW_BITS: dict[str, int] = {
    **{name: WIDTHS[name] for name in HELD_BY if name not in _EXACT},
    **{name: 32 if name[1:].isdecimal() else 8 for name in WIDTHS.keys() - SIZES.keys() - HELD_BY.keys()},
    **dict.fromkeys(("texref", "samplerref", "surfref"), 64),
}


@lru_cache(maxsize=256)
def dtype_of(ptx_type: str) -> DType:
    """Return the dtype of the PTX type named `ptx_type` (without its dot); KeyError for any other name."""
    exact = _EXACT.get(ptx_type)
    if exact is not None:
        return np.dtype(exact)
    if ptx_type == "b128":
        return B128
    raw = _RAW_BITS.get(ptx_type)
    if raw is not None:
        return np.dtype(f"<u{raw // 8}")
    return np.dtype(f"<{_INTEGER_KINDS[ptx_type[:1]]}{SIZES[ptx_type] // 8}")


def is_type(word: str) -> bool:
    """Return whether `word`, a dotted part of an opcode, is a PTX type."""
    try:
        dtype_of(word)
    except KeyError:
        return False
    return True


def packed_element(ptx_type: str) -> str:
    """Return the element type of a packed type, `u16` for `u16x2`; an empty string for other types."""
    element, _, count = ptx_type.partition("x")
    return element if count.isdecimal() else ""


def byte_size(ptx_type: str) -> int:
    """Return the size of `ptx_type` in memory in bytes; 1 for `pred`, which cannot be in memory."""
    return int(dtype_of(ptx_type).itemsize)


def is_signed(ptx_type: str) -> bool:
    """Return whether writing `ptx_type` into a wider register extends the sign."""
    return ptx_type[:1] == "s" and ptx_type[1:].isdigit()


@lru_cache(maxsize=32)
def bits_dtype(size: int) -> DType:
    """Return the unsigned dtype of `size` bytes, in which registers of that width are stored (16: `B128`)."""
    return B128 if size == 16 else np.dtype(f"<u{size}")
