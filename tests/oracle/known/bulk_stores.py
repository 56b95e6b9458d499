"""st.bulk."""

from __future__ import annotations

STRICTER: dict[str, str] = {}

LAXER: dict[str, str] = {
    r"^st\.bulk\S* \[smem\].*\| Argument 1 of instruction 'add'": (
        "ptxas expands st.bulk into other instructions, and fails to add an offset to a variable's address"
    ),
}
