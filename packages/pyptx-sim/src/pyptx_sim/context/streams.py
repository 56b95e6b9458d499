"""Streams, events and graphs: the orders in which the work of a device may run.

Work in a stream runs in order. An event orders work of another stream after the work before its recording. The default
stream waits for the work of all blocking streams, and they for its work (CUDA Programming Guide: "Default Stream").
Seed 0 runs work in the order of the calls; any other seed chooses randomly among the work whose predecessors are done.
"""

from __future__ import annotations

import random
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from pyptx_sim.context.operations import LaunchOperation
from pyptx_sim.errors import LaunchError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from pyptx_sim.context.operations import StreamOperation


AnyOperation = TypeVar("AnyOperation", bound="StreamOperation")


class Queue:
    """Pending work of a device, and its streams. `execute` runs launches that overlap, or one piece of work."""

    def __init__(self, seed: int, execute: Callable[[Sequence[StreamOperation]], None]) -> None:
        """Start without work, with the default stream; `seed` determines the order of work that nothing orders."""
        self._random = random.Random(seed) if seed else None  # noqa: S311 - schedules, not secrets
        self._execute = execute
        self._pending: list[StreamOperation] = []
        self._count = 0
        self.streams = [Stream(self, 0, blocking=True)]

    @property
    def default(self) -> Stream:
        """The default stream."""
        return self.streams[0]

    def stream(self, *, blocking: bool) -> Stream:
        """Return a new stream."""
        self.streams.append(Stream(self, len(self.streams), blocking=blocking))
        return self.streams[-1]

    def number(self) -> int:
        """Return the next number of work."""
        self._count += 1
        return self._count - 1

    def submit(self, work: StreamOperation, graph: Graph | None) -> None:
        """Add work to a graph that is being captured, or to the pending work; with seed 0, run what can run now.

        A launch that the next launch may overlap stays pending until other work follows or the host waits.
        """
        if graph is not None:
            graph.work.append(work)
            return
        self._pending.append(work)
        if self._random is None:
            held = isinstance(work, LaunchOperation) and work.program.controls_dependents
            self._run_until(lambda: len(self._pending) <= held)

    def complete(self, work: StreamOperation | None) -> None:
        """Run pending work until `work` is done; None: all pending work."""
        self._run_until(lambda: not self._pending if work is None else work.done)

    def step(self) -> None:
        """Run one piece of pending work, if there is any: a host that polls makes the device progress."""
        if self._pending:
            self._run_one()

    def _run_until(self, reached: Callable[[], bool]) -> None:
        while not reached():
            self._run_one()

    def _run_one(self) -> None:
        ready = [work for work in self._pending if work.ready]
        chain = [ready[0] if self._random is None else self._random.choice(ready)]
        while following := next((work for work in self._pending if _overlap(work, chain[-1])), None):
            chain.append(following)
        self._pending = [work for work in self._pending if work not in chain]
        for work in chain:
            work.done = True
        self._execute(chain)


def _overlap(work: StreamOperation, before: StreamOperation) -> bool:
    return isinstance(work, LaunchOperation) and work.overlaps(before)


class Stream:
    """Work that runs in order. `blocking`: ordered with the default stream; `number` 0 is the default stream."""

    def __init__(self, queue: Queue, number: int, *, blocking: bool) -> None:
        """Start without work."""
        self._queue = queue
        self.number, self.blocking = number, blocking
        self.last: StreamOperation | None = None
        self.waits: list[StreamOperation] = []
        self.graph: Graph | None = None

    def submit(self, make: Callable[[int, tuple[StreamOperation, ...]], AnyOperation]) -> AnyOperation:
        """Add the work that `make` returns for a number and the work before it."""
        work = make(self._queue.number(), self.predecessors())
        self.last, self.waits = work, []
        self._queue.submit(work, self.graph)
        return work

    def synchronize(self) -> None:
        """Complete the stream's work. LaunchError while it is captured."""
        self._refuse_capture("synchronize")
        self.record().synchronize()

    @property
    def idle(self) -> bool:
        """Whether the stream's work is complete (`cudaStreamQuery`); pending work of the device makes progress."""
        self._refuse_capture("query")
        return self.record().complete

    def record(self, event: Event | None = None) -> Event:
        """Record an event, by default a new one, after the stream's present work; return the event."""
        made = Event(self._queue) if event is None else event
        made.work, made.graph = self.predecessors(), self.graph
        return made

    def wait(self, event: Event) -> None:
        """Order the stream's later work after the work before the event. An event of a capture captures the stream."""
        if event.graph is not None and self.graph is None:
            event.graph.join(self)
        self.waits += event.work

    def predecessors(self) -> tuple[StreamOperation, ...]:
        """Return the work that the stream's next work must follow."""
        found = [self.last, *self.waits]
        if self.graph is None:
            if not self.number:
                found += [other.last for other in self._queue.streams if other.blocking and other.graph is None]
            elif self.blocking:
                found.append(self._queue.default.last)
        return tuple(dict.fromkeys(work for work in found if work is not None))

    @contextmanager
    def capture(self) -> Generator[Graph]:
        """Within the `with` statement, record the stream's work in a new graph instead of running it."""
        self._refuse_capture("capture")
        graph = Graph(self._queue)
        graph.join(self)
        try:
            yield graph
        finally:
            graph.leave()

    def _refuse_capture(self, what: str) -> None:
        if self.graph is not None:
            raise LaunchError(f"cannot {what} a stream during its capture")


class Event:
    """Point in a stream: later work of other streams may wait for the work before it."""

    def __init__(self, queue: Queue) -> None:
        """Start as an event that was never recorded, which is complete."""
        self._queue = queue
        self.work: tuple[StreamOperation, ...] = ()
        self.graph: Graph | None = None

    def synchronize(self) -> None:
        """Complete the work before the event."""
        for work in self.work:
            self._queue.complete(work)

    @property
    def complete(self) -> bool:
        """Whether the work before the event is done (`cudaEventQuery`); pending work of the device makes progress."""
        if not all(work.done for work in self.work):
            self._queue.step()
        return all(work.done for work in self.work)


class Graph:
    """Recorded work, with the order that streams and events gave it. `launch` runs it, any number of times."""

    def __init__(self, queue: Queue) -> None:
        """Start without work."""
        self._queue = queue
        self._captured: dict[Stream, tuple[StreamOperation | None, list[StreamOperation]]] = {}
        self.work: list[StreamOperation] = []

    def join(self, stream: Stream) -> None:
        """Record the later work of a stream in this graph."""
        self._captured[stream] = stream.last, stream.waits
        stream.graph, stream.last, stream.waits = self, None, []

    def leave(self) -> None:
        """End the capture: later work of the captured streams runs again, after the work before the capture."""
        for stream, (last, waits) in self._captured.items():
            stream.graph, stream.last, stream.waits = None, last, waits
        self._captured.clear()

    def launch(self, stream: Stream | None = None) -> None:
        """Run the graph's work after the work of `stream`, by default the default stream; later work waits for all."""
        on = stream or self._queue.default
        before = on.predecessors()
        made: dict[StreamOperation, StreamOperation] = {}
        for work in self.work:
            after = tuple(made[each] for each in work.after) or before
            made[work] = work.again(self._queue.number(), on.number, after)
        followed = {each for work in made.values() for each in work.after}
        for work in made.values():
            self._queue.submit(work, on.graph)
        on.waits += [work for work in made.values() if work not in followed]
