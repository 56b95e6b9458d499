"""GPU handler under XLA's CPU runtime, for tests and benchmarks that launch on a driver without a device.

XLA's CPU runtime passes a handler everything except a stream; a C wrapper (`xla_with_a_stream.c`) adds one. Addresses
are those of host arrays, and the driver of pyptx-launch receives the same calls as on a GPU.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from pyptx_launch import xla

NAME = "pyptx_launch_with_a_stream"
"""Custom call that launches; tests set `pyptx_launch.xla.NAME` to it."""
NOTHING = "pyptx_launch_nothing"
"""Custom call without effect: measures XLA's own overhead."""
STREAM = 0x5EED


def register(folder: Path) -> ctypes.CDLL:
    """Build the handlers in a folder and register them with XLA for the CPU, under NAME and NOTHING."""
    import jax

    from pyptx_jax import register as register_kernels

    library = folder / "with_a_stream.so"
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or "clang"
    source = Path(__file__).with_suffix(".c")
    flags = ("-O2", "-Wall", "-Wextra", "-shared", "-fPIC", f"-I{jax.ffi.include_dir()}")
    subprocess.run([compiler, *flags, "-o", library, source], check=True)
    made = ctypes.CDLL(str(library))
    (cuda,) = (target for target in xla.targets() if target.platform == "CUDA")
    made.wrap.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    made.wrap(_pointer(cuda.stages["execute"]), STREAM)
    register_kernels()
    jax.ffi.register_ffi_type("pyptx_launch_state_of_gpus", dict(cuda.type), "cpu")
    jax.ffi.register_ffi_target(NAME, {**cuda.stages, "execute": jax.ffi.pycapsule(made.execute)}, "cpu")
    jax.ffi.register_ffi_target(NOTHING, jax.ffi.pycapsule(made.nothing), "cpu")
    return made


def _pointer(capsule: Any) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(get(capsule, None))
