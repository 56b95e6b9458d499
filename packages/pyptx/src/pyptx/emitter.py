"""Emit PTX text from the syntax tree: `emit(parse(text)) == text`."""

from typing import NoReturn

from pyptx_ir.renamed import missing_attribute
from pyptx_ir.syntax import emit, spell
from pyptx_ir.syntax.style import Style, infer_style

__all__ = ["Style", "emit", "infer_style", "spell"]


def __getattr__(name: str) -> NoReturn:
    raise missing_attribute(__name__, name)
