"""spcompress and spdecompress."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^spcompress\S* .*, (0[fd]|\d+\.)\w+; \|": "a descriptor is a register; ptxas refuses integers alone in its place",
}

LAXER: dict[str, str] = {}
