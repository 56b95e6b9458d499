"""Floating-point arithmetic."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^fma\.r[zmp]\.\S*bf16|^fma\S*\.oob|^fma\S*sat\S*bf16": (
        "ptxas ignores modifiers that fma does not have for the type: .rz, .rm, .rp and .sat with bf16, and .oob"
    ),
    r"^rcp(?=\S*\.r[nzmp]\b)(?=\S*\.ftz)\S*\.f64": (
        "ptxas ignores .ftz in rcp.f64 with a rounding modifier; the manual has it for .approx only"
    ),
    r"^testp\.f\d\d ": ("the manual requires the property to test as a modifier of testp"),
}

LAXER: dict[str, str] = {}
