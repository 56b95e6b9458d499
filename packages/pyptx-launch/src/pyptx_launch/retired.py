"""Libraries whose module is gone, kept loaded for as long as their kernels may still run.

The driver does not say whether a kernel of a library runs, only when all that a context had been asked to do is done
(`cuCtxRecordEvent`, since CUDA 12.5). Asking for that breaks off a capture of one of the context's streams. So the end
of a module, which may come in any garbage collection, calls nothing: it only puts the library on a list. When a module
is loaded and many libraries have gathered, an event is recorded for all of them, unless a stream is seen to capture;
when later ones are loaded, the event is queried, and what it covers is unloaded once it is complete. Nothing waits, but
on drivers before CUDA 12.5, where many libraries wait for the devices together.
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
"""How many libraries gather before the driver is asked when the work of now is done."""

_DISABLE_TIMING: Final = 2  # CU_EVENT_DISABLE_TIMING
_LEGACY_STREAM: Final = 1  # CU_STREAM_LEGACY


@dataclass(frozen=True, slots=True)
class Retired:
    """A library whose module has died, and objects that hold what else its kernels may still use."""

    library: int
    memory: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class Batch:
    """Libraries that were retired together, and an event in each context behind the work that may be theirs."""

    retired: tuple[Retired, ...]
    events: tuple[int, ...]


class RetiredLibraries:
    """The list of what is no longer used and not yet unloaded; `len` counts libraries.

    `batches` are those for which events are recorded. Any thread may use it.
    """

    def __init__(self, many: int = MANY) -> None:
        self.batches: tuple[Batch, ...] = ()
        self._gathering = deque[Retired]()  # finalizers append to it, without a lock that this thread might hold
        self._many = many
        self._guards: tuple[Callable[[], bool], ...] = ()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._gathering) + sum(len(batch.retired) for batch in self.batches)

    def add(self, library: int, *memory: object) -> None:
        """Keep a library whose module has died, and `memory` with it; calls nothing of the driver."""
        self._gathering.append(Retired(library, memory))

    def guard(self, capturing: Callable[[], bool]) -> None:
        """Record no event while `capturing()` says that a stream captures.

        Captures of streams that wait for the legacy default stream are seen without it, in all threads; those of
        non-blocking streams, which frameworks use, only by whoever knows the stream.
        """
        if capturing not in self._guards:
            self._guards = (*self._guards, capturing)

    def unload(self, *, wait: bool = False) -> None:
        """Unload what is known to be finished, and record events for the others if there are many.

        With `wait`, wait for the devices and unload everything, unless a stream captures; raises DriverError where
        waiting fails. Without it, errors of the driver leave the list as it is: the next launch says what they are.
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
        """Record events for what has gathered, or wait; then unload what is finished."""
        # One by one: other threads add to the list meanwhile, over which an iteration would stumble.
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
"""The list of this process."""


@contextmanager
def _active_contexts() -> Generator[tuple[int, ...]]:
    """Keep the primary contexts that somebody uses, for as long as this lasts: only there can a kernel run."""
    with ExitStack() as kept:
        contexts: list[int] = []
        for ordinal in range(libcuda.number("cuDeviceGetCount")):
            if not cast("tuple[int, int]", libcuda.call("cuDevicePrimaryCtxGetState", ordinal))[1]:
                continue
            contexts.append(libcuda.number("cuDevicePrimaryCtxRetain", ordinal))
            kept.callback(_quietly, "cuDevicePrimaryCtxRelease", ordinal)
        yield tuple(contexts)


def _captures(context: int) -> bool:
    """Tell whether a blocking stream of a context captures. Driver API, `cuStreamIsCapturing`: that is an error of it.

    The error leaves the capture as it is.
    """
    with libcuda.current_context(context):
        try:
            return libcuda.number("cuStreamIsCapturing", _LEGACY_STREAM) != 0
        except DriverError:
            return True


def _recorded(contexts: Sequence[int]) -> tuple[int, ...] | None:
    """Return an event in each context behind its work; None from a driver that records none for a context."""
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
    except DriverError:  # CUDA_ERROR_NOT_READY; or the context is lost, and nothing can be unloaded from it
        return False
    return True


def _quietly(function: str, argument: int) -> None:
    """Give something back to the driver; where it refuses, its context is lost, and the thing with it."""
    with suppress(DriverError):
        libcuda.call(function, argument)
