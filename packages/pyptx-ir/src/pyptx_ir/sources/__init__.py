"""Inputs of commands: PTX files, cuobjdump listings, and fat binaries in objects, libraries and programs.

`read_sources` returns the PTX modules in an input, `read_source` the only one. Plugins define input formats with
`pyptx_sources`.
"""

from __future__ import annotations

from pyptx_ir.plugins.source_rows import CommandInput, PtxSource, SourceFormat
from pyptx_ir.sources.errors import SourceError, UnknownSizeError
from pyptx_ir.sources.reader import expanded, read_source, read_sources
from pyptx_ir.sources.sizes import KERNEL_OF_FILE, path_of, run_with_sizes, with_sizes

__all__ = [
    "KERNEL_OF_FILE",
    "CommandInput",
    "PtxSource",
    "SourceError",
    "SourceFormat",
    "UnknownSizeError",
    "expanded",
    "path_of",
    "read_source",
    "read_sources",
    "run_with_sizes",
    "with_sizes",
]
