"""Pausing Python's cyclic garbage collector while trees grow, which have no cycles."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def collector_paused(*, lasting: bool = False) -> Generator[None]:
    """Pause the collector: it would visit what grows again and again, for a third of the time.

    What is made meanwhile is taken to live long if it is `lasting`; what was young before is collected first, so that
    no garbage grows old with it. When threads do so at the same time, the first to finish may switch the collector on
    for the others, which costs only speed.
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
            # Hand what was made to the oldest generation unvisited; switching on would visit all of it at once.
            gc.freeze()
            gc.unfreeze()
        gc.enable()


_OF_PYTHON: Final = 1_000


class _FrozenObjects:
    """Whether the program has frozen objects, as servers do before they fork: `gc.unfreeze` would thaw them.

    A few hundred are nobody's: some releases of Python freeze what they begin with (3.12 has 375). Once the program
    has, it is not asked again: counting them visits each, a million in milliseconds, time after time.
    """

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found = False

    def __call__(self) -> bool:
        self.found = self.found or gc.get_freeze_count() > _OF_PYTHON
        return self.found


_frozen: Final = _FrozenObjects()
