"""What is not hot of the driver: asked through cuda-python, of the library that the compiled part has opened.

The bindings are imported when the driver is first asked for something, never before: they take longer than the rest of
this package together.
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

_RELAXED: Final = 2  # CU_STREAM_CAPTURE_MODE_RELAXED


def open_driver() -> None:
    """Open the driver for the compiled part, unless it is open; raises DriverMissingError."""
    _shim.open_driver(os.environ.get("PYPTX_LIBCUDA") or "libcuda.so.1")


@cache
def bindings() -> ModuleType:
    """Return `cuda.bindings.driver`, over the driver of the compiled part; raises DriverMissingError."""
    open_driver()  # which makes sure that the bindings will find the same library
    return importlib.import_module("cuda.bindings.driver")


def call(function: str, *arguments: object, doing: str = "") -> tuple[object, ...]:
    """Call a function of the driver and return its results, but for the CUresult.

    Raises DriverError, `doing` saying what was asked for, and NotImplementedError where this driver, or this release of
    the bindings, is too old to have the function.
    """
    entry = getattr(bindings(), function, None)
    if entry is None:
        raise NotImplementedError(f"this release of cuda-bindings has no {function}")
    try:
        result, *values = entry(*arguments)
    except RuntimeError as absent:  # so the bindings tell of a symbol that the library lacks
        raise NotImplementedError(f"this driver has no {function}: {absent}") from None
    except (KeyError, ValueError) as unknown:  # a CUresult that is younger than the bindings
        result = _code_in(unknown)
        values = []
    if int(result):
        raise error(int(result), f"{doing}: {function}" if doing else function)
    return tuple(values)


def number(function: str, *arguments: object, doing: str = "") -> int:
    """Call a function of the driver that gives a number or a handle, and return that; raises what `call` raises."""
    return int(cast("SupportsInt", call(function, *arguments, doing=doing)[0]))


@cache
def constant(enumeration: str, value: int) -> object:
    """Return a member of one of the driver's enumerations, which older bindings do not take for an int."""
    return getattr(bindings(), enumeration)(value)


def _code_in(unknown: Exception) -> int:
    """Return the CUresult that the bindings have no name for; raise what is no such complaint."""
    found = re.fullmatch(r"(\d+)( is not a valid .*CUresult.*)?", str(unknown))
    if found is None:
        raise unknown
    return int(found[1])


def error(result: int, what: str) -> DriverError:
    """Return the exception for a CUresult."""
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
    """Allow this thread what stream capture elsewhere forbids: loading and unloading."""
    relaxed = constant("CUstreamCaptureMode", _RELAXED)
    (before,) = call("cuThreadExchangeStreamCaptureMode", relaxed)
    try:
        yield
    finally:
        call("cuThreadExchangeStreamCaptureMode", before)


@contextmanager
def any_context() -> Generator[None]:
    """Have a context current in this thread: the one that is, or a primary one that somebody uses, or device 0's."""
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
    """Make a context current in this thread, and then again the one that was."""
    before = number("cuCtxGetCurrent")
    call("cuCtxSetCurrent", context)
    try:
        yield
    finally:
        call("cuCtxSetCurrent", before)
