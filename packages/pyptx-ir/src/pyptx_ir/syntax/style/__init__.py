"""What compilers do to white space, as data: learnt from a text, and written with a tree."""

from pyptx_ir.syntax.style.deviations import Deviation, deviations, stripped
from pyptx_ir.syntax.style.learn import learn
from pyptx_ir.syntax.style.style import Style

__all__ = ["Deviation", "Style", "deviations", "learn", "stripped"]
