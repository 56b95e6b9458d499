"""Property L4: the same kernel, arguments and versions give the same bytes, in any process and after any other work."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .gallery import EXAMPLES, load

SCRIPT = f"""
import hashlib, sys
sys.path.insert(0, {str(EXAMPLES)!r})
from hopper.softmax import softmax
from hopper.rms_norm import rms_norm
print(hashlib.sha256(rms_norm.ptx(B=8, N=2048).encode()).hexdigest())
"""


def fresh_kernel() -> Any:
    """Return a new kernel object, so that its trace is not cached."""
    from pyptx import kernel

    original = load("hopper/rms_norm").rms_norm
    specs = {"in_specs": original.in_specs, "out_specs": original.out_specs}
    return kernel(**specs, grid=original.grid, block=original.block, arch=original.arch)(original.__wrapped__)


def text_of(_: int = 0) -> str:
    return fresh_kernel().ptx(B=8, N=2048)


def test_twenty_builds_give_one_text() -> None:
    assert len({text_of() for _ in range(20)}) == 1


def test_what_was_traced_before_does_not_matter() -> None:
    first = text_of()
    load("hopper/softmax").softmax.ptx(B=3, N=1024)
    load("ampere/transpose").transpose.ptx(M=32, N=32)
    assert text_of() == first


def test_four_threads_give_one_text() -> None:
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(text_of, range(16)))) == 1


def test_processes_with_different_hash_seeds_give_one_text() -> None:
    digests = {hashlib.sha256(text_of().encode()).hexdigest()}
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True, timeout=120
        )
        digests.add(done.stdout.strip())
    assert len(digests) == 1
