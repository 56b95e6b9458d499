"""Branches, calls, and related instructions."""

from __future__ import annotations

STRICTER: dict[str, str] = {}

LAXER: dict[str, str] = {
    r"^(call\b.* branches|brx\.\S* .* prototype);": (
        "which list a label names is found out by the check of modules, not of instructions"
    ),
    r"^call.* gmem; .*array expected": "an array of functions is told from another variable by its initializer alone",
}
