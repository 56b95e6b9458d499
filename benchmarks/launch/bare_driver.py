"""Launches through the driver alone: the lower bound of a call's host time."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.launch.subjects import COUNT, THREADS

if TYPE_CHECKING:
    from collections.abc import Callable

LOOP = """
typedef unsigned u;
typedef int (*launch_t)(void *, u, u, u, u, u, u, u, void *, void **, void **);
void loop(launch_t launch, void *function, u blocks, u threads, void *stream, void **parameters, int count) {
  for (int i = 0; i < count; ++i) launch(function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, 0);
}
"""


class RawLaunch:
    """cuLaunchKernel alone: through ctypes, through cuda-python if it is installed, and from a loop in C."""

    def __init__(self, image: bytes, entry: str, pointers: list[int]) -> None:
        self.library = ctypes.CDLL(os.environ.get("PYPTX_LIBCUDA") or "libcuda.so.1")
        self.pointers = [ctypes.c_uint64(pointer) for pointer in pointers]
        cells = [ctypes.cast(ctypes.pointer(pointer), ctypes.c_void_p) for pointer in self.pointers]
        self.parameters = (ctypes.c_void_p * len(cells))(*cells)
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.library.cuModuleLoadData(ctypes.byref(module), image))
        self.check(self.library.cuModuleGetFunction(ctypes.byref(self.function), module, entry.encode()))
        self.blocks = COUNT // THREADS
        self.check(int(self.on(0)()))

    @staticmethod
    def check(status: int) -> None:
        """Exit if the driver returns an error: a failed launch is fast and must not be timed."""
        if status:
            sys.exit(f"CUDA driver error {status}")

    def on(self, stream: int) -> Callable[[], int]:
        """Return a function that launches the kernel on a stream through ctypes."""
        launch, null = self.library.cuLaunchKernel, ctypes.c_void_p(0)
        shape = [ctypes.c_uint(each) for each in (self.blocks, 1, 1, THREADS, 1, 1, 0)]
        arguments = (self.function, *shape, ctypes.c_void_p(stream), self.parameters, null)
        return lambda: int(launch(*arguments))

    def through_cuda_python(self, stream: int) -> Callable[[], object]:
        """Return a function that launches the kernel on a stream through cuda-python."""
        from cuda.bindings import driver as cuda

        function, queue = cuda.CUfunction(self.function.value), cuda.CUstream(stream)
        parameters = ctypes.addressof(self.parameters)
        arguments = (function, self.blocks, 1, 1, THREADS, 1, 1, 0, queue, parameters, 0)
        self.check(int(cuda.cuLaunchKernel(*arguments)[0]))
        return lambda: cuda.cuLaunchKernel(*arguments)

    def in_c(self, stream: int, number: int) -> Callable[[], object]:
        """Return a function that makes `number` launches on a stream from a loop in C: the lower bound of a launch."""
        with tempfile.TemporaryDirectory() as folder:
            source, built = Path(folder) / "loop.c", Path(folder) / "loop.so"
            source.write_text(LOOP)
            compiler = os.environ.get("CC") or shutil.which("cc") or "gcc"
            subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", built, source], check=True)
            loop = ctypes.CDLL(str(built)).loop
        launch = ctypes.cast(self.library.cuLaunchKernel, ctypes.c_void_p)
        arguments = (launch, self.function, self.blocks, THREADS, ctypes.c_void_p(stream), self.parameters, number)
        return lambda: loop(*arguments)
