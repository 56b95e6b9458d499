"""From PTX text to its lossless tree."""

from pyptx_ir.syntax import PtxSyntaxError, parse, parse_recovering
from pyptx_ir.syntax import PtxSyntaxError as ParseError

__all__ = ["ParseError", "PtxSyntaxError", "parse", "parse_recovering"]
