"""Base classes of `torch.cuda.Stream` and `torch.cuda.Event`, over streams and events of the simulator."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, Self

import torch

if TYPE_CHECKING:
    from pyptx_sim.context import Event, Stream

    from pyptx_virtual.device import VirtualDevice

_CUDA: Final = 1  # c10::DeviceType
_HIGHEST: Final = -5  # priority; the range of compute capability 7.0 and later is 0 to -5

StreamData = tuple[int, int, int]
"""Stream number, device index and device type, as torch passes streams around."""


def stream_data(stream: Stream) -> StreamData:
    """Return a stream in torch's form."""
    return stream.number, 0, _CUDA


def stream_base(device: VirtualDevice) -> type[torch.Stream]:
    """Return the class that torch calls `_CudaStreamBase`."""

    class StreamBase(torch.Stream):
        """CUDA stream; its handle `cuda_stream` is its number, 0 for the default stream."""

        def __new__(
            cls,
            priority: int = 0,
            stream_id: int | None = None,
            device_index: int = 0,
            device_type: int = _CUDA,
            stream_ptr: int | None = None,
        ) -> Self:
            given = stream_ptr if stream_id is None else stream_id
            stream = device.streams.new() if given is None else device.streams.find(given)
            made = super().__new__(cls, stream_id=stream.number, device_index=device_index, device_type=device_type)
            made.simulated, made.priority, made.entered = stream, min(max(priority, _HIGHEST), 0), []
            return made

        simulated: Stream
        priority: int
        entered: list[Stream]

        @property
        def cuda_stream(self) -> int:
            return self.simulated.number

        @classmethod
        def priority_range(cls) -> tuple[int, int]:
            return 0, _HIGHEST

        def query(self) -> bool:
            return self.simulated.idle

        def synchronize(self) -> None:
            self.simulated.synchronize()

        def __enter__(self) -> Self:
            self.entered.append(device.streams.current)
            device.streams.current = self.simulated
            return self

        def __exit__(self, *_: object) -> None:
            device.streams.current = self.entered.pop()

    return StreamBase


def event_base(device: VirtualDevice) -> type[torch.Event]:
    """Return the class that torch calls `_CudaEventBase`."""

    class EventBase(torch.Event):
        """CUDA event. Its time is the host's, because the simulator has no clock."""

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
            made.simulated, made.timed, made.time = device.context.event(), enable_timing, None
            return made

        simulated: Event
        timed: bool
        time: float | None

        @property
        def cuda_event(self) -> int:
            """Handle of the event, 0 before it is recorded."""
            return 0 if self.time is None else id(self.simulated)

        def record(self, stream: Any) -> None:  # noqa: ANN401 - a stream of this module's class
            stream.simulated.record(self.simulated)
            if self.timed:
                self.simulated.synchronize()
            self.time = time.perf_counter()

        def wait(self, stream: Any) -> None:  # noqa: ANN401 - a stream of this module's class
            stream.simulated.wait(self.simulated)

        def query(self) -> bool:
            return self.simulated.complete

        def synchronize(self) -> None:
            self.simulated.synchronize()

        def elapsed_time(self, end_event: Any) -> float:  # noqa: ANN401 - an event of this class
            """Return the milliseconds between two records."""
            if not (self.timed and end_event.timed):
                raise ValueError("Both events must be created with argument 'enable_timing=True'.")
            if self.time is None or end_event.time is None:
                raise ValueError("Both events must be recorded before calculating elapsed time.")
            return float(end_event.time - self.time) * 1e3

    return EventBase
