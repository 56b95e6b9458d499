"""The protocol's GPU side: buffers that the L2 cache does not hold, CUDA graphs, and a stopwatch of CUDA events."""

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

CACHES = 4  # a rotation of buffers is at least so many times as large as the L2 cache
GRAPH_US = 4_000.0  # how long a graph runs at least: the events' resolution of half a microsecond is nothing in it
MOST_CALLS = 4_000


class Device(Protocol):
    """What the runner needs of a device."""

    name: str  # as torch names its kind: "cuda"

    def runs(self, capability: tuple[int, int], /) -> bool:
        """Tell whether kernels for this compute capability alone run here."""
        ...

    def cache_bytes(self) -> int:
        """Return the size of the cache that buffers must not stay in."""
        ...

    def stopwatch(self, run: Callable[[], object], /) -> float:
        """Return how many microseconds the device is busy with a run."""
        ...

    def capture(self, calls: Sequence[Callable[[], object]], held: int) -> Callable[[], object]:
        """Return what makes these calls again, in order; the last `held` results live on while the next are made."""
        ...


class Cuda:
    """The first GPU, as torch sees it."""

    name = "cuda"

    def properties(self) -> Any:  # noqa: ANN401 - torch leaves it untyped
        """Return what torch tells of the device."""
        import torch

        cuda: Any = torch.cuda
        return cuda.get_device_properties(0)

    def runs(self, capability: tuple[int, int], /) -> bool:
        """Tell whether it is the device's."""
        properties = self.properties()
        return (properties.major, properties.minor) == capability

    def cache_bytes(self) -> int:
        """Return the size of the L2 cache."""
        return int(self.properties().L2_cache_size)

    def stopwatch(self, run: Callable[[], object], /) -> float:
        """Time a run by events.

        A run before them goes untimed: it keeps the device busy while the host enqueues the rest, at this load's power.
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
        """Capture the calls in a CUDA graph; all that happens only in a first call must have happened."""
        import torch

        graph, results = torch.cuda.CUDAGraph(), deque[object](maxlen=held)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            for call in calls:
                results.append(call())
        return graph.replay


def copies(device: Device, size: int) -> int:
    """Return how many sets of buffers of `size` bytes make a rotation that the cache does not hold."""
    return min(MOST_CALLS, max(2, ceil(CACHES * device.cache_bytes() / size)))


def rotation(device: Device, case: Case) -> list[Inputs]:
    """Draw so many sets of inputs that by the time the first comes round again, it has left the cache."""
    import torch

    generator = torch.Generator(device.name).manual_seed(0)
    return [case.make(generator) for _ in range(copies(device, case.bytes))]


def copying(device: Device, size: int) -> tuple[Callable[[Tensor], Tensor], list[tuple[Tensor]]]:
    """Return the copy that moves `size` bytes, half of them read, and its rotation of inputs."""
    import torch

    count = max(size // 8, 1)  # floats
    return torch.clone, [(torch.randn(count, device=device.name),) for _ in range(copies(device, size))]


@dataclass(frozen=True, slots=True)
class Replay:
    """So many calls over a rotation of inputs, as one run; it reads the inputs where they lay when it was captured."""

    run: Callable[[], object]
    calls: int
    inputs: Sequence[Sequence[Any]]


def replay(device: Device, function: Callable[..., Any], sets: Sequence[Sequence[Any]]) -> Replay:
    """Call the function for each set of inputs, and capture as many turns of that as `GRAPH_US` takes."""
    calls = [partial(function, *inputs) for inputs in sets]
    calls[0]()  # what happens only once: compilation, tuning
    turn_us = device.stopwatch(lambda: [call() for call in calls])
    turns = max(1, min(ceil(GRAPH_US / turn_us), MOST_CALLS // len(calls)))
    return Replay(device.capture(calls * turns, held=len(calls)), len(calls) * turns, sets)
