"""Streams of the virtual device by their numbers, and the current stream of each thread."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from pyptx_virtual.errors import UnknownStream

if TYPE_CHECKING:
    from pyptx_sim import Context
    from pyptx_sim.context import Stream


class Streams:
    """The streams that frameworks have made; number 0 is the default stream.

    A stream's number is its handle, as `cudaStream_t` is in CUDA. `captured` is the stream in capture, which is
    the current one of each thread that has not chosen a stream: autograd uses that of the forward pass.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._streams = {0: context.default_stream}
        self._threads = threading.local()
        self.captured: Stream | None = None

    def new(self) -> Stream:
        """Return a new stream, which is not ordered with the default stream."""
        stream = self._context.stream(blocking=False)
        self._streams[stream.number] = stream
        return stream

    def find(self, number: int) -> Stream:
        """Return the stream with a number; raise UnknownStream if there is none."""
        stream = self._streams.get(number)
        if stream is None:
            raise UnknownStream(f"unknown stream {number:#x}", help="use a stream of this process, or 0")
        return stream

    @property
    def current(self) -> Stream:
        """The stream on which the calling thread launches."""
        chosen: Stream | None = getattr(self._threads, "current", None)
        return chosen or self.captured or self._context.default_stream

    @current.setter
    def current(self, stream: Stream) -> None:
        self._threads.current = stream
