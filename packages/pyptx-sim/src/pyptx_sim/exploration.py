"""Run a kernel under many schedules, and list the schedules of each finding."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.renamed import with_present_keywords
from pyptx_ir.syntax import emit
from pyptx_ir.syntax.nodes import Module
from pyptx_sim.arrays import is_cpu_array, span_of
from pyptx_sim.errors import (
    STOPS,
    ExplorationInterrupted,
    LaunchError,
    SimulationInterrupted,
    Stopped,
)
from pyptx_sim.launch import LaunchFields
from pyptx_sim.outcome import Outcome
from pyptx_sim.result import Result
from pyptx_sim.simulator import run
from pyptx_sim.workers import numbered_results

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Unpack

    from pyptx_ir.terminal.progress import ProgressCallback
    from pyptx_sim.findings import Finding
    from pyptx_sim.launch import Launch
    from pyptx_sim.operation import Array
    from pyptx_sim.origins import Origins
    from pyptx_sim.run_inputs import Checks
    from pyptx_sim.spans import HostSpan
    from pyptx_sim.workers import Workers


class Options(LaunchFields, total=False):
    """Keywords of `pyptx_sim.run` that `explore` accepts, and passes to the run of each schedule."""

    checks: Checks
    step_limit: int | None
    numerics: str
    closest_form: bool
    target: str | None
    origins: Origins


@dataclass(frozen=True, slots=True)
class Schedule:
    """Schedule of a run: the arguments `seed` and `delay_async` of `pyptx_sim.run`."""

    seed: int = 0
    delay_async: bool = False

    def __str__(self) -> str:
        """Return the schedule as text: `seed 3, delay_async`."""
        return f"seed {self.seed}, delay_async" if self.delay_async else f"seed {self.seed}"


@dataclass(frozen=True, slots=True)
class FoundInSchedules:
    """A finding, as reported by the run under the first schedule that reports it, and all schedules that report it."""

    finding: Finding
    schedules: tuple[Schedule, ...]

    @property
    def as_finding(self) -> Finding:
        """The finding, with a note that lists the schedules."""
        found = f"found with {'; '.join(map(str, self.schedules))}"
        return replace(self.finding, notes=(*self.finding.notes, found))

    def __str__(self) -> str:
        """Return the text of the finding, with a note that lists the schedules."""
        return str(self.as_finding)


@dataclass(frozen=True, slots=True)
class Exploration(Outcome):
    """Outcome of a kernel's run under each schedule: a `Result`, or the error that ended the run.

    `Result` and error both have `findings`. `str()` is a summary of at most 15 lines; `text` contains all findings.
    """

    results: Mapping[Schedule, Result | Stopped]
    kernel: str = "kernel"

    @property
    def findings(self) -> tuple[FoundInSchedules, ...]:
        """Findings of all schedules, in order of first occurrence; one per rule and pair of instructions."""
        shown: dict[object, list[tuple[Finding, Schedule]]] = {}
        for schedule, result in self.results.items():
            for finding in result.findings:
                one = finding.module, finding.line, finding.origin
                other = finding.other_module, finding.other_line, finding.other_origin
                # A schedule decides which access of a data race is the second one.
                key = finding.rule, frozenset((one, other))
                shown.setdefault(key, []).append((finding, schedule))
        return tuple(
            FoundInSchedules(each[0][0], tuple(dict.fromkeys(by for _, by in each))) for each in shown.values()
        )

    @property
    def errors(self) -> Mapping[Schedule, Stopped]:
        """Errors that ended runs, by schedule."""
        return {schedule: result for schedule, result in self.results.items() if isinstance(result, Stopped)}

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """Findings of all schedules, each with a note that lists its schedules."""
        return tuple(each.as_finding for each in self.findings)

    @property
    def rows(self) -> list[str]:
        """A line per finding: headline, positions, and number of schedules."""
        return [f"{each.finding.summary}, with {counted(len(each.schedules), 'schedule')}" for each in self.findings]

    @property
    def stops(self) -> tuple[str, ...]:
        """Messages of the errors that ended runs, each with its schedule."""
        errors = ((type(error).__name__, error.without_findings, schedule) for schedule, error in self.errors.items())
        return tuple(f"{name}: {text}\n  note: with {schedule}" for name, text, schedule in errors)

    @property
    def extent(self) -> str:
        """Number of schedules."""
        return counted(len(self.results), "schedule")


@with_present_keywords
def explore(
    ptx: str | Module | Sequence[str | Module],
    launch: Launch | Sequence[Launch] | None = None,
    *,
    seeds: Iterable[int] = range(16),
    delay_async: Iterable[bool] = (False, True),
    workers: Workers = 1,
    progress: ProgressCallback | None = None,
    **options: Unpack[Options],
) -> Exploration:
    """Run a kernel under each seed, with each value of `delay_async`, and return the schedules of each finding.

    All other parameters are those of `pyptx_sim.run`. Each run starts with the current contents of the arrays;
    afterwards they hold the results of the first schedule. Schedules are independent. `workers` is the number of
    processes that run them (1: this one, 0: one per processor), or an executor of `concurrent.futures`, such as that of
    a Dask client. The results, and their order, do not depend on `workers`. The first schedule is always run in this
    process, for the arrays. A worker compiles the kernel once, and needs the same packages and plugins as this process.

    `progress` is called after each run, with the number of completed runs and the number of schedules.

    Raises the errors of `pyptx_sim.run` for a module or arguments that cannot be run. Ctrl-C raises
    ExplorationInterrupted, a KeyboardInterrupt with the outcome of the completed runs.
    """
    schedules = [Schedule(*each) for each in product(dict.fromkeys(seeds), dict.fromkeys(delay_async))]
    if not schedules:
        raise LaunchError("no schedules to explore", help="pass at least one seed and one value of delay_async")
    modules = (ptx,) if isinstance(ptx, str | Module) else tuple(ptx)
    results: dict[Schedule, Result | Stopped] = {}
    try:
        for schedule, result in _outcomes((modules, launch, options), schedules, workers):
            results[schedule] = result
            if progress is not None:
                progress(len(results), len(schedules))
    except KeyboardInterrupt as interrupt:
        raise _interrupted(schedules, results, interrupt) from None
    return _exploration(schedules, results)


_Job: TypeAlias = "tuple[tuple[str | Module, ...], Launch | Sequence[Launch] | None, Options]"


def _outcomes(
    job: _Job, schedules: Sequence[Schedule], workers: Workers
) -> Iterator[tuple[Schedule, Result | Stopped]]:
    """Yield the outcome of each schedule's run, in order of completion; the first schedule runs last."""
    others = schedules[1:]
    tried = partial(_tried, job, keep_arrays=True) if workers == 1 else partial(_tried_there, _sent(job))
    for number, outcome in numbered_results(tried, others, workers):
        yield others[number], outcome
    yield schedules[0], _tried(job, schedules[0], keep_arrays=False)


