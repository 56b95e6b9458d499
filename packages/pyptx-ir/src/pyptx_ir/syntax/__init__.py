"""The lossless PTX syntax tree: parse, inspect, edit, emit."""

from __future__ import annotations

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
from pyptx_ir.syntax.source import Source, decode, encode
from pyptx_ir.syntax.spans import Span, positions
from pyptx_ir.syntax.spelling import spell
from pyptx_ir.syntax.walk import walk

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
