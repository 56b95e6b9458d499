"""Validation of the `style` argument of `m.ptx`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError

if TYPE_CHECKING:
    from pyptx_ir.syntax.style import Style

__all__ = ["chosen_style"]


def chosen_style(style: object) -> Style | None:
    """Return a `Style`, or the known style with this name; raise OperandError for any other value."""
    if style is None:
        return None
    from pyptx_ir.syntax.style import KNOWN, Style

    if isinstance(style, Style):
        return style
    if isinstance(style, str) and style in KNOWN:
        return KNOWN[style]
    raise OperandError(
        f"unknown style {style!r}", help=f"use {', '.join(KNOWN)}, or the result of style.infer_style for a parsed text"
    )
