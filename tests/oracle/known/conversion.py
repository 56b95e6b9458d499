"""cvt and its kin."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^cvt\S*f16x2?\.f32 ": ("ptxas checks nothing about registers of 128 bits in cvt to f16"),
}

LAXER: dict[str, str] = {}
