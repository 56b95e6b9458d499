"""Python interface of the null driver: build it, make the native extension open it, configure it, read recorded calls.

Other packages' tests load this file by its path. A process has one null driver, shared by all of its tests.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SOURCES = sorted(Path(__file__).parent.glob("host_driver/*.[ch]"))
LIVE = {"memory": 0, "libraries": 1, "streams": 2, "events": 3}
DEFAULTS = {
    "devices": 2,
    "capability": 90,
    "shared_optin": 232448,
    "static_shared": 0,
    "max_threads": 1024,
    "cluster_launch": 1,
    "version": 13000,
    "registers": 32,
    "init": 0,
    "multiprocessors": 132,
    "memory": 80 << 30,
    "capturing": 0,
    "events_pending": 0,
}


def compiler() -> str:
    """Return the system's C compiler."""
    return os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or "clang"


def compile_to(path: Path, *options: str) -> None:
    """Compile the null driver with the system's C compiler."""
    sources = [source for source in SOURCES if source.suffix == ".c"]
    checked = ("-O2", "-Wall", "-Wextra", "-fvisibility=hidden", "-shared", "-fPIC", "-pthread")
    subprocess.run([compiler(), *checked, *options, "-o", path, *sources, "-ldl"], check=True)


def build() -> Path:
    """Compile the null driver, once per source text, and return the shared library."""
    folder = Path(tempfile.gettempdir()) / f"pyptx-null-driver-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    options = os.environ.get("NULL_DRIVER_CFLAGS", "").split()  # compiler flags that `nox -s sanitize` sets
    text = b"".join(source.read_bytes() for source in SOURCES) + " ".join(options).encode()
    library = folder / f"{hashlib.sha256(text).hexdigest()[:16]}.so"
    if not library.exists():
        fresh = folder / f"{library.stem}-{os.getpid()}.so"
        # The soname is the driver's: a later dlopen of libcuda.so.1 (cuda-python) finds this library.
        compile_to(fresh, "-Wl,-soname,libcuda.so.1", *options)
        fresh.replace(library)
    return library


def compiled(folder: Path, *options: str, without: str = "") -> str:
    """Compile a null driver with extra compiler options, or without one driver function, and return its path."""
    folder.mkdir(exist_ok=True)
    library = folder / "libcuda.so"
    compile_to(library, *options, *([f"-D{without}=cuNotYet"] if without else []))
    return str(library)


class NullDriver:
    """Settings of the null driver, and its records of driver calls and launches."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._library = ctypes.CDLL(str(path))
        self._library.null_driver_take.restype = ctypes.c_void_p
        self._library.null_driver_free.argtypes = [ctypes.c_void_p]
        self._library.null_driver_set.argtypes = [ctypes.c_char_p, ctypes.c_long]
        self._library.null_driver_live.restype = ctypes.c_long
        self._library.null_driver_launches.restype = ctypes.c_long
        self._library.cuCtxSetCurrent.argtypes = [ctypes.c_void_p]

    def take(self, call: str | None = None) -> list[dict[str, Any]]:
        """Return the driver calls since the last `take`, or those named `call`; forget all recorded calls."""
        pointer = self._library.null_driver_take()
        text = ctypes.string_at(pointer).decode()
        self._library.null_driver_free(pointer)
        lines = [json.loads(line) for line in text.splitlines()]
        return [line for line in lines if call in (None, line["call"])]

    def launches(self) -> list[dict[str, Any]]:
        """Return the launches since the last `take`, with parameters as bytes."""
        found = self.take("cuLaunchKernelEx")
        for launch in found:
            launch["parameters"] = [bytes.fromhex(each) for each in launch["parameters"]]
            launch["attributes"] = [(number, bytes.fromhex(value)) for number, value in launch["attributes"]]
        return found

    def fail(self, call: str, result: int, *, after: int = 0, times: int = 1) -> None:
        """Make the next `times` calls of a function (its symbol, with `_v2`) fail, after `after` that succeed."""
        self._library.null_driver_fail(call.encode(), result, after, times)

    def set(self, **settings: int) -> None:
        """Change properties of the driver and its devices; see DEFAULTS."""
        for name, value in settings.items():
            assert self._library.null_driver_set(name.encode(), value), name
        if "pyptx_launch.driver" in sys.modules:  # forget the device properties that pyptx_launch.driver has cached
            sys.modules["pyptx_launch.driver"].device.cache_clear()

    def record(self, on: bool) -> None:  # noqa: FBT001 - a switch
        """Turn the recording of calls on or off; off for measurements."""
        self._library.null_driver_record(int(on))

    def answer_nothing(self) -> None:
        """Remove all callbacks: launches, loads and tensor map encodings in this process run no callback."""
        for question in ("launch", "load", "map"):
            getattr(self._library, f"null_driver_on_{question}")(None)

    def count(self) -> int:
        """Return the number of launches since the process started, recorded or not."""
        return int(self._library.null_driver_launches())

    def live(self, *, idle: bool = True) -> dict[str, int]:
        """Return the numbers of live driver objects; if `idle`, first complete all outstanding work."""
        from pyptx_launch.retired import RETIRED

        if idle:
            RETIRED.unload(wait=True)
        return {name: self._library.null_driver_live(number) for name, number in LIVE.items()}

    def context(self, device: int | None) -> None:
        """Make a device's primary context current in this thread, or no context."""
        pointer = ctypes.c_void_p()
        if device is not None:
            self._library.cuDevicePrimaryCtxRetain(ctypes.byref(pointer), device)
        self._library.cuCtxSetCurrent(pointer)

    def current(self) -> int | None:
        """Return the device whose context is current in this thread."""
        device = ctypes.c_int()
        return None if self._library.cuCtxGetDevice(ctypes.byref(device)) else device.value

    def reset(self) -> None:
        """Clear calls, failures and settings; make no context current."""
        self.record(on=True)
        self._library.null_driver_fail_nothing()
        self.set(**DEFAULTS)
        self.context(None)
        self.take()


def install() -> NullDriver:
    """Return the null driver, opened by the native extension; the process must not have opened NVIDIA's driver."""
    from pyptx_launch import libcuda

    before, path = os.environ.get("PYPTX_LIBCUDA"), build()
    os.environ["PYPTX_LIBCUDA"] = str(path)
    try:
        libcuda.open_driver()
    finally:
        if before is None:
            del os.environ["PYPTX_LIBCUDA"]
        else:
            os.environ["PYPTX_LIBCUDA"] = before
    assert ctypes.CDLL("libcuda.so.1")._handle == ctypes.CDLL(str(path))._handle, "this process has another driver"
    driver = NullDriver(path)
    driver.answer_nothing()
    return driver
