"""C programs that use the loader of a bundle, compiled with all warnings as errors and run on the null driver."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wshadow", "-Wstrict-prototypes")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")
NULL_DRIVER = Path(__file__).resolve().parents[2] / "packages" / "pyptx-launch" / "tests" / "null_driver.py"


def null_driver() -> Any:
    """Load the null driver's module from the tests of pyptx-launch, by its path."""
    spec = importlib.util.spec_from_file_location("null_driver", NULL_DRIVER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def drivers() -> Path:
    """Return a folder that contains the null driver as `libcuda.so.1`."""
    library: Path = null_driver().build()
    folder = library.with_name(f"{library.stem}-{os.getpid()}")
    folder.mkdir(exist_ok=True)
    shutil.copy(library, folder / "libcuda.so.1")
    return folder


def compiler(name: str) -> str:
    """Return the system's C (`cc`) or C++ (`cxx`) compiler."""
    found = os.environ.get(name.upper()) or shutil.which({"cc": "cc", "cxx": "c++"}[name])
    assert found is not None, "the tests of bundles need the system's compiler of C and of C++"
    return found


def build(folder: Path, program: str, name: str, *flags: str) -> Path:
    """Compile a program and the loader of the bundle in `folder` as C99, with all warnings as errors."""
    source, made = folder.parent / "main.c", folder.parent / f"main{len(flags)}"
    source.write_text(program, encoding="utf-8")
    command = [compiler("cc"), "-std=c99", *WARNINGS, *flags, f"-I{folder}", str(source), str(folder / f"{name}.c")]
    subprocess.run([*command, "-o", str(made), "-ldl", "-pthread"], check=True)
    return made


def compile_shared(folder: Path, name: str, *flags: str) -> Path:
    """Compile the loader of the bundle in `folder` as a shared library."""
    made = folder.parent / f"lib{name}.so"
    command = [compiler("cc"), "-std=c99", *WARNINGS, *flags, "-shared", "-fPIC", str(folder / f"{name}.c")]
    subprocess.run([*command, "-o", str(made), "-ldl", "-pthread"], check=True)
    return made


@dataclass(frozen=True, slots=True)
class Seen:
    """Output of a C program: the results that it prints, by the label of each, and the driver calls."""

    steps: Mapping[str, str]
    calls: Sequence[Mapping[str, Any]]

    def all(self, call: str) -> list[Mapping[str, Any]]:
        """Return the recorded calls of one driver function."""
        return [each for each in self.calls if each["call"] == call]


def run(program: Path, *words: str, lines: Sequence[str] = ()) -> Seen:
    """Run a program with arguments `words` and input `lines`; return what it prints, and its driver calls."""
    # No leak detection: it would report memory that the null driver never frees, such as its own.
    environment = {**os.environ, "LD_LIBRARY_PATH": str(drivers()), "ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run(
        [program, *words], env=environment, input="\n".join(lines), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    printed = done.stdout.splitlines()
    steps = dict(line.split(" ", 1) for line in printed if not line.startswith("{"))
    return Seen(steps, [json.loads(line) for line in printed if line.startswith("{")])
