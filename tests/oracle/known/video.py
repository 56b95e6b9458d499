"""Video instructions."""

from __future__ import annotations

STRICTER: dict[str, str] = {}

LAXER: dict[str, str] = {}
