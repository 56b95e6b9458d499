"""Calls through jax on the null driver: host time of a kernel in XLA's own runtime, without a device.

The handler for GPUs runs in XLA's CPU runtime, with a stream that a wrapper of the tests supplies. Two calls for
comparison show the time of XLA itself: jax's own addition of arrays of the same size, and an empty custom call.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.launch.rounds import measure
from benchmarks.launch.subjects import ROOT, THREADS, add_kernel, fill_kernel, module_at, null_driver

if TYPE_CHECKING:
    from benchmarks.launch.rounds import Calls

NUMBER = 500  # calls per timed round


def jax_on_null(repeat: int, _device: str) -> list[dict[str, Any]]:
    """Measure the kernel, jax's own addition and an empty custom call, on arrays of `THREADS` elements."""
    null_driver().record(on=False)
    import jax
    import numpy as np

    from pyptx_launch import xla

    handlers = module_at(ROOT / "tests" / "end_to_end" / "xla_with_a_stream.py")
    with tempfile.TemporaryDirectory() as folder:
        handlers.register(Path(folder))
    xla.NAME = handlers.NAME  # type: ignore[misc]  # handler that kernels call in this process
    kernel, fill = add_kernel("sm_80"), fill_kernel("sm_80")
    x, w = jax.numpy.ones(THREADS), jax.numpy.ones(THREADS)
    host, device = np.ones(THREADS, np.float32), jax.devices()[0]
    empty = jax.ffi.ffi_call(handlers.NOTHING, jax.ShapeDtypeStruct(x.shape, x.dtype))
    ours, theirs, nothing = jax.jit(kernel), jax.jit(lambda a, b: a + b), jax.jit(empty)
    calls: Calls = {
        "jit(ours)": lambda: ours(x, w),
        "jit(x + w)": lambda: theirs(x, w),
        "jit(an empty custom call)": lambda: nothing(x, w),
        "ours, not jitted": lambda: kernel(x, w),
        "x + w, not jitted": lambda: x + w,
        "ours, one array NumPy's": lambda: kernel(x, host),
        "x + w, one array NumPy's": lambda: x + host,
        "ours, without arrays": lambda: fill(N=THREADS, device=device),
        "jnp.zeros": lambda: jax.numpy.zeros(THREADS),
    }
    return measure(calls, lambda: theirs(x, w).block_until_ready(), NUMBER, repeat)
