"""Hold the corpus against ptxas: every module that the manifest calls `assembles = true` must, and no other may."""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from manifest import CORPUS, Module, targets

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Verdict:
    """What ptxas said of one module; `message` is its first error, empty if there was none."""

    module: Module
    assembles: bool
    message: str = ""


def newest_ptx(ptxas: str) -> tuple[int, int]:
    """Return the newest PTX version that a ptxas reads: 13.0 reads 9.0, 13.5 reads 9.5."""
    answer = subprocess.run([ptxas, "--version"], capture_output=True, text=True, check=True).stdout
    match = re.search(r"release (\d+)\.(\d+)", answer)
    if match is None:
        raise RuntimeError(f"{ptxas} --version names no release:\n{answer}")
    return int(match[1]) - 4, int(match[2])


def within_reach(modules: Iterable[Module], ptxas: str) -> tuple[list[Module], list[Module]]:
    """Split `modules` into those whose PTX version `ptxas` can read, and those too new for it."""
    newest = newest_ptx(ptxas)
    near: list[Module] = []
    far: list[Module] = []
    for module in modules:
        major, minor = map(int, module.ptx.split("."))
        (near if (major, minor) <= newest else far).append(module)
    return near, far


def assemble(module: Module, ptxas: str) -> Verdict:
    """Run ptxas on one module for its own target, as part of a program or else as a whole one.

    Only a part may call what it doesn't define, and only a whole program may hold some pragmas. A module for debugging
    (`.target …, debug`) is taken only with -g and without optimisation.
    """
    debug = "debug" in targets((CORPUS / module.path).read_bytes())
    mode = ("-g", "-O0") if debug else ("-O1",)
    messages: list[str] = []
    for unit in (("-c",), ()):
        command = [ptxas, f"-arch={module.target or 'sm_75'}", *unit, *mode, "-o", "/dev/null", module.path]
        done = subprocess.run(command, cwd=CORPUS, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode == 0:
            return Verdict(module, assembles=True)
        messages.append(_first_error(done))
    return Verdict(module, assembles=False, message=messages[0])


def _first_error(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in (done.stderr + done.stdout).splitlines() if re.search(r"error|fatal", line)]
    if not lines:
        return f"ptxas ended with {done.returncode}"
    located = re.match(r"ptxas \S+, line (\d+); (.*)", lines[0])
    return f"line {located[1]}: {located[2]}" if located else lines[0].removeprefix("ptxas ")


def assemble_all(modules: Iterable[Module], ptxas: str, jobs: int = 2) -> list[Verdict]:
    """Run ptxas on every module, `jobs` at a time, and return the verdicts in order."""
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda module: assemble(module, ptxas), modules))


def disagreements(modules: Iterable[Module], ptxas: str, jobs: int = 2) -> list[str]:
    """Return one line per module on which ptxas and the manifest differ; too new modules are not tried."""
    near, _ = within_reach(modules, ptxas)
    return [
        f"{verdict.module.path}: the manifest says assembles = {str(verdict.module.assembles).lower()}, "
        f"ptxas says {verdict.message or 'nothing against it'}"
        for verdict in assemble_all(near, ptxas, jobs)
        if verdict.assembles != verdict.module.assembles
    ]
