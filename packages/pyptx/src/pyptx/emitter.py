"""Emit PTX text from the syntax tree: `emit(parse(text)) == text`."""

from pyptx_ir.syntax import emit, spell
from pyptx_ir.syntax.style import Style, learn

__all__ = ["Style", "emit", "learn", "spell"]
