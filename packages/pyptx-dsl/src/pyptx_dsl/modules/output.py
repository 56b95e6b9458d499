"""Outputs of a module: its PTX text, and its cubin from ptxas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import ArchError
from pyptx_dsl.tracing.trivia import left_open

if TYPE_CHECKING:
    from pyptx_dsl.modules.statements import Statements
    from pyptx_ir.syntax.nodes import Module
    from pyptx_ir.syntax.style import Style
    from pyptx_ir.toolchain import Assembly


def text_of(module: Module, style: Style | None) -> str:
    """Return the PTX text of a module; `style` formats the statements without explicit formatting."""
    from pyptx_ir.syntax import emit

    return emit(module) if style is None else emit(left_open(module), style)


def assembly_of(text: str, target: str, statements: Statements) -> Assembly:
    """Return ptxas's assembly of a module; report ptxas's messages at the Python lines of the statements."""
    from pyptx_dsl.inspect.answers import Listing, assembled

    if not target:
        raise ArchError("the module needs a .target to be compiled", help='write m.target("sm_90a") first')
    return assembled(Listing("the module", target, text, statements.line_origins(), statements.place, call="m.ptx()"))
