"""Inputs of commands: PTX files, cuobjdump listings, and fat binaries in objects, libraries and programs.

`read_sources` returns the PTX modules in an input, `read_source` the only one. Plugins define input formats with
`pyptx_sources`.
"""

from __future__ import annotations

from pyptx_ir.plugins.source_rows import CommandInput, PtxSource, SourceFormat
from pyptx_ir.sources.errors import SourceError
from pyptx_ir.sources.reader import KERNEL_OF_FILE, expanded, read_source, read_sources, with_sizes, without_sizes

__all__ = [
    "KERNEL_OF_FILE",
    "CommandInput",
    "PtxSource",
    "SourceError",
    "SourceFormat",
    "expanded",
    "read_source",
    "read_sources",
    "with_sizes",
    "without_sizes",
]
