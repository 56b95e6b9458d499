"""Integer arithmetic, including extended precision."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^clmad\S*\.s64 ": (
        "the manual has clmad for .u64 only; ptxas accepts .s64, because a carry-less product has no sign"
    ),
    r"^(addc|subc|madc)\S*(\.[us]16|\.sat)\b": (
        "the manual has addc, subc and madc with 32 and 64 bits only, without .sat, like the .cc instruction that sets"
        " their carry"
    ),
}

LAXER: dict[str, str] = {}
