"""Pictures as SVG and HTML for notebooks and files: escaped, without scripts, legible on light and dark pages."""

from pyptx_ir.drawing.markup import Markup, clean, element
from pyptx_ir.drawing.pages import notebook, page, table
from pyptx_ir.drawing.vector import LETTER, Drawing, cell, label, number, stacked, svg, text_lines

__all__ = [
    "LETTER",
    "Drawing",
    "Markup",
    "cell",
    "clean",
    "element",
    "label",
    "notebook",
    "number",
    "page",
    "stacked",
    "svg",
    "table",
    "text_lines",
]
