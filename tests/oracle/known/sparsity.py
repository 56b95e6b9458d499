"""spcompress and spdecompress."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^spcompress\S* .*, (0[fd]|\d+\.)\w+; \|": (
        "the descriptor operand must be a register; ptxas also accepts floating-point constants"
    ),
}

LAXER: dict[str, str] = {}
