"""Libraries of Triton kernels: their forward operators run on CPU tensors, with the simulator as Triton's driver."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .languages import REQUIREMENTS, ROOT, environment
from .running import Fault, Outcome

if TYPE_CHECKING:
    from pathlib import Path

ENVIRONMENT = "operators"


@dataclass(frozen=True, slots=True)
class Library:
    """A library; `tests/foreign/operators/TABLE.py` has its operators, `requirement` is its package."""

    table: str
    title: str
    requirement: str

    @property
    def version(self) -> str:
        """The library's version, as pinned."""
        return _pinned(self.requirement)

    @property
    def name(self) -> str:
        """Name of the library's operator table with the release, for example `liger-0.8`."""
        return f"{self.table}-{'.'.join(self.version.split('.')[:2])}"


LIBRARIES = (
    Library("liger", "Liger-Kernel", "liger-kernel"),
    Library("fla", "flash-linear-attention", "fla-core"),
)


def _pinned(requirement: str) -> str:
    lines = (REQUIREMENTS / f"{ENVIRONMENT}.txt").read_text(encoding="utf-8").split()
    return next(line.partition("==")[2] for line in lines if line.startswith(f"{requirement}=="))


def triton() -> str:
    """Return the version of Triton that compiles the operators."""
    return _pinned("triton")


def ran(library: Library, environments: Path, cache: Path) -> dict[str, Outcome]:
    """Run a library's operators at each of their sizes; return outcomes by `library/operator/size`.

    An operator runs again only if it, its table or the simulator has changed. Raises RuntimeError if the library cannot
    be installed or imported.
    """
    (packages,) = environment(ENVIRONMENT, environments).glob("lib/python3*/site-packages")
    into = cache / library.name
    into.mkdir(parents=True, exist_ok=True)
    variables = os.environ | {"TRITON_CACHE_DIR": str(cache / "triton-cache")}
    command = [sys.executable, "-m", "tests.foreign.operators.run", library.table, str(packages), str(into)]
    done = subprocess.run(command, env=variables, cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the operators of {library.name} cannot be run:\n{done.stderr[-2000:]}")
    outcomes: dict[str, Outcome] = {}
    for path in sorted(into.glob("*.json")):
        for size, kept in json.loads(path.read_text(encoding="utf-8"))["sizes"].items():
            faults = tuple(Fault(**fault) for fault in kept["faults"])
            outcomes[f"{library.name}/{path.stem}/{size}"] = Outcome(faults, kept["seconds"])
    return outcomes
