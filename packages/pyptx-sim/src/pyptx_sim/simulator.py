"""`run`: execute PTX on the CPU and check it for faults."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from pyptx_ir.renamed import with_present_keywords
from pyptx_sim.arguments import does_nothing, pack_arguments
from pyptx_sim.duplicates.proofs import Watched, settle
from pyptx_sim.errors import InternalError, LaunchError, SimulationError, SimulationInterrupted
from pyptx_sim.findings import Finding, FindingLog
from pyptx_sim.heap import keep_freed_memory
from pyptx_sim.instructions.compiling.table import compile_program
from pyptx_sim.limits import check_seed, configuration_of
from pyptx_sim.machine.grid_progress import GridProgress
from pyptx_sim.machine.grids import run_in_order
from pyptx_sim.machine.machine import RESIDENT_WARPS, WAVE_WARPS, Machine
from pyptx_sim.machine.observers import Observers
from pyptx_sim.machine.view import MachineView
from pyptx_sim.origins import SourceFrames, origins_by_module, point_at
from pyptx_sim.program.lowering import lower
from pyptx_sim.result import Result, Statistics
from pyptx_sim.rules.element_types import ELEMENT_TYPE, ElementTypes
from pyptx_sim.rules.outputs import UNWRITTEN, OutputWrites, report_unwritten, unwritten_without_blocks
from pyptx_sim.rules.races import RaceChecker
from pyptx_sim.run_inputs import is_exact, launches_of, observers_of, parsed_modules, rules_of
from pyptx_sim.timeline import Recording

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Unpack

    from pyptx_ir.plugins.rows import Output
    from pyptx_ir.syntax.nodes import Module
    from pyptx_ir.terminal.progress import ProgressCallback
    from pyptx_sim.arguments import Arguments
    from pyptx_sim.duplicates.proofs import Prepare
    from pyptx_sim.extension.rule import Rule
    from pyptx_sim.instructions.compiling.table import Schedule
    from pyptx_sim.launch import Launch, LaunchFields
    from pyptx_sim.machine.geometry import Configuration
    from pyptx_sim.machine.scheduling.code import Code
    from pyptx_sim.observer import Observer
    from pyptx_sim.origins import LineFrames, Origins
    from pyptx_sim.program.program import Program
    from pyptx_sim.run_inputs import Checks

# Default step limit in executed basic blocks: minutes of simulation. Real kernels end within seconds.
STEP_LIMIT = 5_000_000


@with_present_keywords
def run(
    ptx: str | Module | Sequence[str | Module],
    launch: Launch | Sequence[Launch] | None = None,
    *,
    checks: Checks = "all",
    seed: int = 0,
    delay_async: bool = False,
    step_limit: int | None = STEP_LIMIT,
    numerics: str = "fast",
    closest_form: bool = False,
    target: str | None = None,
    origins: Origins = None,
    trace: str | os.PathLike[str] | None = None,
    trace_blocks: int | None = None,
    keep_arrays: bool = False,
    progress: ProgressCallback | None = None,
    **fields: Unpack[LaunchFields],
) -> Result:
    """Run one entry of a module over a grid, and return the findings and statistics.

    Several modules are linked as by nvlink: `.extern` functions and variables are resolved in the other modules.

    The launch is a `Launch`, or its fields as keywords: `entry`, `grid`, `block`, `cluster`, `shared_bytes`, `args`,
    `memory`, `textures`, `resident_blocks` and others. Keywords next to `launch` override its fields. Several launches
    run in stream order, on the same global memory.

    - `checks`: "all", "none" or names of rules. With checks, faults become findings and the kernel continues; without
      them they raise MemoryFault, BarrierFault or Deadlock.
    - `seed`: 0 executes warps and completes asynchronous operations in a fixed order, any other number in a random one.
    - `delay_async`: completes asynchronous operations only when a thread waits for them.
    - `step_limit`: maximum number of basic blocks executed; None for no limit.
    - `numerics`: "exact" computes MMAs bit-exactly for the target, "fast" within an error bound (docs/fragments.md).
    - `closest_form`: for experiments with future forms. An instruction that matches no form of the instruction table is
      an error by default; with `closest_form` it is executed as the nearest form, without the modifiers that this form
      lacks.
    - `target`: target to simulate instead of the module's `.target`.
    - `origins`: maps PTX lines to the user's source lines, for messages; for linked modules, a mapping per module.
      Instructions that it lacks have the source lines of the PTX's `.loc`.
    - `keep_arrays`: leaves the arrays unchanged.
    - `trace`: file for a timeline of the run, also written if the run fails. `.json`: Chrome trace events of the first
      8 CTAs of the grid. `.svg`: a drawing of the first CTA. `trace_blocks` changes the number of CTAs; clusters are
      traced whole.
    - `progress`: function called at most 20 times per second, and at the end, with the number of CTAs that have exited
      and the number of CTAs in all launches; for a single CTA, with the number of executed basic blocks and 0. If the
      launches run again, to examine data races, it starts again at 0. Its exceptions end the run.

    Raises PtxSyntaxError for invalid text, ProgramError (UnknownForm, MissingSemantics) for a module that cannot be
    run, LaunchError for arguments that do not match, StepLimitExceeded, and KernelTrap. An error that ends the kernel
    has the earlier findings as `findings`. Ctrl-C raises SimulationInterrupted, a KeyboardInterrupt with `findings`.
    Writes to the arrays before an error or an interrupt are kept.
    """
    modules = parsed_modules(ptx)
    asked = [
        (lower(modules, each.entry, target, closest_form=closest_form), each) for each in launches_of(launch, fields)
    ]
    return run_programs(
        asked,
        origins,
        checks=checks,
        seed=seed,
        delay_async=delay_async,
        step_limit=step_limit,
        numerics=numerics,
        trace=trace,
        trace_blocks=trace_blocks,
        keep_arrays=keep_arrays,
        progress=progress,
    )


def run_programs(
    asked: Sequence[tuple[Program, Launch]],
    origins: Origins | None = None,
    *,
    checks: Checks = "all",
    seed: int = 0,
    delay_async: bool = False,
    step_limit: int | None = STEP_LIMIT,
    numerics: str = "fast",
    trace: str | os.PathLike[str] | None = None,
    trace_blocks: int | None = None,
    keep_arrays: bool = False,
    progress: ProgressCallback | None = None,
) -> Result:
    """Run launches of lowered programs in stream order, on the same global memory. For the options, see `run`."""
    check_seed(seed)
    rules, exact = rules_of(checks), is_exact(numerics)
    asked = [each for each in asked if not does_nothing(each[1])]
    if not asked:
        return _result(())
    launches = tuple(
        _prepared(program, each, origins_by_module(origins, len(program.modules)), rules, exact=exact, seed=seed)
        for program, each in asked
    )
    if trace is not None and len(launches) > 1:
        raise LaunchError("trace= with several launches", help="trace one launch per run")
    runs = _Runs(launches, asked, seed, delay_async, step_limit, trace, trace_blocks, keep_arrays, progress)
    machines, recording = runs.attempt(WAVE_WARPS)
    # If resident CTAs waited for CTAs that did not fit, run again with as many resident CTAs as on a GPU.
    if any(machine.starved for machine in machines):
        machines, recording = runs.attempt(RESIDENT_WARPS)
    kernels = dict.fromkeys(each.program.entry.name for each in launches)
    drawing = None if recording is None else recording.drawing
    return replace(_result(machines), kernel=", ".join(kernels), timeline=drawing)


def without_blocks(outputs: Iterable[Output], checks: Checks) -> Result:
    """Return the result of a launch without CTAs; `outputs` are the outputs that were allocated for the launch."""
    rules = rules_of(checks)
    found = tuple(unwritten_without_blocks(outputs)) if UNWRITTEN in rules else ()
    return Result(tuple(replace(each, severity=rules[UNWRITTEN].severity) for each in found), Statistics(0, 0, 0, 0, 0))


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A compiled launch, without packed arguments; `code` was compiled for `schedule`."""

    launch: Launch
    program: Program
    code: Code
    configuration: Configuration
    frames: SourceFrames
    rules: Mapping[str, Rule]
    exact: bool
    schedule: Schedule
    seed: int

    def machine(self, packed: Arguments, warps: int) -> Machine:
        """Return a `Machine` that simulates the launch with packed arguments and at most `warps` resident warps."""
        log, memories = FindingLog(self.program.place, self.program.opcode, self.frames.of, self.rules), packed.memories
        machine = Machine(
            *(self.program, self.code, self.configuration, memories, packed.heap, log),
            checked=bool(self.rules),
            warps=warps,
        )
        machine.handles, machine.allocations = packed.handles, self.launch.shared
        return machine

    def observe(self, machine: Machine) -> RaceChecker | None:
        """Attach the checkers of the rules to a simulated `Machine`; return the race checker, None without one.

        In a weak schedule, the race checker also determines the older values that reads may return.
        """
        watching = [make(MachineView(machine)) for make in observers_of(self.rules.values())]
        if watching:
            machine.observers = Observers(watching)
        races = next((each for each in watching if isinstance(each, RaceChecker)), None)
        if races is not None and self.schedule == "weak":
            machine.past = races.past(self.seed)
        return races

    def watch_memory(self, machine: Machine, packed: Arguments) -> OutputWrites | None:
        """Attach checkers of element types and of output writes; return the checker of output writes, or None."""
        if ELEMENT_TYPE in self.rules:
            types = ElementTypes.of(MachineView(machine), self.program, self.launch, packed.memories)
            if types is not None:
                machine.observers = machine.observers.beside(types)
                types.finish = partial(_forget, machine, types)
        if UNWRITTEN not in self.rules or not packed.outputs:
            return None
        writes = OutputWrites(packed.outputs)
        machine.observers = machine.observers.beside(writes)
        return writes


