"""Logic and shifts."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^lop3\.b32 _,": ("ptxas accepts `_` as the only result of lop3; the manual requires a predicate, too"),
}

LAXER: dict[str, str] = {}
