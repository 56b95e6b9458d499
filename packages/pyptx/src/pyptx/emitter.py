"""From the tree back to text: `emit(parse(text)) == text`."""

from pyptx_ir.syntax import emit, spell

__all__ = ["emit", "spell"]
