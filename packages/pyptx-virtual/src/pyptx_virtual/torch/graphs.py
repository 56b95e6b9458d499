"""CUDA graphs of torch: while a stream is captured, launches and torch's operators are recorded, and not executed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, Self, cast

import torch
from torch.utils._pytree import tree_leaves, tree_map

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Sequence

    from pyptx_sim.context.streams import Graph
    from pyptx_virtual.device import VirtualDevice
    from pyptx_virtual.torch.storages import Storages

Pool = tuple[int, int]
Kernel = Callable[[tuple[Any, ...], dict[str, Any]], object]
_POOLS: Final = count(1)
_REFUSED: Final = "CUDA error: operation not permitted when stream is capturing"

# ruff: noqa: SLF001 - names of torch._C


class Recorder:
    """Records torch's operators in the graph of a captured stream; the graph executes them at each replay."""

    def __init__(self, device: VirtualDevice, storages: Storages) -> None:
        self._device, self._storages = device, storages
        self._threads = threading.local()

    @property
    def capturing(self) -> bool:
        """Whether the current stream is captured, and no operator is being recorded or executed by a graph."""
        return self._device.streams.current.graph is not None and not self.inside

    @property
    def inside(self) -> bool:
        """Whether this thread records an operator, or executes one that a graph has recorded."""
        return bool(getattr(self._threads, "inside", False))

    def record(
        self, name: str, kernel: Kernel, args: Sequence[Any], kwargs: dict[str, Any], written: Sequence[torch.Tensor]
    ) -> object:
        """Record a call of an operator's kernel; return its results, whose elements are defined after a replay.

        The results' shapes are those of a call now, in which copies take the place of the tensors that it writes.
        Raises RuntimeError for an operator that copies to the host, as CUDA does.
        """
        own = {id(tensor): tensor for tensor in written}
        with self._recording():
            copies = {key: tensor.clone() for key, tensor in own.items()}
            made = kernel(*_replaced(copies, (tuple(args), kwargs)))
        originals = {id(copy): own[key] for key, copy in copies.items()}
        results = _replaced(originals, made)
        new = [each for each in tree_leaves(results) if id(each) not in own and each is not None]
        if not all(isinstance(each, torch.Tensor) and each.is_cuda for each in new):
            refuse_to_synchronize()
        action = partial(self._execute, kernel, tuple(args), kwargs, own.keys(), cast("list[torch.Tensor]", new))
        self._device.context.enqueue(action, name, self._device.streams.current)
        return results

    def _execute(
        self,
        kernel: Kernel,
        args: tuple[object, ...],
        kwargs: dict[str, object],
        own: Collection[int],
        outputs: Sequence[torch.Tensor],
    ) -> None:
        """Execute a recorded operator again, into its former results."""
        with self._recording(), torch.no_grad(), torch._C._AutoDispatchBelowAutograd():
            made = kernel(args, kwargs)
            new = (each for each in tree_leaves(made) if id(each) not in own and each is not None)
            for output, result in zip(outputs, new, strict=True):
                self._storages.host(output).copy_(self._storages.host(result))
                self._storages.mark_written(output)

    @contextmanager
    def _recording(self) -> Generator[None]:
        before, self._threads.inside = self.inside, True
        try:
            yield
        finally:
            self._threads.inside = before


class GraphBase:
    """Base class of `torch.cuda.CUDAGraph`, over a graph of the simulator."""

    virtual_device: ClassVar[VirtualDevice]

    def __new__(cls, keep_graph: bool = False) -> Self:  # noqa: ARG004, FBT001, FBT002 - torch's signature
        """Return a graph without work."""
        made = super().__new__(cls)
        made._graph, made._capture, made._pool = None, None, new_pool()
        return made

    _graph: Graph | None
    _capture: AbstractContextManager[Graph] | None
    _pool: Pool

    def capture_begin(self, pool: Pool | None = None, capture_error_mode: str = "global") -> None:  # noqa: ARG002 - torch's signature
        """Record the later work of the current stream; RuntimeError for the default stream, as in CUDA."""
        stream = self.virtual_device.streams.current
        if not stream.number:
            raise RuntimeError(
                "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them "
                "on the default stream.)"
            )
        self.virtual_device.context.synchronize()
        self._pool = pool or self._pool
        self._capture = stream.capture()
        self._graph = self._capture.__enter__()
        self.virtual_device.streams.captured = stream

    def capture_end(self) -> None:
        """End the recording."""
        if self._capture is None:
            raise RuntimeError("Called CUDAGraph::capture_end without a preceding successful capture_begin.")
        capture, self._capture = self._capture, None
        self.virtual_device.streams.captured = None
        capture.__exit__(None, None, None)

    def instantiate(self) -> None:
        """Do nothing: a recorded graph can be replayed."""

    def replay(self) -> None:
        """Run the recorded work in order of the current stream."""
        if self._graph is None or self._capture is not None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        self._graph.launch(self.virtual_device.streams.current)

    def reset(self) -> None:
        """Delete the recorded work, and the memory that only it refers to."""
        self._graph = None

    def pool(self) -> Pool:
        """Return the identifier of the graph's memory pool."""
        return self._pool

    def register_generator_state(self, generator: torch.Generator) -> None:
        """Do nothing: every replay draws new random numbers."""


def new_pool() -> Pool:
    """Return a new identifier of a memory pool; all memory of the device is in one pool."""
    return 0, next(_POOLS)


def refuse_to_synchronize() -> NoReturn:
    """Raise CUDA's error for the host's wait for a stream that is being captured."""
    raise RuntimeError(_REFUSED)


def _replaced(others: dict[int, torch.Tensor], values: Any) -> Any:  # noqa: ANN401 - arguments of any operator
    return tree_map(lambda each: others.get(id(each), each), values)
