"""Work of a device: launches, and operations of the host, that streams and events order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.syntax.nodes import Module
    from pyptx_sim.findings import Finding
    from pyptx_sim.launch import Launch
    from pyptx_sim.origins import Origins
    from pyptx_sim.program.program import Program
    from pyptx_sim.result import Result


@dataclass(slots=True, eq=False)
class DeviceLaunch:
    """One launch of a `Context`, in order of the calls: `number` counts from 0, `stream` is the stream's number.

    `modules` are the linked modules of the kernel. `after` are the numbers of the launches and host operations that
    streams, events and graphs order directly before it. `result` is None until the launch is complete. `error` is the
    exception that ended it. `seconds` is the time that the simulation took. If a dependent launch was simulated
    together with this one, its record has the result of both, and `within` is its number. `earlier` are the findings
    of the schedules that were complete before the error.
    """

    number: int
    kernel: str
    stream: int
    after: tuple[int, ...]
    grid: tuple[int, ...]
    modules: tuple[Module, ...] = field(default=(), repr=False)
    result: Result | None = None
    error: BaseException | None = None
    seconds: float = 0.0
    within: int | None = None
    earlier: tuple[Finding, ...] = field(default=(), repr=False)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings of the launch; if it ended with an error, those before the error, under all schedules."""
        if self.result is not None:
            return self.result.findings
        return (*self.earlier, *getattr(self.error, "findings", ()))


@dataclass(slots=True, eq=False, repr=False)
class StreamOperation:
    """Work in stream order; `after` is the work that must be done before it. `label` names it in messages."""

    number: int
    stream: int
    after: tuple[StreamOperation, ...]
    label: str
    done: bool = False

    @property
    def ready(self) -> bool:
        """Whether all work that must be done before it is done."""
        return all(each.done for each in self.after)

    def again(self, number: int, stream: int, after: tuple[StreamOperation, ...]) -> StreamOperation:
        """Return the same work, to be done once more, in another place of the order."""
        return replace(self, number=number, stream=stream, after=after, done=False)


@dataclass(slots=True, eq=False, repr=False)
class HostOperation(StreamOperation):
    """Work of the host in stream order: a copy, a callback."""

    action: Callable[[], None] = field(default=lambda: None)


@dataclass(slots=True, eq=False, repr=False)
class LaunchOperation(StreamOperation):
    """Launch of `program`, recorded in `record`."""

    program: Program = field(kw_only=True)
    launch: Launch = field(kw_only=True)
    record: DeviceLaunch = field(kw_only=True)
    origins: Origins | None = None

    def again(self, number: int, stream: int, after: tuple[StreamOperation, ...]) -> StreamOperation:
        """Return the same launch, to be done once more, in another place of the order, with a record of its own."""
        numbers = tuple(each.number for each in after)
        record = DeviceLaunch(number, self.record.kernel, stream, numbers, self.record.grid, self.record.modules)
        return replace(self, number=number, stream=stream, after=after, done=False, record=record)

    def overlaps(self, other: StreamOperation) -> bool:
        """Return whether this launch may start before `other`, on which alone it depends, is done.

        Manual: "griddepcontrol".
        """
        return self.launch.programmatic_dependent and self.after == (other,) and isinstance(other, LaunchOperation)
