"""The compilers of the corpus: how to recognize each, and the command with which it writes a module.

Every command runs in a staging folder with links: `sources`, the scripts `emit_….py`, `toolkit` for nvcc, `packages`
for Python DSLs. Sources have relative paths. Where a compiler requires an absolute path (debug information, module
identifiers), sources, the toolkit's headers and packages are below `/proc/self/cwd`, the same path on every machine.
nvcc derives internal names from a source's real path, links resolved. Sources with such names are therefore piped to
standard input, which has no path, with a `#line` that names them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import environments

if TYPE_CHECKING:
    from plan import Build

SCRIPTS = {"gluon": "triton", "xla": "jax", "pallas": "jax", "mosaic": "jax"}  # families that share another's script
ABSOLUTE_FLAGS = frozenset({"-G", "-lineinfo", "-rdc=true"})
# nvcc derives internal names for static definitions in these sources and their headers, without optimization in further
# ones.
INTERNAL = frozenset({"atomic_ref", "cuda_ptx", "groups", "launch_attributes", "pipelines", "separate_caller"})
UNOPTIMIZED = frozenset({"debug", "O0"})
INTERNAL_UNOPTIMIZED = frozenset(
    {"atomics", "elementwise", "functions", "numerics", "shared_memory", "simd_in_words", "tables", "warp"}
)


@dataclass(frozen=True, slots=True)
class Producer:
    """A compiler at one exact version; `pattern` finds the version in the output for the arguments `ask`.

    `program` is searched in an `environment` of `requirements/`, or on PATH if there is none. `varies` is the reason
    why the output is not reproducible, if it is not.
    """

    name: str
    version: str
    program: str
    pattern: str
    ask: tuple[str, ...] = ("--version",)
    environment: str = ""
    varies: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """A compiler found here: its program, and the folders of its headers and its packages ("" if none)."""

    program: str
    toolkit: str = ""
    packages: str = ""


NUMBER = r"(\d+\.\d+\.\d+)"
NVCC, CLANG = rf"\bV{NUMBER}", rf"clang version {NUMBER}"


def _package(name: str, version: str, environment: str, package: str, varies: str = "") -> Producer:
    """Return a producer that is a Python package."""
    ask = ("-c", f"import importlib.metadata as m; print(m.version('{package}'))")
    return Producer(name, version, "bin/python", NUMBER, ask, environment, varies)


PRODUCERS: tuple[Producer, ...] = (
    Producer("nvcc-13.0", "13.0.88", "nvcc", NVCC),
    Producer("nvcc-13.5", "13.5.37", "lib/python3*/site-packages/nvidia/cu13/bin/nvcc", NVCC, environment="nvcc-13.5"),
    Producer("clang-14", "14.0.6", "clang-14", CLANG),
    Producer("clang-19", "19.1.7", "clang-19", CLANG),
    Producer("clang-22", "22.1.8", "clang-22", CLANG),
    _package("llvm-22", "0.50.0", "llvm-22", "llvmlite"),
    _package("triton-3.9", "3.9.0", "triton", "triton"),
    _package("gluon-3.9", "3.9.0", "triton", "triton"),
    _package("numba-0.30", "0.30.4", "numba", "numba-cuda", "numba numbers what it compiles by when and where it does"),
    _package("warp-1.19", "1.19.0", "warp", "warp-lang"),
    _package("tilelang-0.1", "0.1.15", "tilelang", "tilelang"),
    *(_package(f"{name}-0.10", "0.10.2", "jax", "jax") for name in ("xla", "pallas", "mosaic")),
    _package("cutedsl-4.8", "4.8.1", "cutedsl", "nvidia-cutlass-dsl"),
    _package("nvrtc-11.8", "11.8.89", "nvrtc-11.8", "nvidia-cuda-nvrtc-cu11"),
    _package("nvrtc-12.4", "12.4.127", "nvrtc-12.4", "nvidia-cuda-nvrtc-cu12"),
    _package("nvrtc-12.9", "12.9.86", "nvrtc-12.9", "nvidia-cuda-nvrtc-cu12"),
    _package("nvrtc-13.5", "13.5.37", "nvrtc-13.5", "nvidia-cuda-nvrtc"),
)


def find(producer: Producer, given: dict[str, str], folder: Path | None) -> Tool | None:
    """Return the tool of `producer`, or None if it is absent or of another version.

    `given` maps producer names to programs in other places; `folder` is where environments are, or are created.
    """
    program = given.get(producer.name) or _looked_up(producer, folder)
    if program is None:
        return None
    answer = subprocess.run([program, *producer.ask], capture_output=True, text=True, check=False)
    match = re.search(producer.pattern, answer.stdout)
    if match is None or match[1] != producer.version:
        return None
    python = producer.program == "bin/python"
    return Tool(program, toolkit_of(producer, program), _packages_of(program) if python else "")


def _looked_up(producer: Producer, folder: Path | None) -> str | None:
    if not producer.environment:
        return shutil.which(producer.program)
    if folder is None:
        return None
    return str(next(environments.made(folder, producer.environment).glob(producer.program)))


def _packages_of(python: str) -> str:
    ask = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    return subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()


def command(build: Build, program: str, output: Path) -> list[str]:
    """Return the command, run in a staging folder, that writes `build`'s module to `output`."""
    family = build.producer.split("-", 1)[0]
    return {"nvcc": _nvcc, "clang": _clang}.get(family, _script)(build, program, output)


