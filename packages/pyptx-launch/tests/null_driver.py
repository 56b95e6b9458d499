"""The null driver, from Python: build it, let the shim open it, tell it what to do, read what it was asked to do.

Other packages' tests load this file by its path. There is one null driver in a process, whoever asks for it.
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
    """Compile the null driver, once for its text, and return the shared library."""
    folder = Path(tempfile.gettempdir()) / f"pyptx-null-driver-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    options = os.environ.get("NULL_DRIVER_CFLAGS", "").split()  # `nox -s sanitize` has some
    text = b"".join(source.read_bytes() for source in SOURCES) + " ".join(options).encode()
    library = folder / f"{hashlib.sha256(text).hexdigest()[:16]}.so"
    if not library.exists():
        fresh = folder / f"{library.stem}-{os.getpid()}.so"
        # Under the driver's name, so that whoever opens libcuda.so.1 later (cuda-python) finds this one.
        compile_to(fresh, "-Wl,-soname,libcuda.so.1", *options)
        fresh.replace(library)
    return library


def compiled(folder: Path, *options: str, without: str = "") -> str:
    """Compile a null driver with other options, or one that lacks a function, and return its path."""
    folder.mkdir(exist_ok=True)
    library = folder / "libcuda.so"
    compile_to(library, *options, *([f"-D{without}=cuNotYet"] if without else []))
    return str(library)


class NullDriver:
    """What a test may ask of the null driver."""

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
        """Return the calls since the last time (of that name), and forget them all."""
        pointer = self._library.null_driver_take()
        text = ctypes.string_at(pointer).decode()
        self._library.null_driver_free(pointer)
        lines = [json.loads(line) for line in text.splitlines()]
        return [line for line in lines if call in (None, line["call"])]

    def launches(self) -> list[dict[str, Any]]:
        """Return the launches since the last time; their parameters as bytes."""
        found = self.take("cuLaunchKernelEx")
        for launch in found:
            launch["parameters"] = [bytes.fromhex(each) for each in launch["parameters"]]
            launch["attributes"] = [(number, bytes.fromhex(value)) for number, value in launch["attributes"]]
        return found

    def fail(self, call: str, result: int, *, after: int = 0, times: int = 1) -> None:
        """Let the next calls of a function (its symbol, with `_v2`) fail, after so many that succeed."""
        self._library.null_driver_fail(call.encode(), result, after, times)

    def set(self, **settings: int) -> None:
        """Change what the driver and its devices are; see DEFAULTS."""
        for name, value in settings.items():
            assert self._library.null_driver_set(name.encode(), value), name
        if "pyptx_launch.driver" in sys.modules:  # it asks once what a device is
            sys.modules["pyptx_launch.driver"].device.cache_clear()

    def record(self, on: bool) -> None:  # noqa: FBT001 - it is a switch
        """Write calls down, or do not: for measuring."""
        self._library.null_driver_record(int(on))

    def answer_nothing(self) -> None:
        """Launch nothing, check no code, encode no map: whoever answered in this process does so no more."""
        for question in ("launch", "load", "map"):
            getattr(self._library, f"null_driver_on_{question}")(None)

    def count(self) -> int:
        """Return how many launches there ever were, written down or not."""
        return int(self._library.null_driver_launches())

    def live(self, *, idle: bool = True) -> dict[str, int]:
        """Return what was made and not yet given back; once all work is done, if `idle`."""
        from pyptx_launch.retired import RETIRED

        if idle:
            RETIRED.unload(wait=True)
        return {name: self._library.null_driver_live(number) for name, number in LIVE.items()}

    def context(self, device: int | None) -> None:
        """Make a device's primary context, or none, current in this thread."""
        pointer = ctypes.c_void_p()
        if device is not None:
            self._library.cuDevicePrimaryCtxRetain(ctypes.byref(pointer), device)
        self._library.cuCtxSetCurrent(pointer)

    def current(self) -> int | None:
        """Return the device whose context is current in this thread."""
        device = ctypes.c_int()
        return None if self._library.cuCtxGetDevice(ctypes.byref(device)) else device.value

    def reset(self) -> None:
        """Forget calls, failures and settings; no context is current."""
        self.record(on=True)
        self._library.null_driver_fail_nothing()
        self.set(**DEFAULTS)
        self.context(None)
        self.take()


def install() -> NullDriver:
    """Return the null driver, which the shim opens in place of NVIDIA's; this process must not have opened that."""
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
