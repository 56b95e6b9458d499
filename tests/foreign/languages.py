"""Kernel languages, releases of their compilers, and cached compilation of the sources."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COMPILING, SOURCES, REQUIREMENTS = HERE / "compiling", HERE / "sources", ROOT / "corpus" / "requirements"

TARGETS = ("sm_80", "sm_90a", "sm_100a")
BEFORE_BLACKWELL = TARGETS[:2]

sys.path.insert(0, str(ROOT / "corpus"))  # makes the corpus module `environments` importable, which installs compilers


@dataclass(frozen=True, slots=True)
class Compiler:
    """One release of a compiler, for the sources of one language.

    `program` is the first part of its name, `requirement` its package, `environment` the requirements file with all
    pinned packages. `own_python`: the environment's Python imports the sources; otherwise only its programs are used.
    `targets` are the targets to compile for.
    """

    language: str
    title: str
    program: str
    requirement: str
    environment: str
    own_python: bool = True
    targets: tuple[str, ...] = TARGETS

    @property
    def version(self) -> str:
        """The compiler's version, as pinned."""
        lines = (REQUIREMENTS / f"{self.environment}.txt").read_text(encoding="utf-8").split()
        return next(line.partition("==")[2] for line in lines if line.startswith(f"{self.requirement}=="))

    @property
    def name(self) -> str:
        """Name of the compiler program with its release, for example `triton-3.9`."""
        return f"{self.program}-{'.'.join(self.version.split('.')[:2])}"

    @property
    def sources(self) -> list[Path]:
        """Source files of the language."""
        return sorted((SOURCES / self.language).glob("*.py"))


# Compilers by source language and program (nvcc, nvrtc, triton, …), the newest release first.
COMPILERS = (
    Compiler("triton", "Triton", "triton", "triton", "triton"),
    *(Compiler("triton", "Triton", "triton", "triton", f"triton-{release}") for release in ("3.6", "3.4")),
    Compiler("triton", "Triton", "triton", "triton", "triton-3.2", targets=BEFORE_BLACKWELL),
    Compiler("gluon", "Gluon", "gluon", "triton", "triton"),
    Compiler("cuda", "CUDA C++", "nvcc", "nvidia-cuda-nvcc", "nvcc-13.5", own_python=False),
    Compiler("cuda", "CUDA C++", "nvcc", "nvidia-cuda-nvcc", "nvcc-13.0", own_python=False),
    Compiler("cuda", "CUDA C++", "nvrtc", "nvidia-cuda-nvrtc-cu12", "nvrtc-12.9", own_python=False),
    Compiler(
        *("cuda", "CUDA C++", "nvrtc", "nvidia-cuda-nvrtc-cu12", "nvrtc-12.4"),
        own_python=False,
        targets=BEFORE_BLACKWELL,
    ),
    Compiler("numba", "Numba", "numba", "numba-cuda", "numba"),
    Compiler("cutedsl", "CuTe DSL", "cutedsl", "nvidia-cutlass-dsl", "cutedsl"),
    Compiler("cutedsl", "CuTe DSL", "cutedsl", "nvidia-cutlass-dsl", "cutedsl-4.2"),
    Compiler("mosaic", "Mosaic GPU", "mosaic", "jax", "jax"),
    Compiler("tilelang", "TileLang", "tilelang", "tilelang", "tilelang"),
)
_NEWEST = {each.program: each.name for each in reversed(COMPILERS)}
OLDER = frozenset(each.name for each in COMPILERS) - frozenset(_NEWEST.values())
BUILT_ON = {
    "gluon": ("for_triton",),
    "nvrtc": ("for_nvcc",),
    "cutedsl": ("before_keep",),
}  # by compiler program: modules in folder `compiling` that compilation needs besides `for_<program>`
LANGUAGES = {each.language: each.title for each in COMPILERS}


def newest(language: str) -> Compiler:
    """Return the newest compiler of a language."""
    return next(each for each in COMPILERS if each.language == language)


def compiled(compiler: Compiler, environments: Path, cache: Path) -> list[Path]:
    """Compile a compiler's sources that have changed; return the folders of all its kernels.

    Raises RuntimeError if the compiler cannot be installed or a source cannot be imported.
    """
    into = cache / compiler.name
    key, stamp = _key(compiler), into / "key"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != key:
        shutil.rmtree(into, ignore_errors=True)
        for source in compiler.sources:
            compile_source(compiler, source, environment(compiler.environment, environments), into / source.stem)
        stamp.write_text(key, encoding="utf-8")
    return sorted(path for path in into.glob("*/*") if path.is_dir())


def environment(name: str, folder: Path) -> Path:
    """Return the path of a compiler's environment in a folder; install it on first use.

    Raises RuntimeError if a package cannot be installed.
    """
    try:
        return Path(import_module("environments").made(folder, name))
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"{name} cannot be installed: {error}") from error


def _key(compiler: Compiler) -> str:
    emitters = {"emit", "cases", "modules", f"for_{compiler.program}", *BUILT_ON.get(compiler.program, ())}
    files = (
        REQUIREMENTS / f"{compiler.environment}.txt",
        *(COMPILING / f"{name}.py" for name in emitters),
        *(SOURCES / compiler.language).iterdir(),
    )
    texts = (path.read_bytes() for path in sorted(files) if path.is_file())
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


def compile_source(
    compiler: Compiler, source: Path, environment: Path, into: Path, targets: Sequence[str] = ()
) -> None:
    """Compile a source; each of its kernels gets a folder in `into`.

    Raises RuntimeError if the source cannot be imported.
    """
    into.mkdir(parents=True, exist_ok=True)
    python = str(environment / "bin" / "python") if compiler.own_python else sys.executable
    programs = [str(path.parent) for path in environment.glob("lib/python3*/site-packages/nvidia/cu13/bin/nvcc")]
    variables = os.environ | {"PATH": os.pathsep.join([*programs, os.environ["PATH"]])}
    variables["FOREIGN_ENVIRONMENT"] = str(environment)
    variables.pop("PYTHONPATH", None)
    for target in targets or compiler.targets:
        command = [python, str(COMPILING / "emit.py"), compiler.program, str(source), target, str(into)]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(
                f"{source.relative_to(ROOT)} cannot be compiled by {compiler.name}:\n{done.stderr[-2000:]}"
            )
