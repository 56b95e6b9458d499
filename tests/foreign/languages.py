"""The languages of the kernels, where their compilers are, and how sources are compiled: once, until one changes."""

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

sys.path.insert(0, str(ROOT / "corpus"))  # whose compilers these are: an environment is made once for both


@dataclass(frozen=True, slots=True)
class Language:
    """A language: `requirement` names the compiler's package, `environment` the file that pins all that it needs.

    `own_python`: sources are imported by the environment's Python; otherwise its programs are only called.
    """

    name: str
    title: str
    environment: str
    requirement: str
    own_python: bool = True

    @property
    def version(self) -> str:
        """The compiler's version, as pinned."""
        lines = (REQUIREMENTS / f"{self.environment}.txt").read_text(encoding="utf-8").split()
        return next(line.partition("==")[2] for line in lines if line.startswith(f"{self.requirement}=="))

    @property
    def sources(self) -> list[Path]:
        """Its files of kernels."""
        return sorted((SOURCES / self.name).glob("*.py"))


LANGUAGES = (
    Language("triton", "Triton", "triton", "triton"),
    Language("gluon", "Gluon", "triton", "triton"),
    Language("cuda", "CUDA C++", "nvcc-13.5", "nvidia-cuda-nvcc", own_python=False),
    Language("numba", "Numba", "numba", "numba-cuda"),
    Language("cutedsl", "CuTe DSL", "cutedsl", "nvidia-cutlass-dsl"),
    Language("mosaic", "Mosaic GPU", "jax", "jax"),
    Language("tilelang", "TileLang", "tilelang", "tilelang"),
)


def compiled(language: Language, environments: Path, cache: Path) -> list[Path]:
    """Compile what has changed of a language's sources; return the folders of all its kernels.

    Raises RuntimeError where a source cannot even be imported.
    """
    into = cache / language.name
    key, stamp = _key(language), into / "key"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != key:
        shutil.rmtree(into, ignore_errors=True)
        for source in language.sources:
            compile_source(language, source, environment(language.environment, environments), into / source.stem)
        stamp.write_text(key, encoding="utf-8")
    return sorted(path for path in into.glob("*/*") if path.is_dir())


def environment(name: str, folder: Path) -> Path:
    """Return where the environment of a compiler is, in a folder; install it if it isn't."""
    return Path(import_module("environments").made(folder, name))


def _key(language: Language) -> str:
    files = (
        REQUIREMENTS / f"{language.environment}.txt",
        *COMPILING.glob("*.py"),
        *(SOURCES / language.name).iterdir(),
    )
    texts = (path.read_bytes() for path in sorted(files) if path.is_file())
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


def compile_source(
    language: Language, source: Path, environment: Path, into: Path, targets: Sequence[str] = TARGETS
) -> None:
    """Compile a source of a language; each of its kernels gets a folder in `into`.

    Raises RuntimeError where it cannot even be imported.
    """
    into.mkdir(parents=True, exist_ok=True)
    python = str(environment / "bin" / "python") if language.own_python else sys.executable
    programs = [str(path.parent) for path in environment.glob("lib/python3*/site-packages/nvidia/cu13/bin/nvcc")]
    variables = os.environ | {"PATH": os.pathsep.join([*programs, os.environ["PATH"]])}
    variables.pop("PYTHONPATH", None)
    for target in targets:
        command = [python, str(COMPILING / "emit.py"), language.name, str(source), target, str(into)]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{source.relative_to(ROOT)} cannot be compiled:\n{done.stderr[-2000:]}")
