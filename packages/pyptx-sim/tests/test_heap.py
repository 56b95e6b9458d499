"""Temporary NumPy arrays of megabytes reuse freed memory, without new pages from the operating system."""

from __future__ import annotations

import platform

import numpy as np
import pytest

from pyptx_sim.heap import keep_freed_memory

resource = pytest.importorskip("resource", reason="this system lacks getrusage")
glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="tests the malloc of glibc")


@glibc
@pytest.mark.parametrize("megabytes", [1, 8, 24])
def test_pages_of_freed_arrays_are_used_again(megabytes: int) -> None:
    keep_freed_memory()
    np.ones(megabytes << 20, np.uint8)  # allocate a first array, which may need new memory pages
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(4):
        np.ones(megabytes << 20, np.uint8)
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    assert faults < (megabytes << 20) // resource.getpagesize()  # fewer page faults than one array has pages
