"""Runtime `sim`: runs kernels on NumPy arrays and CPU tensors in the simulator."""

from __future__ import annotations

import os
import sys
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypedDict, cast

from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.machinery import is_machinery
from pyptx_ir.plugins.rows import ALLOCATED, Launchable, Runtime
from pyptx_sim import call_checks
from pyptx_sim.arrays import GivenOutput, argument_of, empty_like_callers, is_cpu_array, is_tensor, shares_memory
from pyptx_sim.errors import KernelTrap, LaunchError, SimulatedExecution, StepLimitExceeded
from pyptx_sim.launch import Launch
from pyptx_sim.machine.geometry import MULTIPROCESSORS
from pyptx_sim.outcome import Outcome
from pyptx_sim.simulator import run, without_blocks
from pyptx_sim.values import Uninitialized, WithDescriptor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Unpack

    from pyptx_ir.drawing import Markup
    from pyptx_ir.plugins.rows import EntryParameter, Specialization
    from pyptx_ir.terminal.progress import ProgressCallback
    from pyptx_sim.findings import Finding
    from pyptx_sim.operation import Array
    from pyptx_sim.result import Result, Statistics
    from pyptx_sim.run_inputs import Checks
    from pyptx_sim.values import Argument

PRIORITY: Final = -100  # lower than the priorities of all other runtimes, so that a GPU runtime is preferred


class _Options(TypedDict, total=False):
    """Keywords of `kernel.simulate` that are passed to `pyptx_sim.run` unchanged."""

    checks: Checks
    seed: int
    delay_async: bool
    resident_blocks: int | None
    step_limit: int | None
    numerics: str
    closest_form: bool
    trace: str | os.PathLike[str] | None
    trace_blocks: int | None
    progress: ProgressCallback | None


class _RunOptions(_Options, total=False):
    """Keywords of `pyptx_sim.run`: those of `kernel.simulate`, and `keep_arrays`, which this runtime passes."""

    keep_arrays: bool


# Keywords of `simulate` itself; all others are passed to the kernel.
_SHOWN: Final = 6  # number of outputs in a summary
_OWN: Final = _Options.__optional_keys__ | {"out"}


@dataclass(frozen=True, slots=True)
class SimulationResult(Outcome):
    """Result of `kernel.simulate`: the outputs in order, the findings, the statistics and the printed text.

    `str()` is a summary of at most 15 lines; `text` contains all findings. `timeline` is the drawing that
    `trace="run.svg"` wrote.
    """

    outputs: tuple[object, ...]
    findings: tuple[Finding, ...]
    statistics: Statistics
    printed: str = ""
    kernel: str = "kernel"
    timeline: Markup | None = field(default=None, compare=False, repr=False)

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """Findings in order of first occurrence."""
        return self.findings

    @property
    def extent(self) -> str:
        """Number of instructions, warps and CTAs."""
        return str(self.statistics)

    @property
    def facts(self) -> tuple[str, ...]:
        """A line per output (at most 6), with dtype and shape, and the size of the printed text."""
        outputs = [f"output {number}: {_shape(each)}" for number, each in enumerate(self.outputs[:_SHOWN])]
        more = [f"{len(self.outputs) - _SHOWN} more outputs"] if len(self.outputs) > _SHOWN else []
        printed = [f"printed: {counted(self.printed.count(chr(10)), 'line')}"] if self.printed else []
        return (*outputs, *more, *printed)


def _shape(output: object) -> str:
    dtype, shape = getattr(output, "dtype", type(output).__name__), tuple(getattr(output, "shape", ()))
    return f"{dtype} {list(shape)}"


def claims(arguments: Sequence[object]) -> bool:
    """Return whether every argument is a NumPy array or a CPU tensor of torch."""
    return all(is_cpu_array(argument) for argument in arguments)


