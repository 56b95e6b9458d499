"""Command line of `pyptx transpile`, `pyptx-transpile` and `python -m pyptx.codegen`."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx_ir.command_line import SUCCESS, USAGE_ERROR, CommandParser, text_of
from pyptx_ir.commands import ended
from pyptx_ir.errors import PyptxError
from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.plugins.source_rows import target_of
from pyptx_ir.processes import in_processes, jobs
from pyptx_ir.reports import FORMATS, Problem, Report, Unreadable, render
from pyptx_ir.sources import (
    PtxSource,
    SourceError,
    UnknownSizeError,
    path_of,
    read_source,
    read_sources,
    run_with_sizes,
    with_sizes,
)
from pyptx_ir.sources.reader import ARCH, INPUTS, described, expanded
from pyptx_ir.terminal import write, write_code
from pyptx_ir.terminal.progress import Progress, show_progress
from pyptx_transpile.transpiler import chosen, transpile

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from pyptx_ir.sources.sizes import Sizes
    from pyptx_transpile.transpiler import RejectedRewrite, Transpiled, Unchecked

_FOLDER = "several outputs need an existing folder: -o DIR"


@dataclass(frozen=True, slots=True)
class _Done:
    """A transpiled module: statistics per rule, and the rewrites and statements with a problem."""

    file: str
    matched: dict[str, int]
    applied: dict[str, int]
    rejected: tuple[RejectedRewrite, ...]
    dropped: tuple[RejectedRewrite, ...]
    unchecked: tuple[Unchecked, ...]

    def problems(self) -> Iterator[Problem]:
        """Yield a note per rewrite that was not applied, and a warning per statement that was not checked."""
        for each in (*self.rejected, *self.dropped):
            message = f"{each.rule} is not applied in {each.function}, at {each.statement}: {each.reason}"
            yield Problem(self.file, "rejected-rewrite", "note", message)
        for one in self.unchecked:
            message = f"{one.statement} in {one.function} is emitted with unchecked=True: {one.reason}"
            yield Problem(self.file, "unchecked", "warning", message)


@dataclass(frozen=True, slots=True)
class _Work:
    """A PTX module, and the output path of its Python file."""

    source: PtxSource
    output: Path | None


def main() -> int:
    """Run `pyptx transpile` with the arguments of the command line."""
    return ended(lambda: run(sys.argv[1:]))


def run(argv: Sequence[str]) -> int:
    """Transpile files to Python. Return 0, or 2 if a file cannot be read or verified; such a file is not written."""
    return run_with_sizes(transpile_parser(), _transpiled, argv)


def _transpiled(options: argparse.Namespace, sizes: Sizes) -> int:
    options.files = [with_sizes(name, sizes) for name in expanded(options.files)]
    folder = options.output is not None and Path(options.output).is_dir()
    if len(options.files) > 1 and not folder:
        return _refused(_FOLDER)
    work, unreadable = _work(options)
    if len(work) > 1 and not folder:
        modules = described([each.source for each in work])
        return _refused(f"{_FOLDER}\n{modules}\nhelp: or choose one of the modules: {work[0].source.name}")
    lost = _lost(work)
    if lost is not None:
        return _refused(lost)
    results: dict[int, _Done | Unreadable] = {}
    try:
        for number, result in _all(options, work):
            results[number] = result  # noqa: PERF403 - an interrupt keeps the results so far
    except KeyboardInterrupt:
        missing = [Unreadable(work[at].source.name, "interrupted") for at in range(len(work)) if at not in results]
        _write_report(options, results, [*unreadable, *missing])
        if len(work) > 1:
            raise KeyboardInterrupt(f"interrupted after {len(results)} of {counted(len(work), 'file')}") from None
        raise
    return USAGE_ERROR if _write_report(options, results, unreadable) else SUCCESS


def _write_report(
    options: argparse.Namespace, results: Mapping[int, _Done | Unreadable], unreadable: Sequence[Unreadable]
) -> bool:
    """Write the report to standard error, if the options ask for one; return whether any file was unreadable."""
    ordered = [result for _, result in sorted(results.items(), key=itemgetter(0))]
    done = [each for each in ordered if isinstance(each, _Done)]
    unreadable = [*unreadable, *(each for each in ordered if isinstance(each, Unreadable))]
    if options.report in FORMATS:
        sys.stderr.write(render(_report(done, unreadable), options.report))
    return bool(unreadable)


def _report(done: Sequence[_Done], unreadable: Sequence[Unreadable]) -> Report:
    """Return the report; `details["modules"]` has the statistics of the transpiled modules."""
    names = (*(each.file for each in done), *(each.input for each in unreadable))
    problems = tuple(problem for each in done for problem in each.problems())
    modules = [asdict(each) for each in done]
    return Report("pyptx transpile", names, problems, tuple(unreadable), details={"modules": modules})


def _work(options: argparse.Namespace) -> tuple[list[_Work], list[Unreadable]]:
    """Return the modules of all files, and the files that cannot be read; print the errors."""
    work, unreadable = list[_Work](), list[Unreadable]()
    for name in options.files:
        try:
            found = _late(name, options.arch) if Path(name).is_fifo() else read_sources(name, options.arch)
            for source in found:
                numbered = len(found) > 1 or name == source.name
                work.append(_Work(source, _output(options.output, source, numbered=numbered)))
        except UnknownSizeError:
            raise
        except (OSError, ValueError, SourceError) as error:  # ValueError: the file's path contains a null byte
            _refused(error)
            unreadable.append(Unreadable(name, text_of(error)))
    return work, unreadable


def _late(name: str, arch: str | None) -> Sequence[PtxSource]:
    """Return the module of a named pipe, which is read only after the preceding files are transpiled."""
    return (PtxSource(name, partial(_only, name, arch)),)


def _only(name: str, arch: str | None) -> str:
    return read_source(name, arch).load()


def _output(output: str | None, source: PtxSource, *, numbered: bool) -> Path | None:
    """Return the path of a module's Python file; None for standard output."""
    if output is None or output == "-":
        return None
    path = Path(output)
    if not path.is_dir():
        return path
    image = f".{source.number}.{target_of(source.load())}" if source.number and numbered else ""
    return path / f"{path_of(source.file).stem}{image}.py"


