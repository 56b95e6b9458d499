"""`pyptx check`: the command line of the checker."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from pyptx_ir.errors import PyptxError
from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.isa.modules.files import FileReport, all_reports_on, reports_on
from pyptx_ir.isa.modules.portability import needs, portability, table
from pyptx_ir.plugins.targets import find_target
from pyptx_ir.processes import in_processes, jobs
from pyptx_ir.sources.reader import ARCH, INPUTS, read_sources
from pyptx_ir.syntax.parser import parse_recovering
from pyptx_ir.syntax.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

USAGE_ERROR = 2


def check(argv: Sequence[str]) -> int:
    """Check PTX files. Return 0 without errors, 1 with errors, 2 for a usage error or a file that can't be read."""
    try:
        options = _parser().parse_args(argv)
        if options.target is not None:
            find_target(options.target)
        if options.portability:
            return _portability([text for name in options.files for text in _read(name, options.arch)], options.format)
    except SystemExit as leaving:  # argparse has printed the error
        return leaving.code if isinstance(leaving.code, int) else USAGE_ERROR
    except (OSError, PyptxError) as error:
        sys.stderr.write(f"pyptx check: {error}\n")
        return USAGE_ERROR
    with _reports(options) as reports:
        return _diagnostics(reports, len(options.files), options.format)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pyptx check",
        description="Check PTX files: syntax, names, instructions, directives, limits. Exits with 1 for an error.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help=INPUTS)
    parser.add_argument("--arch", metavar="sm_XY", help=ARCH)
    parser.add_argument("--target", metavar="sm_XY", help="check for this target instead of .target")
    parser.add_argument(
        "--format",
        choices=("text", "json", "ndjson"),
        default="text",
        help="json: one list at the end; ndjson: one object per file and line, as soon as the file is checked",
    )
    parser.add_argument(
        "-j", "--jobs", type=jobs, default=1, metavar="N", help="check N files in parallel (0: one per processor)"
    )
    parser.add_argument("--portability", action="store_true", help="list for each target whether the module is valid")
    return parser


@contextmanager
def _reports(options: argparse.Namespace) -> Iterator[Iterator[FileReport]]:
    """Check files in this process or in worker processes, which end with the `with` block."""
    judge = partial(reports_on, target=options.target, arch=options.arch)
    if options.jobs == 1 or len(options.files) == 1:
        yield chain.from_iterable(map(judge, options.files))
        return
    # Standard input is checked in this process: workers cannot read it.
    here = [name for name in options.files if name == "-"]
    files = [name for name in options.files if name != "-"]
    together = partial(all_reports_on, target=options.target, arch=options.arch)
    with in_processes(together, files, options.jobs) as reports:
        yield chain(chain.from_iterable(map(judge, here)), chain.from_iterable(reports))


def _diagnostics(reports: Iterable[FileReport], files: int, style: str) -> int:
    errors = warnings = unreadable = count = 0
    rows: list[tuple[str, dict[str, int | str]]] = []
    for count, report in enumerate(reports, 1):
        errors += report.errors
        warnings += report.warnings
        unreadable += bool(report.unreadable)
        if report.unreadable:
            _note(f"pyptx check: {report.unreadable}\n")
        if style == "text":
            _say(*report.shown)
        elif style == "ndjson":
            _say(json.dumps(report.as_json()))
        rows += [(report.file, one.as_json()) for one in report.diagnostics] if style == "json" else []
        _progress(count, files, errors)
    several = max(files, count) > 1
    if style == "json":
        _say(json.dumps([{"file": file, **row} if several else row for file, row in rows], indent=2))
    elif style == "text" and unreadable < count:
        what = "file" if count <= files else "module"  # if a file has several modules, modules are counted
        _say(f"{counted(count - unreadable, what)}, {counted(errors, 'error')}, {counted(warnings, 'warning')}")
    return USAGE_ERROR if unreadable else 1 if errors else 0


def _progress(count: int, files: int, errors: int) -> None:
    """Show the progress of a check on a terminal, and erase it at the end."""
    if files > 1 and sys.stderr.isatty():
        done = f"{count} of {counted(files, 'file')}, {counted(errors, 'error')}" if count < files else ""
        _note(f"\r\x1b[K{done}")


def _note(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _read(name: str, arch: str | None) -> Iterator[Source]:
    for source in read_sources(name, arch):
        yield Source(source.load(), source.name)


def _portability(sources: Sequence[Source], style: str) -> int:
    rows: list[dict[str, int | str | bool]] = []
    legal = 0
    for source in sources:
        module, errors = parse_recovering(source.text, source.name)
        if errors:
            sys.stderr.writelines(f"{error}\n" for error in errors)
            return 1
        verdicts = portability(module)
        legal += any(verdict.ok for verdict in verdicts)
        name = {"file": source.name} if len(sources) > 1 else {}
        rows += [{**name, **verdict.as_json()} for verdict in verdicts]
        if style == "text":
            _say(source.name, table(verdicts), *filter(None, [needs(verdicts)]))
    if style == "json":
        _say(json.dumps(rows, indent=2))
    elif style == "ndjson":
        _say(*map(json.dumps, rows))
    return 0 if legal == len(sources) else 1


def _say(*lines: str) -> None:
    """Print lines and flush, because the reader of a pipe waits for them."""
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()
