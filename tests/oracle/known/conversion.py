"""cvt and related conversions."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^cvt\S*f16x2?\.f32 [^;]*%b128": "ptxas does not check 128-bit registers in cvt to f16",
}

LAXER: dict[str, str] = {
    r"^cvt\.rna\S*tf32\.f32 \S+ 1\.0;": (
        "in cvt.rna.tf32.f32, ptxas accepts 0f3F800000 but not 1.0; the related forms accept both"
    ),
    r"^cvt\S*\.ftz\S*(f32\.f64|[fsu]64\.f32)\b[^;]*%b128": (
        "ptxas converts some cvt.ftz with 64-bit types to moves, which do not support 128 bits"
    ),
}
