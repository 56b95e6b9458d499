"""Triton's compiler for NVIDIA GPUs, which stops at PTX."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false, reportUnknownArgumentType=false
# Triton has no types, and need not be installed where types are checked.

from __future__ import annotations

from typing import Any

from triton.backends.nvidia.compiler import CUDABackend


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
