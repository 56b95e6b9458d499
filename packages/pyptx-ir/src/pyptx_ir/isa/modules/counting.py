"""Counts with singular or plural nouns, for messages."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return a count with its noun: `1 argument`, `2 arguments`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
