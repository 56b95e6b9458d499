"""Check of jax for `pyptx doctor`: its version, and the devices that it uses."""

from __future__ import annotations

from typing import Any, cast

import jax

import pyptx_launch.xla  # noqa: F401 - an ImportError says that pyptx-launch is built without jax's handlers
from pyptx_ir.plugins.rows import Diagnosis


def check() -> tuple[Diagnosis, ...]:
    """Return the version and the devices of jax; imports jax and initializes its backend."""
    api = cast("Any", jax)  # typed Any: strict type checkers reject jax's incomplete annotations
    backend, count = str(api.default_backend()), int(api.device_count())
    seen = (
        f"found {count} GPU{'s' * (count != 1)}"
        if backend in {"gpu", "cuda"}
        else "found no GPU: kernels on arrays are simulated"
    )
    return (Diagnosis("jax", "ok", f"{jax.__version__}, backend {backend}, {seen}"),)
