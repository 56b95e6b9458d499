"""Compare the corpus with ptxas: it must accept exactly the modules with `assembles = true` in the manifest."""

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
    """Result of ptxas for one module; `message` is its first error, empty if there was none."""

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
    """Split `modules` into those with a PTX version that `ptxas` reads, and newer ones."""
    newest = newest_ptx(ptxas)
    near: list[Module] = []
    far: list[Module] = []
    for module in modules:
        major, minor = map(int, module.ptx.split("."))
        (near if (major, minor) <= newest else far).append(module)
    return near, far


def assemble(module: Module, ptxas: str) -> Verdict:
    """Run ptxas on one module for its own target, as a relocatable part or else as a whole program.

    Only a part may call undefined functions, and only a whole program may contain some pragmas. ptxas accepts a module
    for debugging (`.target …, debug`) only with -g and without optimization.
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
    """Return one line per module on which ptxas and the manifest differ; modules newer than ptxas are skipped."""
    near, _ = within_reach(modules, ptxas)
    return [
        f"{verdict.module.path}: the manifest says assembles = {str(verdict.module.assembles).lower()}, "
        f"ptxas says {verdict.message or 'nothing against it'}"
        for verdict in assemble_all(near, ptxas, jobs)
        if verdict.assembles != verdict.module.assembles
    ]
