"""Checks of `pyptx doctor` for NVIDIA's tools and the cubin cache."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.plugins.rows import Diagnosis
from pyptx_ir.toolchain import CubinCache, MissingToolError, ToolchainError, find_tool
from pyptx_ir.toolchain.jitlink import NAME as NVJITLINK
from pyptx_ir.toolchain.jitlink import find_nvjitlink

if TYPE_CHECKING:
    from pathlib import Path

COMPILERS: Final = ("ptxas", NVJITLINK)
# Purpose of each CUDA tool, printed if the tool is missing.
_PURPOSES: Final = {
    "ptxas": "compiles PTX to machine code",
    NVJITLINK: "compiles PTX if ptxas is not installed",
    "nvdisasm": "disassembles cubins, with line numbers of the Python source",
    "cuobjdump": "disassembles cubins",
}


def tools() -> tuple[Diagnosis, ...]:
    """Report NVIDIA's tools: whether each is available, its version, and the newest PTX that it reads."""
    return tuple(map(_tool, _PURPOSES))


def _tool(name: str) -> Diagnosis:
    try:
        tool = find_nvjitlink() if name == NVJITLINK else find_tool(name)
    except MissingToolError as error:
        return Diagnosis(name, "missing", f"{error.message}: it {_PURPOSES[name]}", error.help)
    except ToolchainError as error:
        return Diagnosis(name, "broken", error.message, error.help)
    if not tool.version:
        return Diagnosis(name, "broken", f"the version of {tool.path} is unknown", f"reinstall {name}")
    reads = f", reads PTX up to {'.'.join(map(str, tool.newest_ptx))}" if name in COMPILERS else ""
    return Diagnosis(name, "ok", f"{tool.version}{reads} ({tool.path})")


def cubin_cache() -> tuple[Diagnosis, ...]:
    """Report the cache folder, the number and size of its cubins, and whether cubins can be added."""
    cache = CubinCache()
    refused = _refused(cache.folder)
    if refused:
        help = "set PYPTX_CACHE_DIR to a writable folder; without a cache, each process compiles its kernels again"
        return (Diagnosis("cubin cache", "warning", f"{cache.folder} is not writable: {refused}", help),)
    size = f"{cache.size() / 1e6:.1f} of at most {cache.max_bytes / 1e6:.0f} MB"
    return (Diagnosis("cubin cache", "ok", f"{cache.folder}, {counted(len(cache), 'cubin')}, {size}"),)


def _refused(folder: Path) -> str | None:
    """Return why `folder` is not writable, or None if it is; leaves no file in the folder."""
    import tempfile

    place = next(each for each in (folder, *folder.parents) if each.exists())
    try:
        with tempfile.TemporaryFile(dir=place):
            return None
    except OSError as error:
        return error.strerror or os.strerror(error.errno or 0)
