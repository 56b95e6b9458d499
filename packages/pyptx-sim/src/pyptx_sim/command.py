"""`pyptx sim` and `pyptx trace`: launch an entry of PTX files on the simulator; print findings, draw a timeline."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_ir.command_line import ERRORS, SUCCESS, CommandParser, add_format
from pyptx_ir.debug_info import source_files
from pyptx_ir.plugins.source_rows import target_of
from pyptx_ir.reports import render
from pyptx_ir.sources import SourceError, path_of, read_sources, run_with_sizes, with_sizes
from pyptx_ir.sources.reader import ARCH, INPUTS, described
from pyptx_ir.suppressions import add_suppressions, load_suppressions, remarks, unused_problems
from pyptx_ir.syntax import parse
from pyptx_ir.syntax.source import Source
from pyptx_ir.terminal import write
from pyptx_ir.terminal.progress import show_progress
from pyptx_sim import specifications
from pyptx_sim.errors import STOPS, LaunchError, SimulationInterrupted
from pyptx_sim.extension.registry import examples
from pyptx_sim.kernel_runs import simulated
from pyptx_sim.launch import Launch
from pyptx_sim.program.lowering import lower
from pyptx_sim.reports import report_with
from pyptx_sim.simulator import STEP_LIMIT
from pyptx_sim.simulator import run as simulate
from pyptx_sim.suppressions import apply, run_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from pyptx_ir.plugins.source_rows import PtxSource, RunnableKernel
    from pyptx_ir.reports import Problem
    from pyptx_ir.sources.sizes import Sizes
    from pyptx_ir.suppressions import Suppressions
    from pyptx_ir.syntax.nodes import Module
    from pyptx_ir.terminal.progress import ProgressCallback
    from pyptx_sim.errors import Stopped
    from pyptx_sim.operation import Array
    from pyptx_sim.result import Result
    from pyptx_sim.runtime import SimulationResult

_EXAMPLES = """
examples:
  pyptx sim rms_norm.py --B 16 --N 512            kernel of a Python file, on random arrays
  pyptx sim add.ptx --grid 8 --block 128 --arg f32[1024]=random --arg f32[1024]=random --arg f32[1024] --arg 1024
  pyptx sim add.ptx … --save 2=sum.npy            write the third argument to a file; - prints it
  pyptx sim gemm.ptx --block 128 --shared 65536 --delay-async --checks global-race,shared-race …
  pyptx sim main.ptx library.ptx --entry main --cooperative --grid 64 …        linked, cooperative grid
  pyptx sim gemm.ptx --arg a:bf16[256,64]=random --arg '(f32[256,256], s32=256)' …
  pyptx trace rms_norm.py --B 16 --N 512 -o run.json     a timeline; same options as sim

Exit status: 0: no errors found; 1: errors found, or the kernel was stopped; 2: invalid command or launch; 130: an
interrupt ended the run, whose findings are printed.
"""
_VIEWERS: Final = {".json": "open it at https://ui.perfetto.dev", ".svg": "open it in a browser"}


def run(argv: Sequence[str]) -> int:
    """Launch, print findings and statistics, save arrays; return the exit status."""
    return run_with_sizes(sim_parser(), _ran, argv)


def trace(argv: Sequence[str]) -> int:
    """Launch like `run`, and write a timeline of warps, mbarriers and asynchronous operations."""
    return run_with_sizes(trace_parser(), _ran, argv)


def _ran(options: argparse.Namespace, sizes: Sizes) -> int:
    accepted = load_suppressions(options)
    options.files = [with_sizes(name, sizes) for name in options.files]
    inputs = [read_sources(name, options.arch) for name in options.files]
    kernels = [each.kernel for found in inputs for each in found]
    if len(kernels) == 1 and kernels[0] is not None:
        return _ran_kernel(kernels[0], options, accepted)
    sources = [source for found in inputs for source in _chosen(found, options)]
    files = [source.name for source in sources]
    try:
        with show_progress("simulating", "CTA") as on_progress:
            modules = [parse(source.text, source.name) for source in sources]
            result, saved = _launched(modules, options, on_progress)
    except (*STOPS, KeyboardInterrupt) as stopped:
        return _stopped(options, files, stopped, accepted)
    except ValueError as error:
        raise LaunchError(str(error)) from error
    for array, path in saved:
        _save(array, path, options)
    declared = (file for module in modules for file in source_files(module))
    return _completed(options, files, result, _Review(accepted, (*files, *declared)))


def _ran_kernel(kernel: RunnableKernel, options: argparse.Namespace, accepted: Suppressions | None) -> int:
    """Run a kernel that allocates its outputs and has a grid of its own."""
    try:
        with show_progress("simulating", "CTA") as on_progress:
            result, inputs = simulated(kernel, options, on_progress)
    except (*STOPS, KeyboardInterrupt) as stopped:
        return _stopped(options, (), stopped, accepted)
    arrays = {**inputs, **dict(zip(kernel.outputs, map(np.asarray, result.outputs), strict=False))}
    for each in options.save:
        _save(*_saved(each, arrays, list(arrays)), options)
    return _completed(options, (), result, _Review(accepted, (str(path_of(options.files[0])),)))


@dataclass(frozen=True, slots=True)
class _Review:
    """The suppressions of a run, if any, and the source files of its code."""

    accepted: Suppressions | None
    sources: Sequence[str]


def _completed(
    options: argparse.Namespace, files: Sequence[str], result: Result | SimulationResult, review: _Review
) -> int:
    """Print the kernel's output, the findings and the statistics of a run; return the exit status."""
    (sys.stdout if options.format == "text" else sys.stderr).write(result.printed)
    run = run_of(result.kernel, review.sources, options.checks)
    found = apply(review.accepted, result.findings, kernel=_input(options), files=files, run=run)
    unused = unused_problems(review.accepted, options)
    text = f"{replace(result, findings=found.kept).text}\n"
    _write(options, (*found.problems, *unused), text=text + remarks(review.accepted, len(found.suppressed), unused))
    if result.statistics.ctas:
        _show_timeline(options)
    severities = {*(each.severity for each in found.kept), *(each.severity for each in unused)}
    return ERRORS if "error" in severities else SUCCESS


