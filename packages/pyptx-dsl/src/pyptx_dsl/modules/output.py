"""What becomes of a module: its text, and what ptxas makes of that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import ArchError, OperandError
from pyptx_dsl.tracing.leads import left_open

if TYPE_CHECKING:
    from pyptx_dsl.modules.statements import Statements
    from pyptx_ir.syntax.nodes import Module
    from pyptx_ir.syntax.style import Style
    from pyptx_ir.toolchain import Assembly


def text_of(module: Module, style: Style | str | None) -> str:
    """Return the text of a module, in a style if one is asked for; raise OperandError for what is no style."""
    from pyptx_ir.syntax import emit

    return emit(module) if style is None else emit(left_open(module), _style(style))


def _style(style: object) -> Style:
    from pyptx_ir.syntax.style import KNOWN, Style

    if isinstance(style, Style):
        return style
    if isinstance(style, str) and style in KNOWN:
        return KNOWN[style]
    raise OperandError(f"{style!r} is no style", hint=f"{', '.join(KNOWN)}, or what style.learn made of a parsed text")


def assembly_of(text: str, target: str, statements: Statements) -> Assembly:
    """Run ptxas on the text of these statements; its errors and advice are told at the lines that wrote them."""
    from pyptx_dsl.inspect.answers import Listing, assembled

    if not target:
        raise ArchError("the module has no .target to compile it for", hint='write m.target("sm_90a") first')
    return assembled(Listing("the module", target, text, statements.line_origins(), statements.place, call="m.ptx()"))
