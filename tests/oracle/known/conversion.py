"""cvt and related conversions."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^cvt\S*f16x2?\.f32 [^;]*%b128": "ptxas checks nothing about registers of 128 bits in cvt to f16",
}

LAXER: dict[str, str] = {
    r"^cvt\.rna\S*tf32\.f32 \S+ 1\.0;": "ptxas takes the number spelt 0f3F800000, and its siblings take both",
    r"^cvt\S*\.ftz\S*(f32\.f64|[fsu]64\.f32)\b[^;]*%b128": "ptxas makes moves of these, which take no 128 bits",
}