def call(kernel: Launchable, arguments: Sequence[object], keywords: Mapping[str, object]) -> object:
    """Run a kernel; return its only output, a tuple of its outputs, or None without outputs.

    `out=` takes the array (or tuple of arrays) to write to. Torch tensors cause the warning SimulatedExecution; the
    environment variable PYPTX_CPU changes that: `quiet`, `warn` or `error`. A small launch is first run with checks
    (configured by PYPTX_CHECKS); the first finding becomes a FindingWarning. If the kernel traps or exceeds the step
    limit, the error has the findings of the checks as `findings`.
    """
    if any(is_tensor(argument) for argument in arguments):
        _announce(kernel.name)
    own = {name: value for name, value in keywords.items() if name not in {"out", ALLOCATED}}
    launch = prepared(kernel, arguments, own, keywords.get("out"), allocated=ALLOCATED in keywords)
    findings = call_checks.find(
        launch.special,
        launch.sizes,
        lambda steps: launch.run(checks="all", step_limit=steps, keep_arrays=True),
    )
    try:
        result = launch.run(checks="none")
    except (KernelTrap, StepLimitExceeded) as stopped:
        stopped.findings = tuple(findings)
        raise
    if result.printed:
        sys.stdout.write(result.printed)
    call_checks.warn(kernel.name, findings)
    return launch.outputs[0] if len(launch.outputs) == 1 else launch.outputs or None


def simulate(kernel: Launchable, arguments: Sequence[object], keywords: Mapping[str, object]) -> SimulationResult:
    """Run a kernel with checks; faults become findings.

    `checks` ("all", "none" or names of rules), `seed`, `delay_async`, `resident_blocks`, `step_limit`, `numerics`
    ("fast" or "exact"), `closest_form`, `trace`, `trace_blocks`, `progress` and `out` are taken from the keywords; all
    other keywords are passed to the kernel.
    """
    own = {name: value for name, value in keywords.items() if name not in _OWN}
    options = cast("_Options", {name: keywords[name] for name in _Options.__optional_keys__ if name in keywords})
    launch = prepared(kernel, arguments, own, keywords.get("out"))
    result = launch.run(**options)
    return SimulationResult(
        launch.outputs, result.findings, result.statistics, result.printed, kernel.name, result.timeline
    )


@dataclass(frozen=True, slots=True)
class PreparedLaunch:
    """A kernel with its arguments, run once, or first with checks and then without; `sizes` are the arrays' bytes.

    For a launch without CTAs, `args` are only the outputs.
    """

    special: Specialization
    outputs: tuple[object, ...]
    arguments: Sequence[Argument]
    sizes: Sequence[int]

    def run(self, **options: Unpack[_RunOptions]) -> Result:
        """Run the launch on the simulator."""
        special = self.special
        if 0 in special.grid:
            outputs = [each.output for each in self.arguments if isinstance(each, Uninitialized) and each.output]
            return without_blocks(outputs, options.get("checks", "all"))
        return run(special.module, self.launch, origins=special.origins, **options)

    @property
    def launch(self) -> Launch:
        """The launch, for a grid that has CTAs."""
        special = self.special
        return Launch(
            entry=special.entry,
            grid=special.grid_on(MULTIPROCESSORS),
            block=special.block,
            cluster=special.cluster,
            shared_bytes=special.shared_bytes,
            args=self.arguments,
            names=[parameter.name for parameter in special.parameters],
            shared=special.shared,
        )


def prepared(
    kernel: Launchable,
    arguments: Sequence[object],
    keywords: Mapping[str, object],
    out: object,
    *,
    allocated: bool = False,
) -> PreparedLaunch:
    """Return the launch of a kernel for these arrays, and for outputs of `out`, or new ones.

    With `allocated`, the arrays of `out` are uninitialized. Raises LaunchError.
    """
    special = kernel.specialize([argument_of(argument) for argument in arguments], keywords)
    outputs = _outputs(kernel, special, arguments, out)
    rows = [row if out is None or allocated else None for row in special.outputs]
    # arrays of the caller may be torch tensors
    given, written = cast("Sequence[Array]", arguments), cast("Sequence[Array]", outputs)
    fresh = [Uninitialized(array, row) for array, row in zip(written, rows, strict=True)]
    values: Sequence[Argument] = fresh
    if 0 not in special.grid:
        values = [_value(kernel, parameter, [*given, *fresh]) for parameter in special.parameters]
    return PreparedLaunch(special, outputs, values, [array.nbytes for array in (*given, *written)])


