"""Launches of kernels from other compilers, read from compiler metadata. No compiler is imported."""

from pyptx_sim.readers.cute import from_cute
from pyptx_sim.readers.triton import from_triton

__all__ = ["from_cute", "from_triton"]
