"""Allocator setting: keep freed memory in the process, because every step of a run allocates the same amount again."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

_BLOCK: Final = 31 << 20


@cache
def keep_freed_memory() -> None:
    """Make the C library keep freed memory of arrays of up to 31 MiB, once per process.

    glibc maps each block above a threshold from the system, and unmaps it when it is freed: every step then costs one
    fault per page. The threshold rises to the largest block freed so far, up to 32 MiB ("mallopt(3)":
    M_MMAP_THRESHOLD). Therefore one untouched block is allocated and freed. With other C libraries this has no effect.
    """
    np.empty(_BLOCK, np.uint8)