def _outputs(
    kernel: Launchable, special: Specialization, arguments: Sequence[object], out: object
) -> tuple[object, ...]:
    if out is None:
        return tuple(empty_like_callers(output, arguments) for output in special.outputs)
    given = cast("Sequence[object]", out) if isinstance(out, tuple | list) else (out,)
    if len(given) != len(special.outputs):
        raise LaunchError(f"{kernel.name}: expected {counted(len(special.outputs), 'array')} in out=, got {len(given)}")
    _refuse_overlap([(output.name, array) for output, array in zip(special.outputs, given, strict=True)])
    return tuple(GivenOutput.check(array, output).array for array, output in zip(given, special.outputs, strict=True))


def _refuse_overlap(outputs: Sequence[tuple[str, object]]) -> None:
    """Raise LaunchError for two `out=` arrays that overlap: the kernel may assume that its outputs do not."""
    for number, (name, array) in enumerate(outputs):
        for other, before in outputs[:number]:
            if is_cpu_array(array) and is_cpu_array(before) and shares_memory(array, before):
                raise LaunchError(
                    f"out= for {name} and for {other} overlap in memory", help="pass a separate array for each output"
                )


def _value(kernel: Launchable, parameter: EntryParameter, tensors: Sequence[Argument]) -> Argument:
    if parameter.kind == "tensor" and parameter.index is not None:
        return tensors[parameter.index]
    if parameter.kind == "descriptor" and parameter.index is not None and parameter.descriptor is not None:
        return _mapped(tensors[parameter.index], parameter.descriptor)
    if parameter.kind == "scalar" and parameter.value is not None:
        return parameter.value
    if parameter.kind == "scalar":
        raise LaunchError(
            f"{kernel.name}: missing value for {parameter.name}", help=f"pass {parameter.name}=… to the call"
        )
    raise LaunchError(
        f"{kernel.name}: no plugin provides parameters of kind {parameter.kind!r} ({parameter.name})",
        help="install the package of the kernel's architecture",
    )


def _mapped(value: Argument, descriptor: object) -> WithDescriptor:
    array, fresh = (value.array, True) if isinstance(value, Uninitialized) else (value, False)
    return WithDescriptor(cast("Array", array), descriptor, fresh)


def _announce(name: str) -> None:
    """Warn that kernels on CPU tensors are simulated, because a forgotten `.cuda()` would be a silent slowdown."""
    policy = os.environ.get("PYPTX_CPU", "warn")
    message = f"{name} runs on the simulator: its tensors are on the CPU"
    if policy == "error":
        raise LaunchError(message, help="move the tensors to the GPU, or set PYPTX_CPU=quiet")
    if policy == "warn":
        switches = "PYPTX_CPU=quiet disables this warning; PYPTX_CHECKS=all checks all launches, not only small ones"
        warnings.warn(f"{message} ({switches})", SimulatedExecution, stacklevel=_callers_level())
    elif policy != "quiet":
        raise LaunchError(f"PYPTX_CPU must be quiet, warn or error, got {policy!r}")


def _callers_level() -> int:
    """Return the `stacklevel` with which a warning of the calling function names the user's innermost frame."""
    frame, level = sys._getframe(1), 1  # noqa: SLF001 - the documented way to look at the caller's stack
    while frame.f_back is not None and is_machinery(frame):
        frame, level = frame.f_back, level + 1
    return level


RUNTIME: Final = Runtime("sim", PRIORITY, claims, call, simulate)
