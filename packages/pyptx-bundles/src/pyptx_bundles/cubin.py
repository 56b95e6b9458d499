"""Checks of a cubin before it is passed to the driver: an ELF file for NVIDIA GPUs, its target, and its entry."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from pyptx_dsl.errors import BundleError
from pyptx_ir.plugins.targets import find_target

if TYPE_CHECKING:
    from pyptx_ir.plugins.rows import Specialization

# ELF header (ELF-64 object file format, "File header"), as ptxas and nvJitLink of CUDA 11 to 13 write it.
_HEADER_BYTES: Final = 64
_MAGIC: Final = b"\x7fELF\x02\x01"  # ELF magic, then ELFCLASS64 and ELFDATA2LSB (little-endian)
_EM_CUDA: Final = 190
_ABI_VERSION_OF_CUDA_13: Final = 8


def check_cubin(name: str, cubin: bytes, special: Specialization) -> None:
    """Raise BundleError unless the bytes are an ELF cubin for a kernel specialization's target, with its entry."""
    if len(cubin) < _HEADER_BYTES or not cubin.startswith(_MAGIC):
        raise BundleError(f"{name} is not a cubin: it is not a 64-bit ELF file")
    (machine,) = struct.unpack_from("<H", cubin, 18)
    if machine != _EM_CUDA:
        raise BundleError(f"{name} is an ELF file for machine {machine}, expected {_EM_CUDA} (NVIDIA GPUs)")
    (flags,) = struct.unpack_from("<I", cubin, 48)
    # The architecture is the second byte of e_flags since CUDA 13, the first byte in older cubins.
    number = (flags >> 8 if cubin[8] >= _ABI_VERSION_OF_CUDA_13 else flags) & 0xFF
    if number != find_target(special.target).number:
        raise BundleError(f"{name} is machine code for sm_{number}, but its record is for {special.target}")
    if b".text." + special.entry.encode() + b"\0" not in cubin:
        raise BundleError(f"{name} contains no code for entry {special.entry}")
