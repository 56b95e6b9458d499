"""nvJitLink: ptxas as a library, for machines that have it without the program. nvJitLink manual, "User's Guide".

The library comes with NVIDIA's wheel and with the toolkit, reads the same PTX, and says the same about it in the same
words; cuda-bindings calls it. It works in this process, so a text that brings ptxas down brings the process down: ptxas
is asked first.
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
_INPUT_PTX: Final = 2  # nvJitLinkInputType
_FAILED: Final = 1


def find_nvjitlink() -> Tool:
    """Find the library and its bindings; raise MissingToolError that says what to install.

    The environment variable `PYPTX_NVJITLINK` (a path) goes before wherever cuda-pathfinder looks: what this process
    has loaded already, NVIDIA's wheels, conda, the linker's paths, `CUDA_HOME` and `CUDA_PATH`. A process has one
    nvJitLink, the one that was found first.
    """
    import os

    return _find(os.environ.get(_OVERRIDE, ""))


@functools.cache
def _find(override: str) -> Tool:
    bindings = _bindings()
    path = _loaded(override)
    try:
        version = ".".join(map(str, bindings.version()))
    except RuntimeError as error:  # bindings of 13.0.0 and 13.0.1, and before 12.9.4, ask for the driver first
        hint = "pip install --upgrade cuda-bindings"
        raise ToolchainError(f"cuda-bindings cannot call {path}: {error}", hint=hint) from error
    return Tool(NAME, path, version, build=str(path.stat().st_size))


def _bindings() -> ModuleType:
    import importlib

    try:
        return importlib.import_module("cuda.bindings.nvjitlink")
    except ImportError as error:
        raise MissingToolError(
            f"{NAME} cannot be called without cuda-bindings",
            hint=f"pip install cuda-bindings {WHEELS[NAME]}",
        ) from error


def _loaded(override: str) -> Path:
    """Return the library that the bindings call, loaded: the overriding one, or the one that cuda-pathfinder finds."""
    import importlib
    from pathlib import Path

    if override:
        _load(Path(override))
    try:
        found = importlib.import_module("cuda.pathfinder").load_nvidia_dynamic_lib(NAME)  # a loaded one, if there is
    except (ImportError, RuntimeError) as error:
        hint = f"pip install {WHEELS[NAME]}, or set {_OVERRIDE} to the path of the library"
        raise MissingToolError(f"{NAME} is not installed", hint=hint) from error
    path = Path(found.abs_path)
    if override and not path.samefile(override):
        raise ToolchainError(
            f"{_OVERRIDE} names {override}, and this process has loaded {path}",
            hint="set it before anything is compiled, to a library that keeps NVIDIA's soname",
        )
    return path


def _load(path: Path) -> None:
    """Load a library, so that whoever asks for it by its soname later gets this one."""
    import ctypes

    if not path.is_file():
        raise ToolchainError(f"{_OVERRIDE} names {path}, which is no file", hint="correct or unset it")
    try:
        ctypes.CDLL(str(path))
    except OSError as error:
        raise ToolchainError(f"{path} can't be loaded: {error}") from error


def link(tool: Tool, text: str, target: str, options: tuple[str, ...]) -> tuple[bytes, Outcome]:
    """Return what ptxas would: the cubin (empty if the status is not 0), and the outcome with all that was said.

    `options` are ptxas's. `tool` is what `find_nvjitlink` has found: a process has no other.
    """
    library = _bindings()
    words = [f"-arch={target}", "-Xptxas=-v", *(f"-Xptxas={option}" for option in options)]
    try:
        handle = library.create(len(words), words)
    except library.nvJitLinkError as refused:  # its log goes with the handle; all but the target is up to ptxas
        return b"", Outcome(_FAILED, f"{tool.name}: {refused}")
    data = text.encode("utf-8", "surrogateescape") + b"\0"
    cubin, status = b"", _FAILED
    try:
        library.add_data(handle, library.InputType(_INPUT_PTX), data, len(data), "module.ptx")
        library.complete(handle)
        cubin, status = _fetched(library, handle, "linked_cubin"), 0
    except library.nvJitLinkError:
        pass  # what is wrong stands in the log
    finally:
        said = _fetched(library, handle, "info_log") + _fetched(library, handle, "error_log")
        library.destroy(handle)
    return cubin, Outcome(status, said.replace(b"\0", b"").decode("utf-8", "replace"))


def _fetched(library: ModuleType, handle: int, what: str) -> bytes:
    """Return what `get_<what>` gives, asking for its size first."""
    size = getattr(library, f"get_{what}_size")(handle)
    room = bytearray(size)
    if size:
        getattr(library, f"get_{what}")(handle, room)
    return bytes(room)
