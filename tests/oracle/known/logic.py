"""Logic and shifts."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^lop3\.b32 _,": "ptxas accepts `_` as the only result; the manual wants a predicate as well",
}

LAXER: dict[str, str] = {}
