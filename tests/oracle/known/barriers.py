"""bar, barrier."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"\| immediate-range: .* must be (0|32) to 1024 in steps of 32 \| $": (
        "ptxas accepts any multiple of 32 as the number of threads; a CTA has at most 1024, so a larger barrier never"
        " completes"
    ),
}

LAXER: dict[str, str] = {}