def _stopped(
    options: argparse.Namespace,
    files: Sequence[str],
    error: Stopped | KeyboardInterrupt,
    accepted: Suppressions | None,
) -> int:
    """Print the findings of a run before an error, and the error; raise an interrupt again."""
    if isinstance(error, KeyboardInterrupt) and not isinstance(error, SimulationInterrupted):  # before the launch
        _write(options, (), text="", error="interrupted")
        raise error
    message = str(error) if isinstance(error, SimulationInterrupted) else error.without_findings
    nothing_tried = run_of(options.entry or "", (), "none")
    found = apply(accepted, error.findings, kernel=_input(options), files=files, run=nothing_tried)
    text = "".join(f"{each}\n\n" for each in found.kept) + remarks(accepted, len(found.suppressed))
    _write(options, found.problems, text=text, error=message)
    _show_timeline(options)
    if isinstance(error, SimulationInterrupted):
        raise error
    write(f"{message}\n" if options.format == "text" else "", sys.stderr)
    return ERRORS


def _input(options: argparse.Namespace) -> str:
    """Return the name of the input in reports."""
    return f"{options.files[0]}:{options.entry}" if options.entry else str(options.files[0])


def _write(options: argparse.Namespace, problems: Sequence[Problem], *, text: str, error: str = "") -> None:
    """Print a text, or a report in the format of the options; `error` is the message of an error that ended the run."""
    if options.format == "text":
        write(text)
    else:
        sys.stdout.write(render(report_with(problems, _input(options), error), options.format))


def _show_timeline(options: argparse.Namespace) -> None:
    """Print the name of the timeline's file, and the program that displays it."""
    if options.trace is not None:
        out = sys.stdout if options.format == "text" else sys.stderr
        out.write(f"timeline: {options.trace} ({_VIEWERS[Path(options.trace).suffix]})\n")


def _launched(
    modules: Sequence[Module], options: argparse.Namespace, on_progress: ProgressCallback
) -> tuple[Result, list[tuple[Array, str]]]:
    program = lower(modules, options.entry, options.target)
    names = [place.name for place in program.parameters]
    given = specifications.arguments(options.arg, names)
    saved = [_saved(each, given.arrays, names) for each in options.save]
    launch = Launch(
        entry=program.entry.name,
        grid=options.grid,
        block=options.block,
        cluster=options.cluster,
        shared_bytes=options.shared,
        args=given.values,
        names=given.names,
        cooperative=options.cooperative,
        resident_blocks=options.resident_blocks,
    )
    result = simulate(
        modules,
        launch,
        seed=options.seed,
        delay_async=options.delay_async,
        checks=options.checks,
        numerics=options.numerics,
        target=options.target,
        step_limit=options.steps,
        trace=options.trace,
        progress=on_progress,
    )
    return result, saved


