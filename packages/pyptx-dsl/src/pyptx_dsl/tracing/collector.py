"""Pausing Python's cyclic garbage collector while a trace grows."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def collector_paused() -> Generator[None]:
    """Pause the cyclic garbage collector: it would visit the growing trace again and again, for a third of the time.

    When threads trace at the same time, the first to finish may switch it on for the others, which costs only speed.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
