"""Streams of every kind of context of the null driver, and their captures."""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from ctypes import byref, c_int, c_uint, c_ulonglong, c_void_p
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .null_driver import NullDriver

_SM, _NON_BLOCKING, _DEFAULT_STREAM, _RELAXED = 1, 1, 1, 2  # values of CUDA driver API enums


class Streams:
    """Creates contexts and streams of the null driver, and destroys them when the test ends."""

    def __init__(self, null: NullDriver) -> None:
        self._library = null._library
        self._made: list[tuple[str, c_void_p]] = []

    def call(self, function: str, *arguments: object) -> None:
        result = self._library[function](*arguments)
        assert result == 0, (function, result)

    def primary(self, device: int = 0) -> int:
        """Return a stream of a device's primary context."""
        context = c_void_p()
        self.call("cuDevicePrimaryCtxRetain", byref(context), device)
        return self._stream_of(context)

    def own(self, device: int = 0) -> int:
        """Return a stream of a context made by cuCtxCreate."""
        context = c_void_p()
        self.call("cuCtxCreate_v2", byref(context), 0, device)
        self.call("cuCtxPopCurrent_v2", byref(c_void_p()))
        self._made.append(("cuCtxDestroy_v2", context))
        return self._stream_of(context)

    def green(self, device: int = 0) -> int:
        """Return a stream of a green context with some of a device's SMs."""
        whole, group, rest = (ctypes.create_string_buffer(4096) for _ in range(3))
        description, green, stream = c_void_p(), c_void_p(), c_void_p()
        self.call("cuDeviceGetDevResource", device, whole, _SM)
        self.call("cuDevSmResourceSplitByCount", group, byref(c_uint(1)), whole, rest, 0, 16)
        self.call("cuDevResourceGenerateDesc", byref(description), group, 1)
        self.call("cuGreenCtxCreate", byref(green), description, device, _DEFAULT_STREAM)
        self._made.append(("cuGreenCtxDestroy", green))
        self.call("cuGreenCtxStreamCreate", byref(stream), green, _NON_BLOCKING, 0)
        self._made.append(("cuStreamDestroy_v2", stream))
        return stream.value or 0

    def _stream_of(self, context: c_void_p) -> int:
        stream = c_void_p()
        self.call("cuCtxPushCurrent_v2", context)
        self.call("cuStreamCreate", byref(stream), _NON_BLOCKING)
        self.call("cuCtxPopCurrent_v2", byref(c_void_p()))
        self._made.append(("cuStreamDestroy_v2", stream))
        return stream.value or 0

    def context_of(self, stream: int) -> int:
        context = c_void_p()
        self.call("cuStreamGetCtx", c_void_p(stream), byref(context))
        return context.value or 0

    def identity(self, context: c_void_p) -> int:
        number = c_ulonglong()
        self.call("cuCtxGetId", context, byref(number))
        return number.value

    @contextmanager
    def captured(self, stream: int) -> Iterator[None]:
        """Capture the launches on a stream; destroy the graph."""
        graph = c_void_p()
        self.call("cuStreamBeginCapture_v2", c_void_p(stream), c_int(_RELAXED))
        try:
            yield
        finally:
            self.call("cuStreamEndCapture", c_void_p(stream), byref(graph))
        self.call("cuGraphDestroy", graph)

    def close(self) -> None:
        for function, handle in reversed(self._made):
            self._library[function](handle)
