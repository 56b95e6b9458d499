"""What the allocator does with memory that is freed: every step of a run needs as much again."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

_BLOCK: Final = 31 << 20


@cache
def keep_freed_memory() -> None:
    """Let the C library keep what arrays of up to 31 MiB leave, once for the process.

    glibc asks the system for each block above a threshold, and gives it back when that is freed: then each page costs a
    fault, at every step anew. The threshold rises to the largest block that has been freed so far, of at most 32 MiB
    ("mallopt(3)": M_MMAP_THRESHOLD); so one is made, which nothing touches, and freed. Elsewhere this does nothing.
    """
    np.empty(_BLOCK, np.uint8)
