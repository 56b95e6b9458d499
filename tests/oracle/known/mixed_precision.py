"""Arithmetic on two widths at once, and on four numbers of 8, 6 or 4 bits."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^(add|sub|fma)\.\S*f32\.bf16\S* .*(integer literal|\.[us]16 register); it must be a \.b16": (
        "ptxas 13.0 takes 16-bit integers for .bf16; 13.5 does not"
    ),
    r"^(add|sub)\.(ftz\.f16x2|bf16x2)\.f32x2\.f32x2 |^(add|sub)\.f16x2\.f32x2\.f32x2\.ftz ": (
        "the manual: narrowing rounds with .rz, spelt out; ptxas lets it be left out"
    ),
}

LAXER: dict[str, str] = {}
