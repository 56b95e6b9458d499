"""`ptx.raw`: PTX source text in a kernel."""

from __future__ import annotations

import re

from pyptx_dsl.errors import RawTextError
from pyptx_dsl.trace_context import active
from pyptx_ir.syntax import PtxSyntaxError, nodes, parse_statements

__all__ = ["raw"]

_COMMENT = re.compile(r"//([^\n]*)|/\*(.*?)\*/", re.DOTALL)
_OUTSIDE = (
    nodes.Function,
    nodes.Version,
    nodes.Target,
    nodes.AddressSize,
    nodes.File,
    nodes.Section,
    nodes.SectionData,
    nodes.Alias,
)


def raw(text: str) -> None:
    """Insert PTX statements as given: `ptx.raw("add.cc.u32 %r1, %r2, %r3; addc.u32 %r4, %r5, 0;")`.

    The text is parsed and becomes part of the tree with its formatting; comments stay before their statements. The
    instructions are checked against the instruction table, and the labels are labels of the kernel. Registers in the
    text must be declared (by `reg.scalar(…, name=…)` or by a `.reg` in the text). Raise RawTextError for text that is
    not valid PTX.
    """
    trace = active("ptx.raw")
    try:
        statements = parse_statements(text, "<ptx.raw>")
    except PtxSyntaxError as error:
        help = error.help or ("end every instruction with ;" if not text.rstrip().endswith((";", "}", ":")) else None)
        raise RawTextError(f"ptx.raw: {error.message}\n{error.where}", help=help) from None
    for statement in statements:
        if isinstance(statement, _OUTSIDE):
            raise RawTextError(
                f"ptx.raw: {type(statement).__name__.lower()} directives are not allowed inside a kernel",
                help="use pyptx.parser.parse for whole modules",
            )
        for line, block in _COMMENT.findall(nodes.trivia_of(statement)):
            for comment in (line or block).splitlines():
                trace.comment(comment.strip())
        trace.append(statement)
