"""Base classes of `torch.cuda.Stream` and `torch.cuda.Event`, and the current stream of each thread.

Launches complete in the order in which the program makes them, whatever their streams. CUDA allows this order for any
streams and events. Therefore waiting for an event has no effect here.
"""

from __future__ import annotations

import itertools
import threading
import time
from typing import TYPE_CHECKING, Any, Final, Self

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

_CUDA: Final = 1  # c10::DeviceType
StreamData = tuple[int, int, int]
"""Stream number, device index and device type, as torch passes streams around."""

DEFAULT: Final[StreamData] = (0, 0, _CUDA)


class Streams:
    """The streams of the device. `synchronize` completes all launches."""

    def __init__(self, synchronize: Callable[[], None]) -> None:
        self.synchronize = synchronize
        self._numbers = itertools.count(1)
        self._threads = threading.local()

    @property
    def current(self) -> StreamData:
        """The current stream of the calling thread."""
        found: StreamData = getattr(self._threads, "current", DEFAULT)
        return found

    @current.setter
    def current(self, stream: StreamData) -> None:
        self._threads.current = stream

    def new(self) -> StreamData:
        """Return a new stream."""
        return next(self._numbers), 0, _CUDA

    def stream_base(self) -> type[torch.Stream]:
        """Return the class that torch calls `_CudaStreamBase`."""
        streams = self

        class StreamBase(torch.Stream):
            """CUDA stream; `cuda_stream` is its number, 0 for the default stream."""

            def __new__(
                cls,
                priority: int = 0,
                stream_id: int | None = None,
                device_index: int = 0,
                device_type: int = _CUDA,
                stream_ptr: int | None = None,
            ) -> Self:
                given = stream_id if stream_id is not None else stream_ptr
                number = streams.new()[0] if given is None else given
                made = super().__new__(cls, stream_id=number, device_index=device_index, device_type=device_type)
                made.priority = min(max(priority, -5), 0)  # the range of compute capability 7.0 and later
                return made

            priority: int

            @property
            def cuda_stream(self) -> int:
                return self.stream_id

            @classmethod
            def priority_range(cls) -> tuple[int, int]:
                return 0, -5

            def query(self) -> bool:
                streams.synchronize()
                return True

            def synchronize(self) -> None:
                streams.synchronize()

            def wait_event(self, _event: object) -> None:
                """Order later work after the event: launches complete in the program's order."""

            def __enter__(self) -> Self:
                entered: list[StreamData] = self.__dict__.setdefault("_entered", [])
                entered.append(streams.current)
                streams.current = (self.stream_id, self.device_index, self.device_type)
                return self

            def __exit__(self, *_: object) -> None:
                streams.current = self.__dict__["_entered"].pop()

        return StreamBase

    def event_base(self) -> type[torch.Event]:
        """Return the class that torch calls `_CudaEventBase`."""
        streams, numbers = self, itertools.count(1)

        class EventBase(torch.Event):
            """CUDA event; its time is the host's, because the simulator has no clock."""

            def __new__(
                cls,
                enable_timing: bool = False,  # noqa: FBT001, FBT002 - torch's signature
                blocking: bool = False,  # noqa: FBT001, FBT002, ARG004 - the same
                interprocess: bool = False,  # noqa: FBT001, FBT002 - the same
                external: bool = False,  # noqa: FBT001, FBT002, ARG004 - the same
            ) -> Self:
                if interprocess:
                    raise RuntimeError("torch.cuda.Event(interprocess=True) is not available on the virtual GPU")
                made = super().__new__(cls, device="cuda", enable_timing=enable_timing)
                made.timed, made.time, made.cuda_event = enable_timing, None, 0
                return made

            timed: bool
            time: float | None
            cuda_event: int

            def record(self, _stream: object = None) -> None:
                if self.timed:
                    streams.synchronize()
                self.cuda_event = self.cuda_event or next(numbers)
                self.time = time.perf_counter()

            def wait(self, _stream: object = None) -> None:
                """Order later work after the event: launches complete in the program's order."""

            def query(self) -> bool:
                streams.synchronize()
                return True

            def synchronize(self) -> None:
                streams.synchronize()

            def elapsed_time(self, end_event: Any) -> float:  # noqa: ANN401 - an event of this class
                if not (self.timed and end_event.timed):
                    raise ValueError("Both events must be created with argument 'enable_timing=True'.")
                if self.time is None or end_event.time is None:
                    raise ValueError("Both events must be recorded before calculating elapsed time.")
                return float(end_event.time - self.time) * 1e3

        return EventBase
