"""GPU side of the protocol: buffers that exceed the L2 cache, CUDA graphs, and a stopwatch with CUDA events."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.kernels.case import Case, Inputs
    from torch import Tensor

CACHES = 4  # minimum size of all sets of inputs together, as a multiple of the size of the L2 cache
GRAPH_US = 4_000.0  # minimum microseconds of a timed CUDA graph: the half microsecond that events resolve is negligible
MOST_CALLS = 4_000


class Device(Protocol):
    """Protocol of the device on which the runner measures."""

    name: str  # torch's name of the device type: "cuda"

    def runs(self, capability: tuple[int, int], /) -> bool:
        """Return whether kernels that require this compute capability run here."""
        ...

    def cache_bytes(self) -> int:
        """Return the bytes of the L2 cache, which a rotation of inputs must exceed."""
        ...

    def stopwatch(self, run: Callable[[], object], /) -> float:
        """Return the microseconds for which the device is busy with a run."""
        ...

    def capture(self, calls: Sequence[Callable[[], object]], held: int) -> Callable[[], object]:
        """Return a function that repeats these calls in order; the last `held` results stay allocated meanwhile."""
        ...


class Cuda:
    """Device: the first CUDA GPU that torch sees."""

    name = "cuda"

    def properties(self) -> Any:  # noqa: ANN401 - torch leaves it untyped
        """Return torch's properties of the device."""
        import torch

        cuda: Any = torch.cuda
        return cuda.get_device_properties(0)

    def runs(self, capability: tuple[int, int], /) -> bool:
        """Return whether `capability` is the compute capability of the device."""
        properties = self.properties()
        return (properties.major, properties.minor) == capability

    def cache_bytes(self) -> int:
        """Return the bytes of the L2 cache."""
        return int(self.properties().L2_cache_size)

    def stopwatch(self, run: Callable[[], object], /) -> float:
        """Time a run with events.

        An untimed run precedes the events: it keeps the device busy, at the power of this load, while the host enqueues
        the events and the timed run.
        """
        import torch

        event: Any = torch.cuda.Event
        begun, ended = event(enable_timing=True), event(enable_timing=True)
        run()
        begun.record()
        run()
        ended.record()
        ended.synchronize()
        return float(begun.elapsed_time(ended)) * 1e3

    def capture(self, calls: Sequence[Callable[[], object]], held: int) -> Callable[[], object]:
        """Capture the calls in a CUDA graph; the one-time work of first calls must precede the capture."""
        import torch

        graph, results = torch.cuda.CUDAGraph(), deque[object](maxlen=held)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            for call in calls:
                results.append(call())
        return graph.replay


def copies(device: Device, size: int) -> int:
    """Return the number of sets of buffers, `size` bytes a set, whose rotation exceeds the L2 cache."""
    return min(MOST_CALLS, max(2, ceil(CACHES * device.cache_bytes() / size)))


def rotation(device: Device, case: Case) -> list[Inputs]:
    """Draw so many sets of inputs that each set has left the L2 cache before it is used again."""
    import torch

    generator = torch.Generator(device.name).manual_seed(0)
    return [case.make(generator) for _ in range(copies(device, case.bytes))]


def copying(device: Device, size: int) -> tuple[Callable[[Tensor], Tensor], list[tuple[Tensor]]]:
    """Return a device copy that moves `size` bytes (reads and writes together), and its rotation of inputs."""
    import torch

    count = max(size // 8, 1)  # number of f32 elements; a device copy reads and writes 4 bytes of each
    return torch.clone, [(torch.randn(count, device=device.name),) for _ in range(copies(device, size))]


@dataclass(frozen=True, slots=True)
class Replay:
    """Captured calls over a rotation of inputs, as one run, which reads the inputs at their captured addresses."""

    run: Callable[[], object]
    calls: int
    inputs: Sequence[Sequence[Any]]


def replay(device: Device, function: Callable[..., Any], sets: Sequence[Sequence[Any]]) -> Replay:
    """Call the function once per set of inputs; capture as many repetitions of these calls as take `GRAPH_US`."""
    calls = [partial(function, *inputs) for inputs in sets]
    calls[0]()  # the first call does one-time work (compilation, tuning) before the capture
    turn_us = device.stopwatch(lambda: [call() for call in calls])
    turns = max(1, min(ceil(GRAPH_US / turn_us), MOST_CALLS // len(calls)))
    return Replay(device.capture(calls * turns, held=len(calls)), len(calls) * turns, sets)
