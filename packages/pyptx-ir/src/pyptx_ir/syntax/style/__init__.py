"""Whitespace styles of compilers, as data: inferred from a text, and applied to a tree."""

from pyptx_ir.syntax.style.deviations import Deviation, deviations, stripped
from pyptx_ir.syntax.style.formatting import FormattingError, formatted
from pyptx_ir.syntax.style.known import KNOWN
from pyptx_ir.syntax.style.learn import learn, learned
from pyptx_ir.syntax.style.style import Style

__all__ = ["KNOWN", "Deviation", "FormattingError", "Style", "deviations", "formatted", "learn", "learned", "stripped"]
