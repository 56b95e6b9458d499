"""Printing of long function bodies as string literals: CPython would need hundreds of MB to import them as code.

`pyptx_dsl.modules.pieces` executes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx_transpile.printing.page import Page

__all__ = ["MOST_LINES", "hold_in_text"]

MOST_LINES = 20_000
"""Maximum number of Python lines of a file outside string literals; CPython needs some 130 MB to parse them."""

_FEW = 4  # minimum lines of a function body that is moved to a string literal
_QUOTES = ('"""', "'''")


def hold_in_text(page: Page, header: int) -> None:
    """Move the body of a printed function to a string literal, unless it is short or contains both kinds of quotes."""
    body = page.lines[header:]
    quotes = next((each for each in _QUOTES if not any(each in line for line in body)), None)
    if quotes is None or len(body) < _FEW:
        return
    page.insert(len(page.lines), f"    {quotes}")
    page.insert(header, f"    return r{quotes}")
    at = next(at for at, line in enumerate(page.lines) if line.startswith("def "))
    end = next(at for at, line in enumerate(page.lines[at:], at) if line.endswith(" -> None:"))
    page.lines[end] = page.lines[end].replace(" -> None:", " -> str:")
    page.insert(at, "@pyptx.text_body")
