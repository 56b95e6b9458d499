"""Check whole modules: names and scopes, calls, parameters, limits, directives, and every instruction."""

from __future__ import annotations

from pyptx_ir.isa.modules.check import check_module, check_text
from pyptx_ir.isa.modules.diagnostic import Diagnostic, shown
from pyptx_ir.isa.modules.files import FileReport, check_files
from pyptx_ir.isa.modules.portability import Portability, portability

__all__ = [
    "Diagnostic",
    "FileReport",
    "Portability",
    "check_files",
    "check_module",
    "check_text",
    "portability",
    "shown",
]
