"""Conversion of PTX instructions to the `ptx` calls that emit these instructions, for code generators."""

from pyptx_dsl.instructions.forms.call_forms import Argument, Call, expression, perform, source
from pyptx_dsl.instructions.forms.inversion import call_of

__all__ = ["Argument", "Call", "call_of", "expression", "perform", "source"]