def _chosen(sources: Sequence[PtxSource], options: argparse.Namespace) -> Iterator[Source]:
    """Yield the modules of a file; if some of its modules define `--entry`, only these modules."""
    texts = [source.load() for source in sources]
    if len(set(map(target_of, texts))) > 1:
        raise SourceError(
            f"{sources[0].file} contains modules for several targets:\n{described(sources)}",
            help="select the target with --arch",
        )
    entry = None if options.entry is None else re.compile(rf"\.entry\s+{re.escape(options.entry)}(?![\w$])")
    defining = [entry is not None and entry.search(text) is not None for text in texts]
    for source, text, defines in zip(sources, texts, defining, strict=True):
        if defines or not any(defining):
            yield Source(text, source.name)


def _saved(text: str, arrays: dict[str, Array], names: list[str]) -> tuple[Array, str]:
    """Parse a `--save` value: return the array and the path; NAME may also be an argument's index."""
    name, _, path = text.partition("=")
    name = names[int(name)] if name.isdecimal() and int(name) < len(names) else name
    if name not in arrays or not path:
        raise LaunchError(f"--save {text}: unknown array {name!r}", help=f"use one of: {', '.join(arrays) or 'none'}")
    return arrays[name], path


def _save(array: Array, path: str, options: argparse.Namespace) -> None:
    if path == "-":
        (sys.stdout if options.format == "text" else sys.stderr).write(f"{array}\n")
    else:
        np.save(path, array)


def _extent(text: str) -> tuple[int, ...]:
    return tuple(int(count) for count in text.replace("x", ",").split(","))


def _checks(text: str) -> str | list[str]:
    return text if text in {"all", "none"} else text.split(",")


def sim_parser() -> CommandParser:
    """Return the parser of the options of `pyptx sim`."""
    summary = "Run a kernel of a Python file, or an entry of PTX files, on the simulator; print the findings."
    parser = CommandParser("sim", summary, _epilog())
    _add_launch(parser)
    parser.add_argument("--trace", metavar="FILE", help="write a timeline: .json (Perfetto) or .svg")
    return parser


def trace_parser() -> CommandParser:
    """Return the parser of the options of `pyptx trace`."""
    summary = "Run a kernel of a Python file, or an entry of PTX files, on the simulator; write a timeline."
    parser = CommandParser("trace", summary, _epilog(), output=False)
    where = "write the timeline to FILE: .json (Perfetto) or .svg"
    parser.add_argument("-o", "--output", dest="trace", required=True, metavar="FILE", help=where)
    _add_launch(parser)
    return parser


def _add_launch(parser: CommandParser) -> None:
    """Add the options of a launch on the simulator."""
    add = parser.add_argument
    add(
        "files",
        nargs="+",
        metavar="FILE",
        help=f"{INPUTS}; several files are linked",
    )
    add("--arch", metavar="sm_XY", help=ARCH)
    add("--entry", metavar="NAME", help="entry to run, if the files define several")
    add("--target", metavar="NAME", help="simulated target, for example sm_90a (default: the file's .target)")
    add("--grid", type=_extent, default=1, metavar="X,Y,Z", help="grid size in CTAs (default: 1)")
    add("--block", type=_extent, metavar="X,Y,Z", help="CTA size in threads (default: .reqntid)")
    add("--cluster", type=_extent, default=1, metavar="X,Y,Z", help="cluster size in CTAs (default: 1)")
    add("--shared", type=int, default=0, metavar="BYTES", help="dynamic shared memory per CTA (default: 0)")
    add("--cooperative", action="store_true", help="cooperative launch: all CTAs are resident")
    add("--resident-blocks", type=int, metavar="N", help="maximum number of resident CTAs")
    add("--arg", action="append", default=[], metavar="SPEC", help="value of the entry's next parameter; see below")
    add("--save", action="append", default=[], metavar="NAME=FILE", help="write an array to a .npy file (-: to stdout)")
    add("--seed", type=int, default=0, metavar="N", help="schedule: 0: fixed order, others: random (default: 0)")
    add("--delay-async", action="store_true", help="complete asynchronous operations only when a thread waits for them")
    add("--checks", type=_checks, default="all", metavar="RULE,…", help="rules to check: all (default), none, or names")
    add("--numerics", choices=("fast", "exact"), default="fast", help="arithmetic of MMA accumulation (default: fast)")
    add(
        "--steps",
        type=int,
        default=STEP_LIMIT,
        metavar="N",
        help="maximum number of basic blocks executed by the kernel",
    )
    add_format(parser)
    add_suppressions(parser)


def _epilog() -> str:
    """Return the end of the help: how arguments are written, examples, and exit statuses."""
    descriptors = [f"    f32[64,32]=zeros@{example}" for example in examples()]
    arguments = "\n".join([*(specifications.__doc__ or "").splitlines()[2:], "Descriptors:", *descriptors])
    return f"arguments, in the order of the entry's parameters:\n{arguments}\n{_EXAMPLES}"
