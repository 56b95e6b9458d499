"""cp.async without bulk."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^cp\.async\.c[ag]\.shared::cta": ("the manual has ::cta since PTX 7.8; ptxas accepts it in cp.async since 7.0"),
}

LAXER: dict[str, str] = {}