@dataclass(frozen=True, slots=True)
class _Runs:
    """The compiled launches of one call of `run`, with the options of the call."""

    launches: Sequence[_Prepared]
    asked: Sequence[tuple[Program, Launch]]
    seed: int
    delay_async: bool
    step_limit: int | None
    trace: str | os.PathLike[str] | None
    trace_blocks: int | None
    keep_arrays: bool
    progress: ProgressCallback | None

    def attempt(self, warps: int) -> tuple[list[Machine], Recording | None]:
        """Run each launch with at most `warps` resident warps; return the launches' machines and the timeline."""
        keep_freed_memory()
        packed, machines, checkers = self._machines(warps)
        watching = zip(self.launches, machines, packed, strict=True)
        writes = [each.watch_memory(machine, given) for each, machine, given in watching]
        # Attach the recorder of the timeline last: it receives each event after all checkers.
        recording = None if self.trace is None else Recording(self.trace, self.trace_blocks, machines[0])
        settling = partial(self._settle, machines, checkers, warps)
        kept = None if self.keep_arrays else packed[0]
        _run(machines, kept, self.seed, recording, writes[-1], settling, GridProgress(machines, self.progress))
        return machines, recording

    def _machines(self, warps: int) -> tuple[Sequence[Arguments], list[Machine], list[RaceChecker | None]]:
        """Return the packed arguments, machines and race checkers of the launches."""
        packed = pack_arguments(self.asked, checked=bool(self.launches[0].rules))
        machines = [each.machine(given, warps) for each, given in zip(self.launches, packed, strict=True)]
        for machine in machines:
            machine.step_limit, machine.delay_async = self.step_limit, self.delay_async
        checkers = [each.observe(machine) for each, machine in zip(self.launches, machines, strict=True)]
        for before, machine, each in zip(machines, machines[1:], self.launches[1:], strict=False):
            if each.launch.programmatic_dependent:
                machine.grids.launched_behind(before)
        return packed, machines, checkers

    def _settle(self, machines: Sequence[Machine], checkers: Sequence[RaceChecker | None], warps: int) -> None:
        """Downgrade findings of benign races to notes; this may rerun the launches."""
        launches = zip(self.launches, machines, checkers, strict=True)
        watched = [
            Watched(
                machine, checker, partial(compile_program, each.program, checked=True, exact=each.exact), each.schedule
            )
            for each, machine, checker in launches
            if checker is not None
        ]
        if len(watched) == len(machines):
            settle(watched, partial(self._rerun, warps))

    def _rerun(self, warps: int, prepare: Prepare) -> bool:
        """Rerun the launches on `Machine`s set up by `prepare`, without storing arrays; return whether all complete."""
        _, machines, checkers = self._machines(warps)
        try:
            for index, (machine, checker) in enumerate(zip(machines, checkers, strict=True)):
                if checker is not None:
                    prepare(index, machine, checker)
            completed = run_in_order(machines, self.seed, GridProgress(machines, self.progress).report)
            return completed and not any(machine.starved for machine in machines)
        except InternalError as error:
            warnings.warn(f"racing accesses were not proved to be benign: {error}", RuntimeWarning, stacklevel=2)
            return False
        except SimulationError:
            return False


