"""`pyptx check`: the command line of the checker."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from pyptx_ir.command_line import ERRORS, SUCCESS, USAGE_ERROR, CommandParser, add_format
from pyptx_ir.errors import PyptxError
from pyptx_ir.isa.modules.codes import codes
from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.isa.modules.files import FileReport, all_reports_on, reports_on
from pyptx_ir.isa.modules.portability import needs, portability, table
from pyptx_ir.plugins.targets import find_target
from pyptx_ir.processes import in_processes, jobs
from pyptx_ir.reports import FORMATS, render, united
from pyptx_ir.reports.json import as_line
from pyptx_ir.sources.reader import ARCH, INPUTS, expanded, read_sources
from pyptx_ir.sources.sizes import run_with_sizes, with_sizes
from pyptx_ir.syntax.parser import parse_recovering
from pyptx_ir.syntax.source import Source

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from pyptx_ir.reports import Report
    from pyptx_ir.sources.sizes import Sizes


def check(argv: Sequence[str]) -> int:
    """Check PTX files. Return 0 without errors, 1 with errors, 2 for a usage error or a file that can't be read."""
    return run_with_sizes(_parser(), _checked, argv)


def _checked(options: argparse.Namespace, sizes: Sizes) -> int:
    if options.target is not None:
        find_target(options.target)
    options.files = [with_sizes(name, sizes) for name in expanded(options.files)]
    if options.portability and options.format not in ("text", "json", "ndjson"):
        raise PyptxError("--portability prints a table: --format is text, json or ndjson")
    if options.portability:
        return _portability([text for name in options.files for text in _read(name, options.arch)], options.format)
    with _reports(options) as reports:
        return _diagnostics(reports, len(options.files), options.format)


def _parser() -> CommandParser:
    parser = CommandParser(
        "check", "Check PTX files: syntax, names, instructions, directives, limits. Exits with 1 for an error."
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help=INPUTS)
    parser.add_argument("--arch", metavar="sm_XY", help=ARCH)
    parser.add_argument("--target", metavar="sm_XY", help="check for this target instead of .target")
    add_format(parser, "ndjson")
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
    found: list[Report] = []
    errors = warnings = unreadable = 0
    for count, report in enumerate(reports, 1):
        errors += report.errors
        warnings += report.warnings
        unreadable += bool(report.unreadable)
        found.append(report.report)
        if report.unreadable:
            _note(f"pyptx check: {report.unreadable}\n")
        if style == "text":
            _say(*report.shown)
        elif style == "ndjson":
            _say(as_line(report.report).rstrip("\n"))
        _progress(count, files, errors)
    if style in FORMATS:
        sys.stdout.write(render(united(found, explained()), style))
    elif style == "text" and unreadable < len(found):
        what = "file" if len(found) <= files else "module"  # if a file has several modules, modules are counted
        _say(f"{counted(len(found) - unreadable, what)}, {counted(errors, 'error')}, {counted(warnings, 'warning')}")
    return USAGE_ERROR if unreadable else ERRORS if errors else SUCCESS


def explained() -> dict[str, str]:
    """Return the meaning of each error code, for reports."""
    return {name: row.meaning for name, row in codes().items()}


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
