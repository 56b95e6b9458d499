"""`Context`: a simulated device for programs that load modules, allocate memory and launch kernels."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING, Final, TypedDict, Unpack

from pyptx_ir.syntax.nodes import Module
from pyptx_sim.context.modules import LoadedModule
from pyptx_sim.context.operations import DeviceLaunch, HostOperation, LaunchOperation
from pyptx_sim.context.streams import Event, Queue
from pyptx_sim.device_memory import DeviceMemory
from pyptx_sim.exploration import Exploration, Schedule
from pyptx_sim.launch import Launch
from pyptx_sim.machine.geometry import extent_of
from pyptx_sim.run_inputs import parsed_modules
from pyptx_sim.simulator import run_programs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from pyptx_ir.terminal.progress import ProgressCallback
    from pyptx_sim.context.operations import StreamOperation
    from pyptx_sim.context.streams import Stream
    from pyptx_sim.errors import Stopped
    from pyptx_sim.launch import LaunchFields
    from pyptx_sim.origins import Origins
    from pyptx_sim.result import Result
    from pyptx_sim.run_inputs import Checks

_MEMORY_BYTES: Final = 16 << 30


class ContextOptions(TypedDict, total=False):
    """Keywords of `pyptx_sim.run` that a context passes to each run."""

    checks: Checks
    step_limit: int | None
    numerics: str
    progress: ProgressCallback | None


class RunOptions(ContextOptions, total=False):
    """Keywords of one run."""

    seed: int
    delay_async: bool


class Context:
    """A simulated device: memory, modules, streams and graphs that outlive launches.

    `memory` is the device's memory, `launches` the launches that ran so far, with their findings.

    Launches run in an order that streams, events and graphs allow: seed 0 runs each launch when it is called, any other
    seed keeps launches pending until the host waits for them, and chooses at random among the launches that may run.
    A launch of a kernel with `griddepcontrol` always stays pending, so that the next launch of its stream may overlap
    it if that is `programmatic_dependent`. The host must call `synchronize` (of the context, a stream or an event)
    before it reads what launches write, as on a GPU.

    A context may be used from several threads; only one of them simulates at a time.
    """

    def __init__(
        self,
        target: str | None = None,
        *,
        memory_bytes: int = _MEMORY_BYTES,
        seed: int = 0,
        schedules: Sequence[Schedule] | None = None,
        **options: Unpack[ContextOptions],
    ) -> None:
        """Create a device that simulates `target` (`sm_90a`), by default each module's `.target`.

        `memory_bytes` is the size of device memory. `seed` determines the order of launches. Each launch runs
        under all of `schedules`, by default one with this seed; the first schedule's writes are kept.
        `options` are those of `pyptx_sim.run`: `checks`, `step_limit`, `numerics`, `progress`.
        """
        self.target, self.seed, self.options = target, seed, options
        self.schedules = tuple(schedules or (Schedule(seed),))
        self.memory = DeviceMemory(memory_bytes)
        self.launches: list[DeviceLaunch] = []
        self.when_complete: Callable[[DeviceLaunch], None] | None = None
        """Function that is called with each launch when it is complete, or has ended with an error."""
        self.show: Callable[[DeviceLaunch], AbstractContextManager[ProgressCallback]] | None = None
        """Function that returns a context manager for a launch's simulation, which yields its progress callback."""
        self._lock = RLock()
        self._queue = Queue(seed, self._execute)
        self._modules: dict[tuple[object, ...], LoadedModule] = {}

    # Modules and launches ----------------------------------------------------------------------------

    def load(self, ptx: str | Module | Sequence[str | Module], *, closest_form: bool = False) -> LoadedModule:
        """Load a module, or several linked modules, into device memory; return the same object for the same text.

        Raises PtxSyntaxError for invalid text, ProgramError if linking fails, OutOfMemory.
        """
        several = (ptx,) if isinstance(ptx, str | Module) else tuple(ptx)
        key = (closest_form, *(each if isinstance(each, str) else id(each) for each in several))
        with self._lock:
            if key not in self._modules:
                modules = parsed_modules(several)
                self._modules[key] = LoadedModule.load(modules, self.memory, self.target, closest_form=closest_form)
            return self._modules[key]

    def launch(
        self,
        module: LoadedModule | str | Module | Sequence[str | Module],
        launch: Launch | None = None,
        *,
        stream: Stream | None = None,
        origins: Origins | None = None,
        **fields: Unpack[LaunchFields],
    ) -> DeviceLaunch:
        """Launch a kernel of a module, which is loaded if necessary; return the launch's record.

        The launch is a `Launch`, or its fields as keywords, without `memory`. Pointers are device addresses, or arrays
        of the host: those have device memory for this launch only, and are modified in place when it completes.
        `origins`: see `pyptx_sim.run`.

        Raises LaunchError for arguments that do not match. Errors of the kernel are raised when it runs, and recorded.
        """
        with self._lock:
            loaded = module if isinstance(module, LoadedModule) else self.load(module)
            fields["memory"] = self.memory
            asked = replace(launch or Launch(grid=1), **fields)
            program = loaded.program(asked.entry)
            on = stream or self._queue.default

            def make(number: int, after: tuple[StreamOperation, ...]) -> LaunchOperation:
                name, numbers = program.entry.name, tuple(each.number for each in after)
                grid = extent_of(asked.grid, "grid", least=0)
                record = DeviceLaunch(number, name, on.number, numbers, grid, loaded.modules)
                return LaunchOperation(
                    number, on.number, after, name, program=program, launch=asked, record=record, origins=origins
                )

            return on.submit(make).record

    def enqueue(self, action: Callable[[], None], label: str, stream: Stream | None = None) -> None:
        """Run `action` in stream order: a copy or a callback of the host. `label` names it."""
        with self._lock:
            on = stream or self._queue.default
            on.submit(lambda number, after: HostOperation(number, on.number, after, label, action=action))

    # Order -------------------------------------------------------------------------------------------

    @property
    def default_stream(self) -> Stream:
        """The default stream, on which launches run if no stream is given."""
        return self._queue.default

    def stream(self, *, blocking: bool = True) -> Stream:
        """Return a new stream; `blocking`: ordered with the default stream."""
        return self._queue.stream(blocking=blocking)

    def event(self) -> Event:
        """Return a new event, which is complete until a stream records it."""
        return Event(self._queue)

    def synchronize(self) -> None:
        """Complete all work of the device."""
        with self._lock:
            self._queue.complete(None)

    def _execute(self, chain: Sequence[StreamOperation]) -> None:
        """Run launches that overlap, or one operation, whose predecessors are done."""
        for work in chain:
            if isinstance(work, HostOperation):
                work.action()
        launches = [work for work in chain if isinstance(work, LaunchOperation)]
        if launches:
            self._simulate(launches)

    def _simulate(self, launches: Sequence[LaunchOperation]) -> None:
        last, started = launches[-1].record, time.perf_counter()
        for work in launches[:-1]:
            work.record.within = last.number
        self.launches += [work.record for work in launches]
        try:
            with nullcontext() if self.show is None else self.show(last) as progress:
                last.result = self._run(launches, progress)
        except BaseException as error:
            last.error = error
            raise
        finally:
            last.seconds = time.perf_counter() - started
            if self.when_complete is not None:
                for work in launches:
                    self.when_complete(work.record)

    def _run(self, launches: Sequence[LaunchOperation], progress: ProgressCallback | None) -> Result:
        """Run launches under each schedule, under the first one last; return its result with all findings."""
        programs, origins = [(work.program, work.launch) for work in launches], launches[-1].origins
        first, *others = self.schedules
        results: dict[Schedule, Result | Stopped] = {}
        try:
            for each in others:
                results[each] = run_programs(programs, origins, keep_arrays=True, **self._options(each, progress))
            last = results[first] = run_programs(programs, origins, **self._options(first, progress))
        except BaseException:
            launches[-1].record.earlier = Exploration(results).all_findings
            raise
        if not others:
            return last
        found = Exploration({each: results[each] for each in self.schedules}).all_findings
        return replace(last, findings=found)

    def _options(self, schedule: Schedule, progress: ProgressCallback | None) -> RunOptions:
        """Return the options of a run under a schedule."""
        options: RunOptions = {**self.options, "seed": schedule.seed, "delay_async": schedule.delay_async}
        return options if progress is None else {**options, "progress": progress}
