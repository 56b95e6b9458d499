"""Whitespace styles of compilers, as data: inferred from a text, and applied to a tree."""

from typing import NoReturn

from pyptx_ir.renamed import missing_attribute
from pyptx_ir.syntax.style.deviations import Deviation, deviations, stripped
from pyptx_ir.syntax.style.formatting import FormattingError, formatted
from pyptx_ir.syntax.style.inference import infer_style, style_and_items
from pyptx_ir.syntax.style.known import KNOWN
from pyptx_ir.syntax.style.style import Style

__all__ = [
    "KNOWN",
    "Deviation",
    "FormattingError",
    "Style",
    "deviations",
    "formatted",
    "infer_style",
    "stripped",
    "style_and_items",
]


def __getattr__(name: str) -> NoReturn:
    raise missing_attribute(__name__, name)