def _forget(machine: Machine, observer: Observer) -> None:
    machine.observers = machine.observers.without(observer)


def _prepared(
    program: Program,
    launch: Launch,
    origins: Sequence[LineFrames],
    rules: Mapping[str, Rule],
    *,
    exact: bool,
    seed: int,
) -> _Prepared:
    """Compile a launch for its schedule, and check the configuration."""
    schedule = _schedule(program, rules, seed)
    frames = SourceFrames(program, origins)
    code = _compiled(frames, checked=bool(rules), exact=exact, schedule=schedule)
    return _Prepared(launch, program, code, configuration_of(program, launch), frames, rules, exact, schedule, seed)


def _schedule(program: Program, rules: Mapping[str, Rule], seed: int) -> Schedule:
    """Return the kind of schedule: `fixed` for seed 0, else `weak` or `random`.

    In a `weak` schedule, reads may return older values that the memory model allows. `weak` is
    used if races are checked and any load or store is strong.
    """
    if not seed:
        return "fixed"
    return "weak" if program.moves_strongly and RaceChecker in observers_of(rules.values()) else "random"


def _compiled(frames: SourceFrames, *, checked: bool, exact: bool, schedule: Schedule) -> Code:
    """Compile the program; add the user's source line to an error."""
    try:
        return compile_program(frames.program, checked=checked, exact=exact, schedule=schedule)
    except SimulationError as error:
        error.point_at("" if error.pc is None else point_at(frames.of(error.pc)))
        raise