def _lost(work: Sequence[_Work]) -> str | None:
    """Return an error message if a file would be lost: an input overwritten, or two outputs with one name."""
    inputs = {path_of(each.source.file).resolve() for each in work}
    made: dict[Path, str] = {}
    for each in work:
        if each.output is None:
            continue
        path = each.output.resolve()
        if path in inputs:
            return f"{each.output} is an input and would be overwritten"
        if path in made:
            return f"{made[path]} and {each.source.name} have the same output {each.output}: choose another folder"
        made[path] = each.source.name
    return None


def _all(options: argparse.Namespace, work: Sequence[_Work]) -> Iterator[tuple[int, _Done | Unreadable]]:
    """Transpile all modules; yield the index of each module and its result, in order of completion."""
    if len(work) <= 1:
        with show_progress("transpiling") as shown:
            yield from ((0, _one(options, each, shown, alone=True)) for each in work)
        return
    with show_progress("transpiling", "file") as shown:
        shown(0, len(work))
        for count, done in enumerate(_several(options, work, shown), 1):
            shown(count, len(work))
            yield done


def _several(
    options: argparse.Namespace, work: Sequence[_Work], shown: Progress
) -> Iterator[tuple[int, _Done | Unreadable]]:
    if options.jobs == 1:
        yield from ((number, _one(options, each, shown)) for number, each in enumerate(work))
        return
    with in_processes(partial(_numbered, options), enumerate(work), options.jobs) as done:
        yield from done


def _numbered(options: argparse.Namespace, work: tuple[int, _Work]) -> tuple[int, _Done | Unreadable]:
    number, each = work
    return number, _one(options, each, Progress("transpiling"))


