"""Kernel calls through jax, compared with jax's own addition."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from benchmarks.launch.rounds import measure
from benchmarks.launch.subjects import COUNT, add_kernel, device_target

if TYPE_CHECKING:
    from benchmarks.launch.rounds import Calls

NUMBER = 200  # kernel launches per timed round, fewer than fill the device's launch queue


def jax_calls(repeat: int, device: str) -> list[dict[str, Any]]:
    """Measure the kernel and jax's own addition, on arrays of jax's default device."""
    import jax
    import numpy as np

    if device == "cuda" and jax.default_backend() != "gpu":
        sys.exit(f"jax runs on the {jax.default_backend()} here: its CUDA plugin is missing")
    kernel = add_kernel(device_target())
    x, w = (jax.numpy.asarray(np.random.default_rng(seed).standard_normal(COUNT, np.float32)) for seed in range(2))
    ours, theirs = jax.jit(kernel), jax.jit(lambda a, b: a + b)
    assert (ours(x, w) == x + w).all()
    assert (kernel(x, w) == x + w).all()
    calls: Calls = {
        "jit(ours)": lambda: ours(x, w),
        "jit(x + w)": lambda: theirs(x, w),
        "ours, not jitted": lambda: kernel(x, w),
        "x + w, not jitted": lambda: x + w,
    }
    return measure(calls, lambda: theirs(x, w).block_until_ready(), NUMBER if device == "cuda" else 50, repeat)
