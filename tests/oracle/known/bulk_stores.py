"""st.bulk."""

from __future__ import annotations

STRICTER: dict[str, str] = {}

LAXER: dict[str, str] = {
    r"^st\.bulk\S* \[smem\].*\| Argument 1 of instruction 'add'": (
        "ptxas expands st.bulk, and cannot add to the address of a variable"
    ),
}
