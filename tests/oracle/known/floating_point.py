"""Floating-point arithmetic."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^fma\.r[zmp]\.\S*bf16|^fma\S*\.oob|^fma\S*sat\S*bf16": ("ptxas drops modifiers that fma has not for these types"),
    r"^rcp(?=\S*\.r[nzmp]\b)(?=\S*\.ftz)\S*\.f64": ("ptxas drops .ftz; the manual has it for .approx alone"),
    r"^testp\.f\d\d ": ("the manual: the class is part of the instruction"),
}

LAXER: dict[str, str] = {}
