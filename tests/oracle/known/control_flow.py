"""Branches, calls, and related instructions."""

from __future__ import annotations

STRICTER: dict[str, str] = {}

LAXER: dict[str, str] = {
    r"^(call\b.* branches|brx\.\S* .* prototype);": (
        "the check of the module, not of the instruction, finds whether a label names branch targets or a prototype"
    ),
    r"^call.* gmem; .*array expected": "only the initializer distinguishes an array of functions from another variable",
}
