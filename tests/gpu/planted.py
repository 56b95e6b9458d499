"""Kernels with a fault each, for NVIDIA's sanitizer beside the simulator's checks: those of the simulator's own tests.

python -m tests.gpu.planted CASE faulty|mended

launches one, and waits for it; the exit status says nothing, for a fault may be an error of the driver or none.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np

import pyptx_sim

from .driver import DriverError, device

bugs: Any = import_module("packages.pyptx-sim.tests.planted_bugs")

# Titles, a case's number being its place: what memcheck and racecheck are there to find, and one that they are not.
CASES = (
    "a load past the end of an array",
    "a store before the beginning",
    "a shared store past the end",
    "a local store past the frame",
    "a load between two words",
    *(each.title for each in bugs.RACES[:4]),
    bugs.UNINITIALISED[0].title,
)


def case(title: str) -> Any:
    """Return a planted fault by its title."""
    return next(each for each in bugs.PLANTED if each.title == title)


def text(planted: Any, body: str, target: str) -> str:
    """Return the module for this device."""
    module: str = planted.text(body)
    return module.replace(".target sm_90a", f".target {target}", 1)


def arrays() -> tuple[np.ndarray, np.ndarray]:
    """Return what every case is given: 64 words that are full, and 64 zeros."""
    return np.arange(1, 65, dtype=np.uint32), np.zeros(64, np.uint32)


def simulated(title: str, which: str) -> tuple[str, ...]:
    """Return the rules of the simulator's findings."""
    planted = case(title)
    given = list(arrays())
    body = getattr(planted, which)
    found = pyptx_sim.run(planted.text(body), grid=planted.blocks, block=planted.threads, args=given)
    return tuple(sorted({each.rule for each in found.findings}))


def main() -> None:
    """Launch the case that the command line names."""
    planted, which = case(CASES[int(sys.argv[1])]), sys.argv[2]
    target = device().target + "a" * (device().capability >= (9, 0))
    with suppress(DriverError):
        a, b = arrays()
        device().run(text(planted, getattr(planted, which), target), "k", planted.blocks, planted.threads, [a], [b])


if __name__ == "__main__":
    main()
