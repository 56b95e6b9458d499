"""What the terminal shows: colors, tables that fit its width, and highlighted code.

Colors need no other package. With the extra `pyptx[rich]`, rows of tables that are longer than a line of the terminal
are wrapped within their column, and code is highlighted. Output to files and pipes is plain text.
"""

from __future__ import annotations

from pyptx_ir.terminal.code import write_bytes_of, write_code
from pyptx_ir.terminal.color import colored, painted, styled, write, write_help
from pyptx_ir.terminal.files import output_to
from pyptx_ir.terminal.tables import aligned, table

__all__ = [
    "aligned",
    "colored",
    "output_to",
    "painted",
    "styled",
    "table",
    "write",
    "write_bytes_of",
    "write_code",
    "write_help",
]
