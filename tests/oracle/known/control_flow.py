"""Branches, calls, and what stands beside them."""

from __future__ import annotations

STRICTER: dict[str, str] = {}

LAXER: dict[str, str] = {
    r"^call.* gmem; .*array expected": "an array of functions is told from another variable by its initializer alone",
}
