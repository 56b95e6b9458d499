"""st.bulk."""

from __future__ import annotations

STRICTER: dict[str, str] = {}

LAXER: dict[str, str] = {
    r"^st\.bulk\S* \[smem\].*\| Argument 1 of instruction 'add'": (
        "ptxas replaces the instruction by others, and fails to add to a variable's address"
    ),
}
