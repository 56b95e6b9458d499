"""ld, st, prefetch and their kin."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^prefetch\.L2::evict": ("the manual: this hint goes with .global"),
}

LAXER: dict[str, str] = {}
