"""Command line of `pyptx transpile`, `pyptx-transpile` and `python -m pyptx.codegen`."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx_ir.command_line import USAGE_ERROR, CommandParser, text_of
from pyptx_ir.commands import ended
from pyptx_ir.errors import PyptxError
from pyptx_ir.plugins.source_rows import target_of
from pyptx_ir.processes import in_processes, jobs
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
from pyptx_transpile.transpiler import chosen, transpile

if TYPE_CHECKING:
    import argparse
    from collections.abc import Generator, Sequence

    from pyptx_ir.sources.sizes import Sizes
    from pyptx_transpile.progress import ProgressCallback
    from pyptx_transpile.transpiler import RejectedRewrite, Transpiled, Unchecked

_FOLDER = "several outputs need an existing folder: -o DIR"
_LONG = 500_000  # minimum characters of PTX with a progress bar: transpiling them takes a second or more


@dataclass(frozen=True, slots=True)
class Report:
    """Rewrite statistics per rule for one file."""

    file: str
    matched: dict[str, int]
    applied: dict[str, int]
    rejected: tuple[RejectedRewrite, ...]
    dropped: tuple[RejectedRewrite, ...]
    unchecked: tuple[Unchecked, ...]


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
    return run_with_sizes(_parser(), _transpiled, argv)


def _transpiled(options: argparse.Namespace, sizes: Sizes) -> int:
    options.files = [with_sizes(name, sizes) for name in expanded(options.files)]
    folder = options.output is not None and Path(options.output).is_dir()
    if len(options.files) > 1 and not folder:
        return _refused(_FOLDER)
    work, readable = _work(options)
    if len(work) > 1 and not folder:
        modules = described([each.source for each in work])
        return _refused(f"{_FOLDER}\n{modules}\nhelp: or choose one of the modules: {work[0].source.name}")
    lost = _lost(work)
    if lost is not None:
        return _refused(lost)
    reports = _all(options, work)
    if options.report == "json":
        known = [asdict(report) for report in reports if report is not None]
        sys.stderr.write(_json(known if len(reports) > 1 else known[0]) if known else "")
    return 0 if readable and None not in reports else USAGE_ERROR


def _work(options: argparse.Namespace) -> tuple[list[_Work], bool]:
    """Return the modules of all files, and whether every file was readable; print the errors."""
    work, readable = list[_Work](), True
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
            readable = False
    return work, readable


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


def _all(options: argparse.Namespace, work: Sequence[_Work]) -> list[Report | None]:
    """Transpile all modules; return their reports in the order of the files."""
    if len(work) <= 1 or options.jobs == 1:
        return [_one(options, each) for each in work]
    with in_processes(partial(_numbered, options), enumerate(work), options.jobs) as done:
        return list(dict(sorted(done)).values())


def _numbered(options: argparse.Namespace, work: tuple[int, _Work]) -> tuple[int, Report | None]:
    number, each = work
    return number, _one(options, each)


def _one(options: argparse.Namespace, work: _Work) -> Report | None:
    """Transpile one module; return its report, or None on an error. Errors and text reports go to standard error."""
    name = work.source.name
    try:
        rules = chosen(None if options.rules is None else options.rules.split(","), sugar=options.sugar)
        source = work.source.load()
        with _bar(name, source, alone=options.jobs == 1) as on_progress:
            done = transpile(
                source,
                rules,
                name=name,
                kernel_name=options.name,
                verify=options.verify,
                unchecked=options.unchecked,
                on_progress=on_progress,
            )
        _write(work.output, done.text)
    except BrokenPipeError:
        raise
    except (OSError, PyptxError) as error:
        _refused(error)
        return None
    if done.refused:
        sys.stderr.write(f"pyptx transpile: {name} is emitted with unchecked=True: {done.refused}\n")
    if done.unchecked:
        first, *more = done.unchecked
        what = f"{1 + len(more)} statements are" if more else "1 statement is"
        sys.stderr.write(f"pyptx transpile: {name}: {what} emitted with unchecked=True: {first.reason}\n")
    if options.report == "text":
        sys.stderr.write(_table(done))
    return Report(name, dict(done.matched), dict(done.applied), done.rejected, done.dropped, done.unchecked)


@contextmanager
def _bar(name: str, source: str, *, alone: bool) -> Generator[ProgressCallback | None]:
    """Show a progress bar for a long file if stderr is a terminal and `tqdm` is installed; yield its callback."""
    if not alone or len(source) < _LONG or not sys.stderr.isatty() or find_spec("tqdm") is None:
        yield None
        return
    with import_module("tqdm").tqdm(desc=Path(name).name, unit=" steps", unit_scale=True, leave=False) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show


def _refused(why: str | Exception) -> int:
    sys.stderr.write(f"pyptx transpile: {why if isinstance(why, str) else text_of(why)}\n")
    return USAGE_ERROR


def _parser() -> CommandParser:
    parser = CommandParser("transpile", "Print PTX as Python that emits the same bytes.")
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
    parser.add_argument("--report", choices=("text", "json"), help="report the results of each rule on standard error")
    parser.add_argument("-o", "--output", metavar="OUT", help="write to this file or folder instead of standard output")
    parser.add_argument(
        "-j", "--jobs", type=jobs, default=1, metavar="N", help="process N files in parallel, 0 for one per processor"
    )
    return parser


def _write(path: Path | None, text: str) -> None:
    """Write a text to a file atomically, or to standard output."""
    if path is None:
        sys.stdout.write(text)
        return
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_text(text, encoding="ascii", newline="\n")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _json(report: object) -> str:
    return json.dumps(report, indent=1) + "\n"


def _table(done: Transpiled) -> str:
    lines = [f"{'rule':12} {'matched':>6} {'applied':>8} {'rejected':>10}"]
    for rule, matched in sorted(done.matched.items()):
        lines += [f"{rule:12} {matched:6} {done.applied[rule]:8} {matched - done.applied[rule]:10}"]
    left_out = (*done.rejected, *done.dropped)
    lines += [f"{each.rule} in {each.function}, at {each.statement}: {each.reason}" for each in left_out]
    return "\n".join(lines) + "\n"
