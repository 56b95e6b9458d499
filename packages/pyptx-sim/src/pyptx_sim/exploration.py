"""Run a kernel under many schedules, and tell which of them show what."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

import numpy as np

from pyptx_ir.syntax import emit
from pyptx_sim.arguments import Mapped, Uninitialised
from pyptx_sim.arrays import is_cpu_array, shares_memory, storage_of
from pyptx_sim.errors import BarrierFault, Deadlock, KernelTrap, LaunchError, MemoryFault, StepLimitExceeded
from pyptx_sim.simulator import run
from pyptx_sim.workers import in_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Unpack

    from pyptx_ir.plugins.rows import Frame, SharedVariable
    from pyptx_ir.syntax.nodes import Module
    from pyptx_sim.arguments import Value
    from pyptx_sim.findings import Finding
    from pyptx_sim.operation import Array
    from pyptx_sim.result import Result
    from pyptx_sim.simulator import Checks
    from pyptx_sim.workers import Workers

Stopped: TypeAlias = KernelTrap | StepLimitExceeded | MemoryFault | BarrierFault | Deadlock
"""Errors with which a run ends; another schedule may end well."""


class Options(TypedDict, total=False):
    """The keywords of `pyptx_sim.run` that are the same for all schedules."""

    entry: str | None
    grid: int | Sequence[int]
    block: int | Sequence[int]
    cluster: int | Sequence[int]
    shared_bytes: int
    args: Sequence[Value | Uninitialised]
    checks: Checks
    step_limit: int | None
    numerics: str
    any_form: bool
    origins: Mapping[int, tuple[Frame, ...]] | None
    names: Sequence[str]
    shared: Sequence[SharedVariable]


@dataclass(frozen=True, slots=True)
class Schedule:
    """An order of a run: the `seed` and `late` of `pyptx_sim.run`."""

    seed: int = 0
    late: bool = False

    def __str__(self) -> str:
        """Spell it in words."""
        return f"seed {self.seed}, late" if self.late else f"seed {self.seed}"


@dataclass(frozen=True, slots=True)
class Shown:
    """A finding, as the first of some schedules shows it, and all that show it."""

    finding: Finding
    schedules: tuple[Schedule, ...]

    def __str__(self) -> str:
        """Spell the finding, then the schedules."""
        return f"{self.finding}\n  shown by {'; '.join(map(str, self.schedules))}"


@dataclass(frozen=True, slots=True)
class Exploration:
    """What came of a kernel under each of some schedules: its `Result`, or the error that ended the run."""

    results: Mapping[Schedule, Result | Stopped]

    @property
    def findings(self) -> tuple[Shown, ...]:
        """What was found, schedule by schedule, in order of first sight; one of each rule and pair of instructions."""
        shown: dict[object, list[tuple[Finding, Schedule]]] = {}
        for schedule, result in self.results.items():
            for finding in getattr(result, "findings", ()):
                key = finding.rule, finding.line, finding.other_line, finding.origin, finding.other_origin
                shown.setdefault(key, []).append((finding, schedule))
        return tuple(Shown(each[0][0], tuple(dict.fromkeys(by for _, by in each))) for each in shown.values())

    @property
    def errors(self) -> Mapping[Schedule, Stopped]:
        """The errors that have ended runs."""
        return {schedule: result for schedule, result in self.results.items() if isinstance(result, Stopped)}

    @property
    def clean(self) -> bool:
        """Whether nothing was found, and every run came to its end."""
        return not self.findings and not self.errors

    def __str__(self) -> str:
        """Spell what was found, and what ended runs."""
        told = [f"{len(self.results)} schedules: {len(self.findings)} findings, {len(self.errors)} errors"]
        told += map(str, self.findings)
        told += [f"{type(error).__name__}: {error}\n  under {schedule}" for schedule, error in self.errors.items()]
        return "\n".join(told)


def explore(
    ptx: str | Module,
    *,
    seeds: Iterable[int] = range(16),
    late: Iterable[bool] = (False, True),
    workers: Workers = 1,
    **options: Unpack[Options],
) -> Exploration:
    """Run a kernel under each seed, with each value of `late`, and tell which schedules show what.

    All else is as `pyptx_sim.run` says. Each run begins with the arrays as they are; afterwards they hold what the
    first schedule has left. Schedules do not depend on each other: `workers` says how many processes run them (1: this
    one, 0: one per processor), or is an executor of `concurrent.futures`, such as that of a Dask client; results are
    the same, in the same order. A worker compiles the kernel once, and needs the packages and plugins that are here.

    Raises what `pyptx_sim.run` raises for a module or arguments that cannot be run, and LaunchError for arguments that
    share memory.
    """
    schedules = [Schedule(*each) for each in product(dict.fromkeys(seeds), dict.fromkeys(late))]
    if not schedules:
        raise LaunchError("there is no schedule to explore", hint="name a seed, and a value of late, at least")
    arrays = _arrays(options.get("args", ()))
    if any(shares_memory(*pair) for pair in combinations(arrays, 2)):
        raise LaunchError("arguments of an exploration share memory", hint="pass copies of them")
    sent = BytesIO()
    _Pickler(sent).dump((ptx if isinstance(ptx, str) else emit(ptx), options))
    items = [(schedule, number == 0) for number, schedule in enumerate(schedules)]
    done = in_order(partial(_explored, sent.getvalue()), items, workers)
    for array, left in zip(arrays, done[0][1], strict=True):
        if array.flags.writeable:
            array[...] = left
    return Exploration(dict(zip(schedules, (result for result, _ in done), strict=True)))


def _explored(sent: bytes, item: tuple[Schedule, bool]) -> tuple[Result | Stopped, list[Array]]:
    """Run a kernel on copies of its arrays; return, if asked to, what these hold then."""
    schedule, keeps = item
    text, options = pickle.loads(sent)  # noqa: S301 - `explore` wrote it
    try:
        result: Result | Stopped = run(text, seed=schedule.seed, late=schedule.late, **options)
    except (KernelTrap, StepLimitExceeded, MemoryFault, BarrierFault, Deadlock) as error:
        result = error
    return result, _arrays(options.get("args", ())) if keeps else []


class _Pickler(pickle.Pickler):
    """Sends arrays as they lie in memory, with the bytes between their elements."""

    def reducer_override(self, value: object) -> Any:  # noqa: ANN401 - what pickle's own stub says, and NotImplemented
        """Return how to make an array anew."""
        if not isinstance(value, np.ndarray):
            return NotImplemented
        laid_out = storage_of(value).tobytes(), value.dtype, value.shape, value.strides, value.flags.writeable
        return _array, laid_out


def _array(
    data: bytes, dtype: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...], writeable: object
) -> Array:
    array: Array = np.ndarray(shape, dtype, bytearray(data), strides=strides)
    array.flags.writeable = bool(writeable)
    return array


def _arrays(arguments: Sequence[Value | Uninitialised]) -> list[Array]:
    """Return the bytes of the arrays among some arguments, shared with them."""
    values = (each.array if isinstance(each, Mapped | Uninitialised) else each for each in arguments)
    return [storage_of(value) for value in values if is_cpu_array(value)]
