"""Asynchronous copies without bulk."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^cp\.async\.c[ag]\.shared::cta": (
        "the manual: ::cta arrived with PTX 7.8; ptxas takes it in cp.async from 7.0 on"
    ),
}

LAXER: dict[str, str] = {}
