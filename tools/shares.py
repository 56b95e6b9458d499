"""The share of its cases that a test runs: part of them by default, all if PYPTX_KERNELS is `all` (`nox -s kernels`).

A file that uses a share has the marker `scaled`, by which that session selects it. Tests of packages use this module,
too, even the tests that `nox -s alone` runs elsewhere: it imports no package.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

T = TypeVar("T")

FULL: Final = os.environ.get("PYPTX_KERNELS") == "all"
"""Whether PYPTX_KERNELS is `all`, so that all cases are run."""


def full(everything: T, *, default: T) -> T:
    """Return `everything` if PYPTX_KERNELS is `all`, else `default`."""
    return everything if FULL else default


def share(cases: Iterable[T], step: int, turn: int = 0) -> list[T]:
    """Return every `step`-th test case, from index `turn` % `step` on; all cases if PYPTX_KERNELS is `all`."""
    every = list(cases)
    return every if FULL else every[turn % step :: step]


def at_most(cases: Iterable[T], most: int, turn: int = 0) -> list[T]:
    """Return at most `most` test cases, evenly spaced from index `turn` on; all cases if PYPTX_KERNELS is `all`."""
    every = list(cases)
    if FULL:
        return every
    count = min(len(every), most)
    return [every[(place * len(every) // count + turn) % len(every)] for place in range(count)]
