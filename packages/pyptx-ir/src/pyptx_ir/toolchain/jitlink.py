"""nvJitLink: ptxas as a library, for machines without the program. nvJitLink manual, "User's Guide".

NVIDIA's wheel and the toolkit contain the library; cuda-bindings calls it. nvJitLink reads the same PTX and prints the
same messages as ptxas. It runs in this process, so a text that crashes ptxas crashes the process. Therefore ptxas takes
precedence.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from pyptx_ir.toolchain.errors import MissingToolError, ToolchainError
from pyptx_ir.toolchain.finder import WHEELS, Tool
from pyptx_ir.toolchain.runner import Outcome

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

NAME: Final = "nvJitLink"
_OVERRIDE: Final = "PYPTX_NVJITLINK"
_INPUT_PTX: Final = 2  # NVJITLINK_INPUT_PTX of the enum nvJitLinkInputType
_FAILED: Final = 1


def find_nvjitlink() -> Tool:
    """Locate the library and its bindings; raise MissingToolError with the package to install.

    The environment variable `PYPTX_NVJITLINK` (a path) takes precedence over the search of cuda-pathfinder: libraries
    already loaded, NVIDIA's wheels, conda, the linker's paths, `CUDA_HOME` and `CUDA_PATH`. A process has one
    nvJitLink, the first one found.
    """
    import os

    return _find(os.environ.get(_OVERRIDE, ""))


@functools.cache
def _find(override: str) -> Tool:
    bindings = _bindings()
    path = _loaded(override)
    try:
        version = ".".join(map(str, bindings.version()))
    except RuntimeError as error:  # `version` of cuda-bindings 13.0.0, 13.0.1, < 12.9.4 needs a driver
        help = "pip install --upgrade cuda-bindings"
        raise ToolchainError(f"cuda-bindings cannot call {path}: {error}", help=help) from error
    return Tool(NAME, path, version, build=str(path.stat().st_size))


def _bindings() -> ModuleType:
    import importlib

    try:
        return importlib.import_module("cuda.bindings.nvjitlink")
    except ImportError as error:
        raise MissingToolError(
            f"{NAME} cannot be called without cuda-bindings",
            help=f"pip install cuda-bindings {WHEELS[NAME]}",
        ) from error


def _loaded(override: str) -> Path:
    """Return the nvJitLink library that the bindings call: the override, or the result of cuda-pathfinder."""
    import importlib
    from pathlib import Path

    if override:
        _load(Path(override))
    try:
        # cuda-pathfinder prefers a library that this process has already loaded.
        found = importlib.import_module("cuda.pathfinder").load_nvidia_dynamic_lib(NAME)
    except (ImportError, RuntimeError) as error:
        help = f"pip install {WHEELS[NAME]}, or set {_OVERRIDE} to the path of the library"
        raise MissingToolError(f"{NAME} is not installed", help=help) from error
    path = Path(found.abs_path)
    if override and not path.samefile(override):
        raise ToolchainError(
            f"{_OVERRIDE} is {override}, but this process has already loaded {path}",
            help="set the variable before the first compilation, to a library with NVIDIA's soname",
        )
    return path


def _load(path: Path) -> None:
    """Load a library, so that later lookups by its soname return this library."""
    import ctypes

    if not path.is_file():
        raise ToolchainError(f"{_OVERRIDE} is {path}, which is not a file", help="correct or unset the variable")
    try:
        ctypes.CDLL(str(path))
    except OSError as error:
        raise ToolchainError(f"{path} can't be loaded: {error}") from error


def link(tool: Tool, text: str, target: str, options: tuple[str, ...]) -> tuple[bytes, Outcome]:
    """Return the cubin (empty if the exit status is not 0) and the `Outcome` with status and messages, as from ptxas.

    `options` are those of ptxas. `tool` is the result of `find_nvjitlink`; a process has no other nvJitLink.
    """
    library = _bindings()
    words = [f"-arch={target}", "-Xptxas=-v", *(f"-Xptxas={option}" for option in options)]
    try:
        handle = library.create(len(words), words)
    # Without a handle, nvJitLink has no error log; it checks -Xptxas options later.
    except library.nvJitLinkError as refused:
        return b"", Outcome(_FAILED, f"{tool.name}: {refused}")
    data = text.encode("utf-8", "surrogateescape") + b"\0"
    cubin, status = b"", _FAILED
    try:
        library.add_data(handle, library.InputType(_INPUT_PTX), data, len(data), "module.ptx")
        library.complete(handle)
        cubin, status = _fetched(library, handle, "linked_cubin"), 0
    except library.nvJitLinkError:
        pass  # nvJitLink's error log, read below, contains the errors
    finally:
        said = _fetched(library, handle, "info_log") + _fetched(library, handle, "error_log")
        library.destroy(handle)
    return cubin, Outcome(status, said.replace(b"\0", b"").decode("utf-8", "replace"))


def _fetched(library: ModuleType, handle: int, what: str) -> bytes:
    """Return the bytes that nvJitLink's `get_<what>` writes, after querying their number."""
    size = getattr(library, f"get_{what}_size")(handle)
    room = bytearray(size)
    if size:
        getattr(library, f"get_{what}")(handle, room)
    return bytes(room)
