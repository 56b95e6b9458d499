"""Arithmetic with mixed precision, and on four packed numbers of 8, 6 or 4 bits."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^(add|sub|fma)\.\S*f32\.bf16\S* .*(integer literal|\.[us]16 register); it must be a \.b16": (
        "ptxas 13.0 accepts 16-bit integers for .bf16; ptxas 13.5 does not"
    ),
    r"^(add|sub)\.(ftz\.f16x2|bf16x2)\.f32x2\.f32x2 |^(add|sub)\.f16x2\.f32x2\.f32x2\.ftz ": (
        "the manual requires an explicit .rz for narrowing; ptxas does not"
    ),
}

LAXER: dict[str, str] = {}
