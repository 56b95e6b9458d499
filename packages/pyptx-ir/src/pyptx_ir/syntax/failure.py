"""How the parsers say that a statement does not parse."""

from __future__ import annotations

from pyptx_ir.syntax.spans import Span


class Failure(Exception):  # noqa: N818 - internal: the driver turns it into a PtxSyntaxError
    """A statement does not parse: what, where, and what to do. Never leaves the package."""

    def __init__(self, message: str, start: int, end: int, hint: str | None = None) -> None:
        """Remember the offsets of the offending text."""
        super().__init__(message)
        self.message = message
        self.span = Span(start, end)
        self.hint = hint
