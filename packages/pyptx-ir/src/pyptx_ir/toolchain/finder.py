"""Locate NVIDIA's tools: an override, NVIDIA's wheels, PATH, an installed toolkit.

A cached cubin should cost a process almost no time. So cuda-pathfinder (150 ms) is used only if all else fails, and the
result of `--version` (25 ms) is kept on disk.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.toolchain.errors import MissingToolError, ToolchainError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# NVIDIA's wheel that contains each tool.
WHEELS: dict[str, str] = {
    "ptxas": "nvidia-cuda-nvcc",
    "nvlink": "nvidia-cuda-nvcc",
    "fatbinary": "nvidia-cuda-nvcc",
    "nvdisasm": "nvidia-cuda-nvdisasm",
    "cuobjdump": "nvidia-cuda-cuobjdump",
    "nvJitLink": "nvidia-nvjitlink",
}

# Folders of NVIDIA's wheels below site-packages: CUDA 13 has one folder for all wheels, CUDA 12 one for each.
WHEEL_FOLDERS: tuple[str, ...] = (
    "nvidia/cu13/bin",
    "nvidia/cuda_nvcc/bin",
    "nvidia/cuda_nvdisasm/bin",
    "nvidia/cuda_cuobjdump/bin",
)

# Newest PTX version of CUDA 12 minor releases that do not follow the rule of the others: CUDA 13.n, for example,
# accepts PTX up to 9.n.
_NEWEST_PTX: dict[tuple[int, int], tuple[int, int]] = {
    (12, 6): (8, 5),
    (12, 7): (8, 6),
    (12, 8): (8, 7),
    (12, 9): (8, 8),
}
_PTX_MAJOR: dict[int, int] = {11: 7, 12: 8, 13: 9}


@dataclass(frozen=True, slots=True)
class Tool:
    """An executable, or an equivalent library, and its version, `"13.0.88"` (empty if unknown).

    `build` distinguishes releases of one version if the tool's output does not.
    """

    name: str
    path: Path
    version: str
    build: str = ""

    @property
    def identity(self) -> str:
        """Name, version and build of the tool, as part of cache keys."""
        return f"{self.name} {self.version} {self.build}".rstrip()

    @property
    def release(self) -> tuple[int, int]:
        """Return the CUDA release of the tool, major and minor; (0, 0) if unknown."""
        numbers = [int(part) for part in self.version.split(".")[:2] if part.isdigit()]
        return (numbers[0], numbers[1]) if len(numbers) == 2 else (0, 0)

    @property
    def newest_ptx(self) -> tuple[int, int]:
        """Return the newest `.version` that ptxas of the tool's CUDA release reads; (0, 0) if unknown."""
        major, minor = self.release
        if major not in _PTX_MAJOR:
            return (0, 0)
        return _NEWEST_PTX.get((major, minor), (_PTX_MAJOR[major], minor))


def release_for(version: tuple[int, int]) -> tuple[int, int]:
    """Return the first CUDA release whose ptxas reads PTX of `version`."""
    for release, newest in _NEWEST_PTX.items():
        if newest == version and release != (12, 6):
            return release
    major = {ptx: cuda for cuda, ptx in _PTX_MAJOR.items()}.get(version[0], 11)
    return (major, version[1])


def find_tool(name: str) -> Tool:
    """Locate a tool; raise MissingToolError with the package to install.

    Search order: the environment variable `PYPTX_<NAME>` (a path); NVIDIA's wheels; `PATH`; `CUDA_HOME` and
    `CUDA_PATH`; the other locations of cuda-pathfinder, if that is installed.
    """
    import os
    from pathlib import Path

    override = os.environ.get(f"PYPTX_{name.upper()}", "")
    # Absolute paths, because tools run in other folders, and a program may change its folder.
    return _find(name, str(Path(override).absolute()) if override else "", searched_places())


def searched_places() -> tuple[str, str, str]:
    """Return the environment variables that locate tools: PATH, CUDA_HOME, CUDA_PATH."""
    import os

    return os.environ.get("PATH", ""), os.environ.get("CUDA_HOME", ""), os.environ.get("CUDA_PATH", "")


@functools.cache
def _find(name: str, override: str, searched: tuple[str, str, str]) -> Tool:
    from pathlib import Path

    if override:
        if not Path(override).is_file():
            raise ToolchainError(
                f"PYPTX_{name.upper()} is {override}, which is not a file", help="correct or unset the variable"
            )
        return Tool(name, Path(override), tool_version(Path(override)))
    for path in _candidates(name, searched):
        if path.is_file():
            return Tool(name, path.absolute(), tool_version(path))
    wheel = WHEELS.get(name)
    install = f"pip install {wheel}" if wheel else "install the CUDA toolkit"
    raise MissingToolError(
        f"{name} is not installed", help=f"{install}, put it on PATH, or set PYPTX_{name.upper()} to its path"
    )


def _candidates(name: str, searched: tuple[str, str, str]) -> Iterator[Path]:
    import os
    import shutil
    import sys
    from pathlib import Path

    executable = f"{name}.exe" if os.name == "nt" else name
    for site in sys.path:
        for folder in WHEEL_FOLDERS:
            yield Path(site) / folder / executable
    on_path = shutil.which(name, path=searched[0])
    if on_path:
        yield Path(on_path)
    for home in searched[1:]:
        if home:
            yield Path(home) / "bin" / executable
    pathfinder = _pathfinder(name)
    if pathfinder:
        yield Path(pathfinder)


def _pathfinder(name: str) -> str | None:
    import importlib

    try:
        pathfinder = importlib.import_module("cuda.pathfinder")
    except ImportError:
        return None
    found = pathfinder.find_nvidia_binary_utility(name) if name in pathfinder.SUPPORTED_BINARY_UTILITIES else None
    return str(found) if found else None


@functools.cache
def tool_version(path: Path) -> str:
    """Return the version after "release …, V" in `path --version`; run once per file, then cached on disk."""
    import contextlib

    from pyptx_ir.toolchain.cache import CubinCache, default_folder

    known = CubinCache(default_folder() / "tools")
    try:
        status = path.stat()
    except OSError as error:
        raise ToolchainError(f"{path} can't be run: {error}") from error
    key = known.key(str(path.resolve()), "", (str(status.st_size), str(status.st_mtime_ns)), "--version")
    stored = known.get(key)
    if stored is not None:
        return stored.decode()
    version = _asked_version(path)
    with contextlib.suppress(OSError):  # an unwritable cache folder is reported when a cubin is written
        known.store(key, version.encode())
    return version


def _asked_version(path: Path) -> str:
    import re
    import subprocess

    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError as error:
        raise ToolchainError(f"{path} can't be run: {error}") from error
    match = re.search(r"release [\d.]+, V([\d.]+)", said)
    return match[1] if match else ""