def _exploration(schedules: Sequence[Schedule], results: Mapping[Schedule, Result | Stopped]) -> Exploration:
    kernels = [each.kernel for each in results.values() if isinstance(each, Result)]
    return Exploration({each: results[each] for each in schedules if each in results}, *kernels[:1])


def _interrupted(
    schedules: Sequence[Schedule], results: Mapping[Schedule, Result | Stopped], interrupt: KeyboardInterrupt
) -> ExplorationInterrupted:
    error = ExplorationInterrupted(f"interrupted after {len(results)} of {counted(len(schedules), 'schedule')}")
    error.exploration = _exploration(schedules, results)
    of_run = interrupt.findings if isinstance(interrupt, SimulationInterrupted) else ()
    error.findings = (*error.exploration.all_findings, *of_run)
    return error


def _tried(job: _Job, schedule: Schedule, *, keep_arrays: bool) -> Result | Stopped:
    modules, launch, options = job
    try:
        return run(
            modules, launch, seed=schedule.seed, delay_async=schedule.delay_async, keep_arrays=keep_arrays, **options
        )
    except STOPS as error:
        return error


def _tried_there(sent: bytes, schedule: Schedule) -> Result | Stopped:
    return _tried(pickle.loads(sent), schedule, keep_arrays=True)  # noqa: S301 - `explore` wrote it


# --- data sent to workers -------------------------------------------------------------------------


def _sent(job: _Job) -> bytes:
    """Return a pickled job for workers: modules as PTX text, and arrays as laid out in host memory."""
    modules, launch, options = job
    sent = (tuple(each if isinstance(each, str) else emit(each) for each in modules), launch, options)
    first = _Pickler(BytesIO(), {})
    first.dump(sent)  # this pass finds the memory of all arrays, so that they overlap in the worker as here
    file = BytesIO()
    _Pickler(file, first.chunks()).dump(sent)
    return file.getvalue()


_Chunk: TypeAlias = "tuple[int, bytearray]"
"""Address and bytes of a copied range of host memory."""


class _Pickler(pickle.Pickler):
    """Pickler that writes arrays as views of copied host memory; `spans` are the host memory of all arrays so far."""

    def __init__(self, file: BytesIO, chunks: Mapping[int, _Chunk]) -> None:
        """Write to `file`; `chunks` maps the address of each array to the copied host memory that contains it."""
        super().__init__(file)
        self._chunks = chunks
        self.spans: list[HostSpan] = []

    def chunks(self) -> Mapping[int, _Chunk]:
        """Return the copy of host memory for each array, by the array's address; overlapping arrays share one copy."""
        ends: list[tuple[int, bytearray, int]] = []
        found: dict[int, _Chunk] = {}
        for span in sorted(self.spans, key=lambda each: each.low):
            if not ends or span.low >= ends[-1][2]:  # `span.phase` bytes of padding keep the alignment of the array
                ends.append((span.low - span.phase, bytearray(span.phase), span.low))
            low, held, end = ends[-1]
            held += span.data[end - span.low :].tobytes()
            ends[-1] = low, held, max(end, span.high)
            found[span.low] = low, held
        return found

    def reducer_override(self, value: object) -> Any:  # noqa: ANN401 - what pickle's own stub says, and NotImplemented
        """Return a function, and its arguments, that reconstruct an array as a view of copied host memory."""
        if not is_cpu_array(value):
            return NotImplemented
        span = span_of(value)
        self.spans.append(span)
        low, held = self._chunks.get(span.low, (span.low, bytearray()))
        array = cast("Array", value) if isinstance(value, np.ndarray) else span.data
        layout = array.dtype, array.shape, array.strides
        return _array, (held, span.low - low, *layout, span.writeable)


def _array(
    data: bytearray,
    start: int,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    writeable: object,
) -> Array:
    array: Array = np.ndarray(shape, dtype, np.frombuffer(data, np.uint8), start, strides)
    array.flags.writeable = bool(writeable)
    return array
