"""Files that CPython would need hundreds of MB to import: their bodies stand in texts, which run piece by piece.

See `pyptx_dsl.modules.pieces`, which runs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx_transpile.page import Page

__all__ = ["MOST_LINES", "hold_in_text"]

MOST_LINES = 20_000
"""A file has no more lines of Python than that outside of texts; CPython reads them in some 130 MB."""

_FEW = 4  # lines of a body that stays as it is
_QUOTES = ('"""', "'''")


def hold_in_text(page: Page, header: int) -> None:
    """Put the lines of a definition that stand behind its header into a text, if they are many and quotes allow it."""
    body = page.lines[header:]
    quotes = next((each for each in _QUOTES if not any(each in line for line in body)), None)
    if quotes is None or len(body) < _FEW:
        return
    page.insert(len(page.lines), f"    {quotes}")
    page.insert(header, f"    return r{quotes}")
    at = next(at for at, line in enumerate(page.lines) if line.startswith("def "))
    end = next(at for at, line in enumerate(page.lines[at:], at) if line.endswith(" -> None:"))
    page.lines[end] = page.lines[end].replace(" -> None:", " -> str:")
    page.insert(at, "@pyptx.in_pieces")
