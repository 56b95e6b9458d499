"""Base classes of `torch.cuda.Stream` and `torch.cuda.Event`, over streams and events of the simulator."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, Final, Self

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


class StreamBase(torch.Stream):
    """Base class of `torch.cuda.Stream`; the handle `cuda_stream` is the stream's number, 0 for the default stream."""

    virtual_device: ClassVar[VirtualDevice]
    simulated: Stream
    priority: int
    entered: list[Stream]

    def __new__(
        cls,
        priority: int = 0,
        stream_id: int | None = None,
        device_index: int = 0,
        device_type: int = _CUDA,
        stream_ptr: int | None = None,
    ) -> Self:
        """Return a new stream; if an identifier is given, the existing stream."""
        given = stream_ptr if stream_id is None else stream_id
        streams = cls.virtual_device.streams
        stream = streams.new() if given is None else streams.find(given)
        made = super().__new__(cls, stream_id=stream.number, device_index=device_index, device_type=device_type)
        made.simulated, made.priority, made.entered = stream, min(max(priority, _HIGHEST), 0), []
        return made

    @property
    def cuda_stream(self) -> int:
        """Handle of the stream."""
        return self.simulated.number

    @classmethod
    def priority_range(cls) -> tuple[int, int]:
        """Return the lowest and the highest priority."""
        return 0, _HIGHEST

    def query(self) -> bool:
        """Return whether the stream's work is complete."""
        return self.simulated.idle

    def synchronize(self) -> None:
        """Complete the stream's work."""
        self.simulated.synchronize()

    def __enter__(self) -> Self:
        """Make this the current stream of the thread."""
        self.entered.append(self.virtual_device.streams.current)
        self.virtual_device.streams.current = self.simulated
        return self

    def __exit__(self, *_: object) -> None:
        """Make the former stream the current one."""
        self.virtual_device.streams.current = self.entered.pop()


class EventBase(torch.Event):
    """Base class of `torch.cuda.Event`. Its time is the host's, because the simulator has no clock."""

    virtual_device: ClassVar[VirtualDevice]
    simulated: Event
    timed: bool
    time: float | None

    def __new__(
        cls,
        enable_timing: bool = False,  # noqa: FBT001, FBT002 - torch's signature
        blocking: bool = False,  # noqa: FBT001, FBT002, ARG004 - the same
        interprocess: bool = False,  # noqa: FBT001, FBT002 - the same
        external: bool = False,  # noqa: FBT001, FBT002, ARG004 - the same
    ) -> Self:
        """Return a new event."""
        if interprocess:
            raise RuntimeError("torch.cuda.Event(interprocess=True) is not available on the virtual GPU")
        made = super().__new__(cls, device="cuda", enable_timing=enable_timing)
        made.simulated, made.timed, made.time = cls.virtual_device.context.event(), enable_timing, None
        return made

    @property
    def cuda_event(self) -> int:
        """Handle of the event, 0 before it is recorded."""
        return 0 if self.time is None else id(self.simulated)

    def record(self, stream: torch.Stream | None = None) -> None:
        """Record the event after the present work of a stream; a timed event completes that work."""
        self._stream(stream).record(self.simulated)
        if self.timed:
            self.simulated.synchronize()
        self.time = time.perf_counter()

    def wait(self, stream: torch.Stream | None = None) -> None:
        """Order later work of a stream after the event."""
        self._stream(stream).wait(self.simulated)

    def query(self) -> bool:
        """Return whether the work before the event is complete."""
        return self.simulated.complete

    def synchronize(self) -> None:
        """Complete the work before the event."""
        self.simulated.synchronize()

    def _stream(self, stream: torch.Stream | None) -> Stream:
        """Return the simulated stream of one of torch's; None: the current one."""
        streams = self.virtual_device.streams
        return streams.current if stream is None else streams.find(stream.stream_id)

    def elapsed_time(self, other: torch.Event) -> float:
        """Return the milliseconds between two records."""
        if not isinstance(other, EventBase):
            raise TypeError(f"expected a torch.cuda.Event, got {other!r}")
        if not (self.timed and other.timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self.time is None or other.time is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (other.time - self.time) * 1e3
