"""NVIDIA's tools: locating and running them, parsing their output, and the cubin cache."""

from __future__ import annotations

from pyptx_ir.toolchain.assembler import Assembly, assemble, find_compiler, resources
from pyptx_ir.toolchain.cache import CubinCache
from pyptx_ir.toolchain.diagnostics import ToolMessage
from pyptx_ir.toolchain.disassembler import disassemble
from pyptx_ir.toolchain.errors import AssemblyError, CacheWarning, MissingToolError, ToolchainError
from pyptx_ir.toolchain.finder import Tool, find_tool
from pyptx_ir.toolchain.images import extract
from pyptx_ir.toolchain.resources import Resources

__all__ = [
    "Assembly",
    "AssemblyError",
    "CacheWarning",
    "CubinCache",
    "MissingToolError",
    "Resources",
    "Tool",
    "ToolMessage",
    "ToolchainError",
    "assemble",
    "disassemble",
    "extract",
    "find_compiler",
    "find_tool",
    "resources",
]
