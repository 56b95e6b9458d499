"""The lossless PTX syntax tree: parse, inspect, edit, emit.

Names are imported at first use: code that emits PTX needs only the nodes, not the parser.
"""

from typing import TYPE_CHECKING

from pyptx_ir.front_door import late_names
from pyptx_ir.syntax.walk import walk

if TYPE_CHECKING:
    from pyptx_ir.syntax.edit import evolve
    from pyptx_ir.syntax.emitter import emit
    from pyptx_ir.syntax.errors import PtxSyntaxError
    from pyptx_ir.syntax.parser import (
        parse,
        parse_instruction,
        parse_operand,
        parse_recovering,
        parse_statements,
    )
    from pyptx_ir.syntax.source import Source, Span, decode, encode
    from pyptx_ir.syntax.spans import positions
    from pyptx_ir.syntax.spelling import spell
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "PtxSyntaxError": "errors",
            "Source": "source",
            "Span": "source",
            "decode": "source",
            "emit": "emitter",
            "encode": "source",
            "evolve": "edit",
            "parse": "parser",
            "parse_instruction": "parser",
            "parse_operand": "parser",
            "parse_recovering": "parser",
            "parse_statements": "parser",
            "positions": "spans",
            "spell": "spelling",
        },
    )

__all__ = [
    "PtxSyntaxError",
    "Source",
    "Span",
    "decode",
    "emit",
    "encode",
    "evolve",
    "parse",
    "parse_instruction",
    "parse_operand",
    "parse_recovering",
    "parse_statements",
    "positions",
    "spell",
    "walk",
]
