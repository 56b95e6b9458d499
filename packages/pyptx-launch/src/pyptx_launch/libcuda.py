"""Driver calls outside the hot path, through cuda-python, in the libcuda that the native extension opened.

The bindings are imported at the first driver call: the import takes longer than importing the rest of this package.
"""

from __future__ import annotations

import importlib
import os
import re
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Final, SupportsInt, cast

from pyptx_launch import _shim
from pyptx_launch.errors import DriverError

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import ModuleType

_RELAXED: Final = 2  # driver API enum value CU_STREAM_CAPTURE_MODE_RELAXED


def open_driver() -> None:
    """Open libcuda for the native extension, unless it is open; raise DriverMissingError if there is none."""
    _shim.open_driver(os.environ.get("PYPTX_LIBCUDA") or "libcuda.so.1")


@cache
def bindings() -> ModuleType:
    """Return `cuda.bindings.driver` on the native extension's driver; raise DriverMissingError if there is none."""
    open_driver()  # load libcuda first, so that cuda-bindings finds the same library
    return importlib.import_module("cuda.bindings.driver")


def call(function: str, *arguments: object, doing: str = "") -> tuple[object, ...]:
    """Call a driver function and return its results without the CUresult.

    Raises DriverError with `doing` as context, and NotImplementedError if this driver or this release of the bindings
    is too old to have the function.
    """
    entry = getattr(bindings(), function, None)
    if entry is None:
        raise NotImplementedError(f"{function} is missing in this release of cuda-bindings")
    try:
        result, *values = entry(*arguments)
    except RuntimeError as absent:  # cuda-bindings raises RuntimeError if libcuda lacks a symbol
        raise NotImplementedError(f"{function} is missing in this driver: {absent}") from None
    except (KeyError, ValueError) as unknown:  # a CUresult value that this release of cuda-bindings lacks
        result = _code_in(unknown)
        values = []
    if int(result):
        raise error(int(result), f"{doing}: {function}" if doing else function)
    return tuple(values)


def number(function: str, *arguments: object, doing: str = "") -> int:
    """Call a driver function and return its only result, a number or a handle; raises the same errors as `call`."""
    return int(cast("SupportsInt", call(function, *arguments, doing=doing)[0]))


@cache
def constant(enumeration: str, value: int) -> object:
    """Return the member of a driver enumeration for a value; older cuda-bindings do not accept the value as an int."""
    return getattr(bindings(), enumeration)(value)


def _code_in(unknown: Exception) -> int:
    """Return the CUresult number that cuda-bindings could not convert to an enum; re-raise any other exception."""
    found = re.fullmatch(r"(\d+)( is not a valid .*CUresult.*)?", str(unknown))
    if found is None:
        raise unknown
    return int(found[1])


def error(result: int, what: str) -> DriverError:
    """Return the DriverError for a CUresult, with its name, meaning and help."""
    name, meaning = (_said(function, result) for function in ("cuGetErrorName", "cuGetErrorString"))
    name, meaning = name or "CUDA_ERROR_UNKNOWN", meaning or "unknown to this driver"
    return DriverError(f"{what} failed with {name} ({result}): {meaning}", name=name, code=result, meaning=meaning)


def _said(function: str, result: int) -> str:
    try:
        known = bindings().CUresult(result)
    except (KeyError, ValueError):
        return ""
    said = getattr(bindings(), function)(known)[1]
    return said.decode() if said else ""


@contextmanager
def relaxed_capture() -> Generator[None]:
    """Allow this thread to load and unload code while a stream of another thread captures."""
    relaxed = constant("CUstreamCaptureMode", _RELAXED)
    (before,) = call("cuThreadExchangeStreamCaptureMode", relaxed)
    try:
        yield
    finally:
        call("cuThreadExchangeStreamCaptureMode", before)


@contextmanager
def any_context() -> Generator[None]:
    """Keep the thread's current context; without one, make an active primary context (or device 0's) current."""
    if number("cuCtxGetCurrent"):
        yield
        return
    ordinals = range(number("cuDeviceGetCount"))
    used = (each for each in ordinals if cast("tuple[int, int]", call("cuDevicePrimaryCtxGetState", each))[1])
    ordinal = next(used, 0)
    context = number("cuDevicePrimaryCtxRetain", ordinal)
    try:
        with current_context(context):
            yield
    finally:
        call("cuDevicePrimaryCtxRelease", ordinal)


@contextmanager
def current_context(context: int) -> Generator[None]:
    """Make a context current for the `with` body, then restore the thread's previous context."""
    before = number("cuCtxGetCurrent")
    call("cuCtxSetCurrent", context)
    try:
        yield
    finally:
        call("cuCtxSetCurrent", before)
