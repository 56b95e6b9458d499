"""What a test takes of its cases: a share by default, all of them where PYPTX_KERNELS is `all`, as in `nox -s kernels`.

A file that asks for a share carries the marker `scaled`, by which that session selects. The tests of packages ask here
too, those that `nox -s alone` runs elsewhere: this module needs no package.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

T = TypeVar("T")

FULL: Final = os.environ.get("PYPTX_KERNELS") == "all"
"""Whether everything is taken, where a test has to know it."""


def full(everything: T, *, default: T) -> T:
    """Return `everything` where everything is taken, and otherwise `default`."""
    return everything if FULL else default


def share(cases: Iterable[T], step: int, turn: int = 0) -> list[T]:
    """Return one of each `step` cases, or all of them; other turns take others."""
    every = list(cases)
    return every if FULL else every[turn % step :: step]


def at_most(cases: Iterable[T], most: int, turn: int = 0) -> list[T]:
    """Return at most so many cases, evenly spread, or all of them; other turns take others."""
    every = list(cases)
    if FULL:
        return every
    count = min(len(every), most)
    return [every[(place * len(every) // count + turn) % len(every)] for place in range(count)]
