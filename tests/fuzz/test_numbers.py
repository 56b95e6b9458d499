"""Fuzz the numbers in a module: each gives a result, a finding or an error with a line, and ptxas agrees.

PYPTX_FUZZ is the number of modules; `nox -s fuzz` sets it.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import resource
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pyptx_sim
from pyptx_ir.isa.modules import check_text
from pyptx_ir.syntax import PtxSyntaxError, emit, parse
from pyptx_ir.toolchain.finder import find_tool
from pyptx_sim.errors import LaunchError, SimulationError

from .numbers import made

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.no_cover

COUNT = int(os.environ.get("PYPTX_FUZZ", "300"))
CHUNKS = 6  # number of pytest cases that share the modules, so that several processes can run them
ASKED = 7  # one of this many generated modules is also assembled by ptxas
SECONDS = 2.0
BYTES = 1 << 30
LINE = re.compile(r"\bline \d+")


@pytest.fixture(autouse=True)
def bounded_memory() -> Iterator[None]:
    """Limit the growth of the process to BYTES, so that an allocation whose size the PTX determines fails."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + BYTES, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def run(text: str) -> None:
    """Simulate a module; assert that errors are pyptx errors and, except for LaunchError, have a line number."""
    try:
        pyptx_sim.run(text, grid=1, block=32, args=[np.zeros(64, np.uint32)], step_limit=1000)
    except SimulationError as error:
        stopped = error
    except PtxSyntaxError:
        return  # a PtxSyntaxError always has a line number
    else:
        return
    assert isinstance(stopped, LaunchError) or LINE.search(str(stopped)), stopped
    assert " in the simulator" not in stopped.message, stopped


def check(text: str) -> None:
    """Parse and check a module; assert a byte-identical round trip, and that findings are at lines of the module."""
    with contextlib.suppress(PtxSyntaxError):
        assert emit(parse(text)) == text
    found = check_text(text)
    assert all(1 <= one.line <= text.count("\n") + 1 for one in found)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_any_number_gives_a_result_a_finding_or_an_error_with_a_line_in_bounded_time_and_memory(chunk: int) -> None:
    for seed in range(chunk, COUNT, CHUNKS):
        drawn = made(random.Random(seed))
        started = time.process_time()
        try:
            check(drawn.text)
            run(drawn.text)
        except BaseException as error:
            error.add_note(f"seed {seed}: {drawn.statement}")
            raise
        assert time.process_time() - started < SECONDS, (seed, drawn.statement)


# Known differences from ptxas 13.0: patterns of the statements and of our messages.
DIFFERENCES = {
    "ptxas wraps most numbers that are too large for their type": ("", r"out of range|more than 64 bits|of 32 bits"),
    "ptxas wraps most sizes of more than 64 bits": (
        r"\[|[.]align|[.](max|req)",
        r"plain number|power of two|without signs",
    ),
    "ptxas takes WARP_SZ where a declaration has a number": (r"WARP_SZ", r"expected a number of"),
    "ptxas takes the name of a function for a number": (r"\bnext\b", r"is a symbol"),
    "ptxas implements vote by a macro that reads no components": (r"vote.*[.]x", r"^$"),
    "ptxas reads a conditional offset without parentheses": (r"\[.*[?]", r"base of an address"),
    "ptxas wraps a size of shared memory beyond 32 bits": (r"[.]shared", r"static shared memory"),
    "ptxas counts the padding of shared variables": (r"[.]shared .align", r"^$"),
    "the value of a division or comparison is not checked for its range": (r"/|%|<|>|=|&&|[|][|]", r"^$"),
}


def accepted_by_ptxas(text: str, folder: Path) -> bool | None:
    """Return whether ptxas accepts a module; None if it crashes, or exceeds its time or memory."""
    path = folder / "module.ptx"
    path.write_text(text, encoding="utf-8")
    command = [str(find_tool("ptxas").path), "-arch", "sm_80", str(path), "-o", str(path.with_suffix(".cubin"))]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=SECONDS, text=True)
    except subprocess.TimeoutExpired:
        return None
    return None if done.returncode < 0 or "Memory allocation" in done.stderr + done.stdout else done.returncode == 0


def is_known(statement: str, message: str) -> bool:
    return any(re.search(of, statement) and re.search(says, message) for of, says in DIFFERENCES.values())


@pytest.mark.ptxas
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_numbers_that_check_accepts_are_those_that_ptxas_accepts(chunk: int, tmp_path: Path) -> None:
    different = []
    for seed in range(chunk, COUNT // ASKED, CHUNKS):
        drawn = made(random.Random(seed))
        errors = [one.message for one in check_text(drawn.text) if one.is_error]
        accepted = accepted_by_ptxas(drawn.text, tmp_path)
        if accepted in (None, not errors) or is_known(drawn.statement, errors[0] if errors else ""):
            continue
        different.append((seed, drawn.statement, errors))
    assert different == []
