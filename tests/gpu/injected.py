"""Kernels with one fault each, from the simulator's tests: NVIDIA's compute-sanitizer compared with the simulator.

    python -m tests.gpu.injected CASE faulty|mended

Launches one kernel and waits for it. The exit status has no meaning: a fault may or may not cause a driver error.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np

import pyptx_sim

from .driver import DriverError, device

bugs: Any = import_module("packages.pyptx-sim.tests.injected_bugs")

# Titles of injected faults, by case number: faults that memcheck or racecheck detects, and one that neither detects.
CASES = (
    "a load past the end of an array",
    "a store below the buffer `b`",
    "a store past the end of shared memory",
    "a store past the end of local memory",
    "a load at a misaligned address",
    *(each.title for each in bugs.RACES[:4]),
    bugs.UNINITIALISED[0].title,
)


def case(title: str) -> Any:
    """Return the injected fault with this title, from the simulator's tests."""
    return next(each for each in bugs.INJECTED if each.title == title)


def text(injected: Any, body: str, target: str) -> str:
    """Return the PTX module of a kernel with an injected fault, or repaired (`body`), for a target."""
    module: str = injected.text(body)
    return module.replace(".target sm_90a", f".target {target}", 1)


def arrays() -> tuple[np.ndarray, np.ndarray]:
    """Return the arguments of every case: 64 nonzero words, and 64 zeros."""
    return np.arange(1, 65, dtype=np.uint32), np.zeros(64, np.uint32)


def simulated(title: str, which: str) -> tuple[str, ...]:
    """Return the rules of the simulator's findings in the kernel with an injected fault, or repaired (`which`)."""
    injected = case(title)
    given = list(arrays())
    body = getattr(injected, which)
    found = pyptx_sim.run(injected.text(body), grid=injected.blocks, block=injected.threads, args=given)
    return tuple(sorted({each.rule for each in found.findings}))


def main() -> None:
    """Launch the case that the command line names, and wait for its kernel."""
    injected, which = case(CASES[int(sys.argv[1])]), sys.argv[2]
    target = device().target + "a" * (device().capability >= (9, 0))
    with suppress(DriverError):
        a, b = arrays()
        device().run(text(injected, getattr(injected, which), target), "k", injected.blocks, injected.threads, [a], [b])


if __name__ == "__main__":
    main()