def environment_of(tool: Tool) -> dict[str, str]:
    """Return a command's environment variables: working directory and packages, by paths the same on every machine."""
    found = {"PWD": "/proc/self/cwd"}
    return found | {"PYTHONPATH": "/proc/self/cwd/packages"} if tool.packages else found


def stage(folder: Path, corpus: Path, tool: Tool) -> None:
    """Create the links that commands need in `folder`."""
    for path in (corpus / "sources", *corpus.glob("emit_*.py")):
        (folder / path.name).symlink_to(path)
    for name, target in (("toolkit", tool.toolkit), ("packages", tool.packages)):
        if target:
            (folder / name).symlink_to(target)


def toolkit_of(producer: Producer, program: str) -> str:
    """Return the folder with nvcc's `include/`, "" for another compiler."""
    if not producer.name.startswith("nvcc"):
        return ""
    answer = subprocess.run(
        [program, "--dryrun", "-E", "-x", "cu", "/dev/null"], capture_output=True, text=True, check=False
    )
    match = re.search(r"_HERE_=(.*)", answer.stderr)
    if match is None:
        raise RuntimeError(f"{program} --dryrun doesn't tell where it stands:\n{answer.stderr}")
    return str(Path(match[1]).parent)


def is_piped(build: Build) -> bool:
    """Return whether the source of a build is piped to standard input."""
    names = INTERNAL | INTERNAL_UNOPTIMIZED if build.variant in UNOPTIMIZED else INTERNAL
    return build.producer.startswith("nvcc") and Path(build.source).stem in names


def piped(build: Build, folder: Path) -> str | None:
    """Return the piped source of a build whose sources are in a staging folder; None if it is not piped."""
    if not is_piped(build):
        return None
    return f'#line 1 "{_named(build)}"\n{(folder / build.source).read_text(encoding="utf-8")}'


def shown(build: Build) -> str:
    """Return the command for the manifest."""
    family = build.producer.split("-", 1)[0]
    program = {"nvcc": "nvcc", "clang": build.producer}.get(family, "python")
    line = " ".join(command(build, program, Path(build.path.rsplit("/", 1)[-1])))
    return f"sed '1i #line 1 \"{_named(build)}\"' {build.source} | {line}" if is_piped(build) else line


def _named(build: Build) -> str:
    """Return the path of a source in nvcc's command."""
    return build.source if ABSOLUTE_FLAGS.isdisjoint(build.flags) else f"/proc/self/cwd/{build.source}"


def _nvcc(build: Build, program: str, output: Path) -> list[str]:
    arch = build.target.replace("sm_", "compute_")
    line = [program, "-ptx", "-std=c++17", f"-arch={arch}", *build.flags]
    if not ABSOLUTE_FLAGS.isdisjoint(build.flags):
        line.append("-I/proc/self/cwd/toolkit/include")
    source = [f"-I{Path(_named(build)).parent}", "-x", "cu", "/dev/stdin"] if is_piped(build) else [_named(build)]
    return [*line, *source, "-o", str(output)]


def _clang(build: Build, program: str, output: Path) -> list[str]:
    common = [*build.flags, "-fdebug-compilation-dir=.", "-S", build.source, "-o", str(output)]
    if build.source.endswith(".cu"):
        language = ["-x", "cuda", "-std=c++17", "--cuda-device-only", "-nocudainc", "-nocudalib"]
        return [program, *language, f"--cuda-gpu-arch={build.target}", *common]
    if build.source.endswith(".cl"):
        return [program, "-cl-std=CL2.0", "--target=nvptx64-nvidia-nvcl", f"-march={build.target}", *common]
    return [program, "--target=nvptx64-nvidia-cuda", f"-march={build.target}", *common]


def _script(build: Build, program: str, output: Path) -> list[str]:
    script = "emit_" + SCRIPTS.get(build.producer.split("-", 1)[0], build.producer.split("-", 1)[0]) + ".py"
    return [program, script, build.source, build.target, *build.flags, str(output)]