def _run(
    machines: Sequence[Machine],
    packed: Arguments | None,
    seed: int,
    recording: Recording | None,
    writes: OutputWrites | None,
    settle_races: Callable[[], None],
    progress: GridProgress,
) -> None:
    """Run the launches. As on a GPU, writes before an error are kept; the timeline is written after an error, too."""
    error = None
    try:
        if run_in_order(machines, seed, progress.report):
            progress.finish()
            if writes is not None:
                report_unwritten(machines[-1], writes)
            settle_races()
    except SimulationError as stopped:
        error = stopped.message
        stopped.findings = _findings(machines)
        raise
    except KeyboardInterrupt:
        error = f"interrupted after {progress}"
        interrupt = SimulationInterrupted(error)
        interrupt.findings = _findings(machines)
        raise interrupt from None
    finally:
        if not any(machine.starved for machine in machines):
            if packed is not None:
                packed.copy_back()
            if recording is not None:
                recording.write(error)


def _result(machines: Sequence[Machine]) -> Result:
    launches = [machine.launch for machine in machines]
    statistics = Statistics(
        instructions=sum(machine.instructions for machine in machines),
        warps=sum(launch.ctas * launch.warps_per_cta for launch in launches),
        ctas=sum(launch.ctas for launch in launches),
        steps=sum(machine.steps for machine in machines),
        waves=sum(machine.waves for machine in machines),
    )
    printed = "".join(text for machine in machines for text in machine.printed)
    return Result(_findings(machines), statistics, printed)


def _findings(machines: Sequence[Machine]) -> tuple[Finding, ...]:
    """Return the findings of all launches; equal findings of several launches are merged."""
    counts: dict[Finding, int] = {}
    for machine in machines:
        for finding in machine.log.findings():
            alone = replace(finding, count=1)
            counts[alone] = counts.get(alone, 0) + finding.count
    return tuple(replace(finding, count=count) for finding, count in counts.items())