def _one(options: argparse.Namespace, work: _Work, shown: Progress, *, alone: bool = False) -> _Done | Unreadable:
    """Transpile one module; return its statistics, or the error. Errors and text reports go to standard error."""
    name = work.source.name
    try:
        rules = chosen(None if options.rules is None else options.rules.split(","), sugar=options.sugar)
        done = transpile(
            work.source.load(),
            rules,
            name=name,
            kernel_name=options.name,
            verify=options.verify,
            unchecked=options.unchecked,
            on_progress=shown if alone else None,
        )
        with shown.hidden():
            _write(work.output, done.text)
            _comment(options, name, done)
    except BrokenPipeError:
        raise
    except (OSError, PyptxError) as error:
        with shown.hidden():
            _refused(error)
        return Unreadable(name, text_of(error))
    return _Done(name, dict(done.matched), dict(done.applied), done.rejected, done.dropped, done.unchecked)


def _comment(options: argparse.Namespace, name: str, done: Transpiled) -> None:
    """Print what a user should know about a transpiled module, and the statistics of `--report text`."""
    if done.refused:
        sys.stderr.write(f"pyptx transpile: {name} is emitted with unchecked=True: {done.refused}\n")
    if done.unchecked:
        first, *more = done.unchecked
        what = f"{1 + len(more)} statements are" if more else "1 statement is"
        sys.stderr.write(f"pyptx transpile: {name}: {what} emitted with unchecked=True: {first.reason}\n")
    if options.report == "text":
        sys.stderr.write(_table(done))


def _refused(why: str | Exception) -> int:
    write(f"pyptx transpile: {why if isinstance(why, str) else text_of(why)}\n", sys.stderr)
    return USAGE_ERROR


def transpile_parser() -> CommandParser:
    """Return the parser of the options of `pyptx transpile`."""
    parser = CommandParser("transpile", "Print PTX as Python that emits the same bytes.", output=False)
    parser.add_argument("files", nargs="+", metavar="FILE", help=INPUTS)
    parser.add_argument("--arch", metavar="sm_XY", help=ARCH)
    parser.add_argument("--sugar", action="store_true", help="apply all rewrite rules: loops, branches and so on")
    parser.add_argument(
        "--rules", metavar="A,B,…", help="apply these rewrite rules; with prefix -, all rules except these"
    )
    parser.add_argument("--name", metavar="NAME", help="name of the kernel's Python function")
    parser.add_argument(
        "--no-verify", dest="verify", action="store_false", help="do not verify the printed Python by running it"
    )
    parser.add_argument(
        "--unchecked", action="store_true", help="do not check instructions against the instruction table"
    )
    parser.add_argument(
        "--report",
        "--format",
        choices=("text", *FORMATS),
        help="report the results of each rule on standard error: as text, or in a format for tools",
    )
    parser.add_argument("--json", action="store_const", const="json", dest="report", help="short for --report json")
    parser.add_argument("-o", "--output", metavar="OUT", help="write to this file or folder instead of standard output")
    parser.add_argument(
        "-j", "--jobs", type=jobs, default=1, metavar="N", help="process N files in parallel, 0 for one per processor"
    )
    return parser


def _write(path: Path | None, text: str) -> None:
    """Write a text to a file atomically, or to standard output."""
    if path is None:
        write_code(text, "python")
        return
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_text(text, encoding="ascii", newline="\n")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _table(done: Transpiled) -> str:
    lines = [f"{'rule':12} {'matched':>6} {'applied':>8} {'rejected':>10}"]
    for rule, matched in sorted(done.matched.items()):
        lines += [f"{rule:12} {matched:6} {done.applied[rule]:8} {matched - done.applied[rule]:10}"]
    left_out = (*done.rejected, *done.dropped)
    lines += [f"{each.rule} in {each.function}, at {each.statement}: {each.reason}" for each in left_out]
    return "\n".join(lines) + "\n"
