"""Libraries of deleted modules, kept loaded while their kernels may still run.

The driver does not report whether a kernel of a library runs; it only reports when all work submitted to a context has
finished (`cuCtxRecordEvent`, since CUDA 12.5). Recording that event invalidates a capture on one of the context's
streams. So the finalizer of a module, which may run in any garbage collection, makes no driver call: it only appends
the library to a list. When a module is loaded and many libraries are listed, one event per context is recorded for all
of them. No event is recorded while a stream is found to be capturing. When later modules are loaded, the events are
queried, and their libraries are unloaded once they are complete. Nothing blocks, except on drivers before CUDA 12.5:
there, many libraries are unloaded after one synchronization of the devices.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from pyptx_launch import libcuda
from pyptx_launch.errors import DriverError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

MANY: Final = 16
"""Number of retired libraries at which an event is recorded for the work submitted so far."""

_DISABLE_TIMING: Final = 2  # event flag CU_EVENT_DISABLE_TIMING
_LEGACY_STREAM: Final = 1  # stream handle CU_STREAM_LEGACY


@dataclass(frozen=True, slots=True)
class Retired:
    """A library of a deleted module, and objects that keep other memory of its kernels alive."""

    library: int
    memory: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class Batch:
    """Batch of retired libraries, with one event per context, recorded after work that may use the libraries."""

    retired: tuple[Retired, ...]
    events: tuple[int, ...]


class RetiredLibraries:
    """Libraries of deleted modules that are not yet unloaded; `len` counts them.

    `batches` are the libraries for which events are recorded. Thread-safe.
    """

    def __init__(self, many: int = MANY) -> None:
        self.batches: tuple[Batch, ...] = ()
        # Finalizers of modules append to this deque without taking the lock: a finalizer's thread may already hold it.
        self._gathering = deque[Retired]()
        self._many = many
        self._guards: tuple[Callable[[], bool], ...] = ()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._gathering) + sum(len(batch.retired) for batch in self.batches)

    def add(self, library: int, *memory: object) -> None:
        """Add a deleted module's library, and `memory` to keep alive as long as the library; makes no driver call."""
        self._gathering.append(Retired(library, memory))

    def guard(self, capturing: Callable[[], bool]) -> None:
        """Record no event while `capturing()` reports that a stream captures.

        Captures of streams that synchronize with the legacy default stream are detected without `capturing`, in all
        threads. Captures of non-blocking streams, which frameworks use, are known only to the owner of the stream.
        """
        if capturing not in self._guards:
            self._guards = (*self._guards, capturing)

    def unload(self, *, wait: bool = False) -> None:
        """Unload libraries whose work has finished; if many libraries lack an event, record events for them.

        With `wait`, synchronize with the devices and unload everything, unless a stream captures; raises DriverError
        for a failure. Without `wait`, driver errors leave the list unchanged: the next launch reports them.
        """
        due = wait or self.batches or len(self._gathering) >= self._many
        if not self or not due or not self._lock.acquire(blocking=wait):
            return
        try:
            with libcuda.relaxed_capture(), _active_contexts() as contexts:
                self._unload_finished()
                if (wait or len(self._gathering) >= self._many) and not self._capturing(contexts):
                    self._settle(contexts, wait=wait)
        except DriverError:
            if wait:
                raise
        finally:
            self._lock.release()

    def _settle(self, contexts: Sequence[int], *, wait: bool) -> None:
        """Record events for libraries without one, or `wait` for all work; then unload libraries with finished work."""
        # Empties the deque by popleft(): iteration fails if another thread appends a retired library meanwhile.
        retired = tuple([self._gathering.popleft() for _ in range(len(self._gathering))])
        try:
            events = () if wait else _recorded(contexts)
            if events is None or wait:
                _wait_for(contexts)
        except BaseException:
            self._gathering.extendleft(reversed(retired))
            raise
        self.batches = (*self.batches, Batch(retired, events or ()))
        self._unload_finished()

    def _unload_finished(self) -> None:
        finished = [batch for batch in self.batches if all(map(_complete, batch.events))]
        self.batches = tuple(batch for batch in self.batches if batch not in finished)
        for batch in finished:
            for each in batch.retired:
                _quietly("cuLibraryUnload", each.library)
            for event in batch.events:
                _quietly("cuEventDestroy", event)

    def _capturing(self, contexts: Sequence[int]) -> bool:
        return any(guard() for guard in self._guards) or any(map(_captures, contexts))


RETIRED: Final = RetiredLibraries()
"""Retired libraries of this process."""


@contextmanager
def _active_contexts() -> Generator[tuple[int, ...]]:
    """Retain the active primary contexts for the `with` body: kernels can run only in active contexts."""
    with ExitStack() as kept:
        contexts: list[int] = []
        for ordinal in range(libcuda.number("cuDeviceGetCount")):
            if not cast("tuple[int, int]", libcuda.call("cuDevicePrimaryCtxGetState", ordinal))[1]:
                continue
            contexts.append(libcuda.number("cuDevicePrimaryCtxRetain", ordinal))
            kept.callback(_quietly, "cuDevicePrimaryCtxRelease", ordinal)
        yield tuple(contexts)


def _captures(context: int) -> bool:
    """Return whether a blocking stream of a context captures.

    While one does, `cuStreamIsCapturing` on the legacy stream returns an error (driver API manual), which leaves the
    capture intact.
    """
    with libcuda.current_context(context):
        try:
            return libcuda.number("cuStreamIsCapturing", _LEGACY_STREAM) != 0
        except DriverError:
            return True


def _recorded(contexts: Sequence[int]) -> tuple[int, ...] | None:
    """Return one event per context, recorded after its submitted work; None if the driver lacks cuCtxRecordEvent."""
    events: list[int] = []
    try:
        for context in contexts:
            with libcuda.current_context(context):
                events.append(libcuda.number("cuEventCreate", _DISABLE_TIMING))
            libcuda.call("cuCtxRecordEvent", context, events[-1])
    except (DriverError, NotImplementedError) as refused:
        for event in events:
            _quietly("cuEventDestroy", event)
        if isinstance(refused, NotImplementedError):
            return None
        raise
    return tuple(events)


def _wait_for(contexts: Sequence[int]) -> None:
    for context in contexts:
        with libcuda.current_context(context):
            libcuda.call("cuCtxSynchronize")


def _complete(event: int) -> bool:
    try:
        libcuda.call("cuEventQuery", event)
    except DriverError:  # CUDA_ERROR_NOT_READY, or a lost context, whose libraries cannot be unloaded
        return False
    return True


def _quietly(function: str, argument: int) -> None:
    """Release a driver object, ignoring errors: on an error the context is lost, and the object with it."""
    with suppress(DriverError):
        libcuda.call(function, argument)
