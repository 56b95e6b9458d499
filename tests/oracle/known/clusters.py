"""barrier.cluster, mapa, getctarank."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^(mapa|getctarank)\S*\.s(32|64)": ("the manual has .u32 and .u64 alone; ptxas takes signed ones for the same"),
}

LAXER: dict[str, str] = {}
