"""bar, barrier."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"\| immediate-range: .* must be (0|32) to 1024 in steps of 32 \| $": (
        "ptxas takes any multiple of 32; a block has at most 1024 threads, so such a barrier would never complete"
    ),
}

LAXER: dict[str, str] = {}
