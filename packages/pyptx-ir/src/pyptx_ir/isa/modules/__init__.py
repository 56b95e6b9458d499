"""Checking whole modules: names and scopes, calls, parameters, limits, directives, and every instruction."""

from __future__ import annotations

from pyptx_ir.isa.modules.check import check_module, check_text
from pyptx_ir.isa.modules.diagnostic import Diagnostic, shown

__all__ = ["Diagnostic", "check_module", "check_text", "shown"]
