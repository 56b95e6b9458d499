"""Parse PTX text into a lossless syntax tree."""

from pyptx_ir.syntax import PtxSyntaxError, parse, parse_recovering
from pyptx_ir.syntax import PtxSyntaxError as ParseError

__all__ = ["ParseError", "PtxSyntaxError", "parse", "parse_recovering"]
