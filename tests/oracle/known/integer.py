"""Integer arithmetic, with extended precision."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^clmad\S*\.s64 ": "the manual: clmad is for .u64 alone; without carries a sign means nothing",
    r"^(addc|subc|madc)\S*(\.[us]16|\.sat)\b": (
        "the manual: extended precision has 32 and 64 bits and no .sat, as has its first instruction, the one with .cc"
    ),
}

LAXER: dict[str, str] = {}
