"""nvJitLink: ptxas as a library, for machines that have it without the program. nvJitLink manual, "User's Guide".

The library comes with NVIDIA's wheel and with the toolkit, reads the same PTX, and says the same about it in the same
words. It works in this process, so a text that brings ptxas down brings the process down: ptxas is asked first.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from pyptx_ir.toolchain.errors import MissingToolError, ToolchainError
from pyptx_ir.toolchain.finder import Tool, searched_places
from pyptx_ir.toolchain.runner import Outcome

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Iterator
    from pathlib import Path

NAME: Final = "nvJitLink"
_OVERRIDE: Final = "PYPTX_NVJITLINK"
_FILES: Final = ("libnvJitLink.so.13", "libnvJitLink.so.12", "nvJitLink_130_0.dll", "nvJitLink_120_0.dll")
# Below a site-packages folder: CUDA 13's wheels share one folder, CUDA 12's have one each.
_WHEEL_FOLDERS: Final = (
    *("nvidia/cu13/lib", "nvidia/nvjitlink/lib", "nvidia/cu13/bin/x86_64", "nvidia/nvjitlink/bin"),
)
_TOOLKIT_FOLDERS: Final = ("lib64", "lib", "bin")
_INPUT_PTX: Final = 2  # nvJitLinkInputType
_FAILED: Final = 1


def find_nvjitlink() -> Tool:
    """Find the library; raise MissingToolError that says what to install.

    Looked for, in this order: the environment variable `PYPTX_NVJITLINK` (a path); NVIDIA's wheels; `CUDA_HOME` and
    `CUDA_PATH`; wherever else cuda-pathfinder looks, if that is installed.
    """
    import os

    return _find(os.environ.get(_OVERRIDE, ""), searched_places()[1:])


@functools.cache
def _find(override: str, homes: tuple[str, ...]) -> Tool:
    from pathlib import Path

    if override:
        if not Path(override).is_file():
            raise ToolchainError(f"{_OVERRIDE} names {override}, which is no file", hint="correct or unset it")
        return _described(Path(override))
    for path in _candidates(homes):
        if path.is_file():
            return _described(path)
    raise MissingToolError(
        f"{NAME} is not installed", hint=f"pip install nvidia-nvjitlink, or set {_OVERRIDE} to the path of the library"
    )


def _candidates(homes: tuple[str, ...]) -> Iterator[Path]:
    import sys
    from pathlib import Path

    for site in sys.path:
        yield from (Path(site) / folder / name for folder in _WHEEL_FOLDERS for name in _FILES)
    for home in homes:
        if home:
            yield from (Path(home) / folder / name for folder in _TOOLKIT_FOLDERS for name in _FILES)
    found = _pathfinder()
    if found:
        yield Path(found)


def _pathfinder() -> str | None:
    import importlib

    try:
        pathfinder = importlib.import_module("cuda.pathfinder")
    except ImportError:
        return None
    try:
        return str(pathfinder.load_nvidia_dynamic_lib(NAME).abs_path)
    except pathfinder.DynamicLibNotFoundError:
        return None


def _described(path: Path) -> Tool:
    import ctypes

    major, minor = ctypes.c_uint(), ctypes.c_uint()
    function = _library(path)["nvJitLinkVersion"]
    function(ctypes.byref(major), ctypes.byref(minor))
    return Tool(NAME, path, f"{major.value}.{minor.value}", build=str(path.stat().st_size))


@functools.cache
def _library(path: Path) -> ctypes.CDLL:
    import ctypes

    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise ToolchainError(f"{path} can't be loaded: {error}") from error


def link(tool: Tool, text: str, target: str, options: tuple[str, ...]) -> tuple[bytes, Outcome]:
    """Return what ptxas would: the cubin (empty if the status is not 0), and the outcome with all that was said.

    `options` are ptxas's.
    """
    import ctypes

    library = _library(tool.path)
    words = [f"-arch={target}", "-Xptxas=-v", *(f"-Xptxas={option}" for option in options)]
    encoded = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
    handle = ctypes.c_void_p()
    data = text.encode("utf-8", "surrogateescape") + b"\0"
    failed = library["nvJitLinkCreate"](ctypes.byref(handle), ctypes.c_uint32(len(words)), encoded)
    try:
        if not failed:
            size = ctypes.c_size_t(len(data))
            failed = library["nvJitLinkAddData"](handle, _INPUT_PTX, data, size, b"module.ptx")
        if not failed:
            failed = library["nvJitLinkComplete"](handle)
        said = _fetch(library, handle, "InfoLog") + _fetch(library, handle, "ErrorLog")
        output = said.replace(b"\0", b"").decode("utf-8", "replace")
        cubin = b"" if failed else _fetch(library, handle, "LinkedCubin")
    finally:
        library["nvJitLinkDestroy"](ctypes.byref(handle))
    return cubin, Outcome(_FAILED if failed else 0, output)


def _fetch(library: ctypes.CDLL, handle: ctypes.c_void_p, what: str) -> bytes:
    """Return what `nvJitLinkGet<what>` gives, asking for its size first."""
    import ctypes

    size = ctypes.c_size_t()
    if library[f"nvJitLinkGet{what}Size"](handle, ctypes.byref(size)) or not size.value:
        return b""
    room = ctypes.create_string_buffer(size.value)
    library[f"nvJitLinkGet{what}"](handle, room)
    return room.raw
