"""Pause Python's cyclic garbage collector while acyclic trees are built."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def collector_paused(*, lasting: bool = False) -> Generator[None]:
    """Pause the collector, which would traverse the growing tree repeatedly (a third of the time to build it).

    If `lasting`, objects that the `with` body creates are moved to the collector's oldest generation. The younger
    generations are collected before the body, so that no garbage moves with them. If several threads pause it at
    once, the first to finish may enable the collector for the others, which costs only speed.
    """
    if not gc.isenabled():
        yield
        return
    if lasting:
        gc.collect(1)
    gc.disable()
    try:
        yield
    finally:
        if lasting and not _frozen():
            # Move the new objects to the oldest generation without a traversal; `gc.enable` alone would visit all of
            # them.
            gc.freeze()
            gc.unfreeze()
        gc.enable()


_OF_PYTHON: Final = 1_000


class _FrozenObjects:
    """Whether the program has called `gc.freeze`, as servers do before a fork: `gc.unfreeze` would undo that.

    Up to `_OF_PYTHON` objects do not count: some Python releases freeze their initial objects (375 in 3.12). A positive
    result is cached, because counting visits every frozen object (milliseconds for a million).
    """

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found = False

    def __call__(self) -> bool:
        self.found = self.found or gc.get_freeze_count() > _OF_PYTHON
        return self.found


_frozen: Final = _FrozenObjects()
