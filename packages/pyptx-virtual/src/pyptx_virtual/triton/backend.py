"""Triton's compiler for NVIDIA GPUs, which stops at PTX."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false, reportUnknownArgumentType=false
# Triton has no types, and need not be installed where types are checked.

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from triton.backends import nvidia
from triton.backends.nvidia.compiler import CUDABackend
from triton.compiler import compiler

from pyptx_ir.toolchain.assembler import assemble
from pyptx_ir.toolchain.finder import Tool, tool_version


class PtxBackend(CUDABackend):
    """Compiler whose binary is the PTX text: the simulator needs no machine code.

    Its kernels have a key of their own in Triton's cache, so that a process on a GPU never loads them.
    """

    def make_cubin(self, src: str, *_: Any) -> bytes:  # noqa: ANN401 - Triton's metadata and options
        """Return the PTX as the binary."""
        return src.encode()

    def hash(self) -> str:
        """Return the part of a kernel's cache key that names the compiler."""
        return f"{super().hash()}-ptx-only"


def disassemble_ptx() -> None:
    """Make Triton's `asm["sass"]` and TRITON_KERNEL_DUMP assemble the PTX of `PtxBackend`, then disassemble it."""
    former = compiler.get_sass

    def get_sass(binary: bytes, *options: Any) -> str:  # noqa: ANN401 - Triton's
        text: str = former(binary if binary.startswith(b"\x7fELF") else _assembled(binary.decode()), *options)
        return text

    compiler.get_sass = get_sass


def _assembled(text: str) -> bytes:
    """Return the cubin of PTX, made by Triton's own ptxas: by its second, newer one if the first is too old."""
    header = re.search(r"^\.version (\d+)\.(\d+)\s+\.target (\w+)", text, re.MULTILINE)
    if header is None:
        raise ValueError("the binary is neither an ELF file nor PTX")
    folder = Path(nvidia.__file__).parent / "bin"
    paths = [path for path in (folder / "ptxas", folder / "ptxas-blackwell") if path.exists()]
    tools = [Tool("ptxas", path, tool_version(path)) for path in paths]
    version = int(header[1]), int(header[2])
    tool = next((each for each in tools if each.newest_ptx >= version), None)
    return assemble(text, header[3], tool=tool).cubin
