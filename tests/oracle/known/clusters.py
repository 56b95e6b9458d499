"""barrier.cluster, mapa, getctarank."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^(mapa|getctarank)\S*\.s(32|64)": (
        "the manual has mapa and getctarank with .u32 and .u64 only; ptxas accepts .s32 and .s64 as equivalent"
    ),
}

LAXER: dict[str, str] = {}
