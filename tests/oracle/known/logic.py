"""Logic and shifts."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^lop3\.b32 _,": "ptxas takes the sink for the only result; the manual has it beside a predicate alone",
}

LAXER: dict[str, str] = {}
