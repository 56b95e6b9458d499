"""The compilers of the corpus: how each is recognised, and the command that makes it write a module.

Every command runs in a staging folder that holds links: `sources`, `emit_llvm.py` and, for nvcc, `toolkit`. Sources are
named by relative paths; where a compiler insists on an absolute one (debug information, module identifiers), they and
the toolkit's headers are named through `/proc/self/cwd`, which reads the same on every machine.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plan import Build

ABSOLUTE_FLAGS = frozenset({"-G", "-lineinfo", "-rdc=true"})


@dataclass(frozen=True, slots=True)
class Producer:
    """A compiler at one exact version; `program` is looked up on PATH, `pattern` finds the version in its answer."""

    name: str
    version: str
    program: str
    pattern: str
    ask: tuple[str, ...] = ("--version",)


PRODUCERS: tuple[Producer, ...] = (
    Producer("nvcc-13.0", "13.0.88", "nvcc", r"\bV(\d+\.\d+\.\d+)"),
    Producer("nvcc-13.5", "13.5.37", "nvcc", r"\bV(\d+\.\d+\.\d+)"),
    Producer("clang-14", "14.0.6", "clang-14", r"clang version (\d+\.\d+\.\d+)"),
    Producer("clang-19", "19.1.7", "clang-19", r"clang version (\d+\.\d+\.\d+)"),
    Producer("clang-22", "22.1.8", "clang-22", r"clang version (\d+\.\d+\.\d+)"),
    Producer(
        "llvm-22",
        "0.50.0",
        sys.executable,
        r"(\d+\.\d+\.\d+)",
        ("-c", "import importlib.metadata as m; print(m.version('llvmlite'))"),
    ),
)


def find(producer: Producer, given: dict[str, str]) -> str | None:
    """Return the program of `producer`, or None if it is absent or of another version.

    `given` maps producer names to programs that stand elsewhere than on PATH.
    """
    program = given.get(producer.name) or shutil.which(producer.program)
    if program is None:
        return None
    answer = subprocess.run([program, *producer.ask], capture_output=True, text=True, check=False)
    match = re.search(producer.pattern, answer.stdout)
    return program if match is not None and match[1] == producer.version else None


def command(build: Build, program: str, output: Path) -> list[str]:
    """Return the command that writes `build`'s module to `output`, to be run in a staging folder."""
    family = build.producer.split("-", 1)[0]
    return {"nvcc": _nvcc, "clang": _clang, "llvm": _llvm}[family](build, program, output)


def stage(folder: Path, corpus: Path, toolkit: str) -> None:
    """Lay the links that commands need into `folder`; `toolkit` is empty for a compiler other than nvcc."""
    for name in ("sources", "emit_llvm.py"):
        (folder / name).symlink_to(corpus / name)
    if toolkit:
        (folder / "toolkit").symlink_to(toolkit)


def toolkit_of(producer: Producer, program: str) -> str:
    """Return the folder that holds an nvcc's `include/`, "" for another compiler."""
    if not producer.name.startswith("nvcc"):
        return ""
    answer = subprocess.run(
        [program, "--dryrun", "-E", "-x", "cu", "/dev/null"], capture_output=True, text=True, check=False
    )
    match = re.search(r"_HERE_=(.*)", answer.stderr)
    if match is None:
        raise RuntimeError(f"{program} --dryrun doesn't tell where it stands:\n{answer.stderr}")
    return str(Path(match[1]).parent)


def shown(build: Build) -> str:
    """Return the command as the manifest states it."""
    program = {"llvm": "python"}.get(build.producer.split("-", 1)[0], build.producer.rsplit("-13", 1)[0])
    return " ".join(command(build, program, Path(build.path.rsplit("/", 1)[-1])))


def _nvcc(build: Build, program: str, output: Path) -> list[str]:
    arch = build.target.replace("sm_", "compute_")
    begin = [program, "-ptx", "-std=c++17", f"-arch={arch}", *build.flags]
    if not ABSOLUTE_FLAGS & set(build.flags):
        return [*begin, build.source, "-o", str(output)]
    return [*begin, "-I/proc/self/cwd/toolkit/include", f"/proc/self/cwd/{build.source}", "-o", str(output)]


def _clang(build: Build, program: str, output: Path) -> list[str]:
    common = [*build.flags, "-fdebug-compilation-dir=.", "-S", build.source, "-o", str(output)]
    if build.source.endswith(".cu"):
        language = ["-x", "cuda", "-std=c++17", "--cuda-device-only", "-nocudainc", "-nocudalib"]
        return [program, *language, f"--cuda-gpu-arch={build.target}", *common]
    if build.source.endswith(".cl"):
        return [program, "-cl-std=CL2.0", "--target=nvptx64-nvidia-nvcl", f"-march={build.target}", *common]
    return [program, "--target=nvptx64-nvidia-cuda", f"-march={build.target}", *common]


def _llvm(build: Build, program: str, output: Path) -> list[str]:
    return [program, "emit_llvm.py", build.source, build.target, *build.flags, str(output)]
