"""NVIDIA's tools, and the cubin cache."""

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
# Purpose of each tool.
_PURPOSES: Final = {
    "ptxas": "compiles PTX to machine code",
    NVJITLINK: "compiles PTX if ptxas is not installed",
    "nvdisasm": "shows machine code, by line of Python",
    "cuobjdump": "shows machine code",
}


def tools() -> tuple[Diagnosis, ...]:
    """Report the available tools, their versions, and the newest PTX that they read."""
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
    """Report the folder, the number and the size of cached cubins, and whether new ones can be written."""
    cache = CubinCache()
    refused = _refused(cache.folder)
    if refused:
        help = "set PYPTX_CACHE_DIR to a writable folder; without one, every process compiles again"
        return (Diagnosis("cubin cache", "warning", f"{cache.folder} is not writable: {refused}", help),)
    size = f"{cache.size() / 1e6:.1f} of at most {cache.max_bytes / 1e6:.0f} MB"
    return (Diagnosis("cubin cache", "ok", f"{cache.folder}, {counted(len(cache), 'cubin')}, {size}"),)


def _refused(folder: Path) -> str | None:
    """Return why `folder` is not writable, without leaving a file there; None if it is."""
    import tempfile

    place = next(each for each in (folder, *folder.parents) if each.exists())
    try:
        with tempfile.TemporaryFile(dir=place):
            return None
    except OSError as error:
        return error.strerror or os.strerror(error.errno or 0)
