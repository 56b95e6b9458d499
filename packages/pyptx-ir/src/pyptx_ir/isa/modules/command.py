"""`pyptx check`: the command line of the checker."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from dataclasses import replace
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
from pyptx_ir.reports import FORMATS, Report, Unreadable, render, united
from pyptx_ir.reports.json import as_line
from pyptx_ir.sources.reader import ARCH, INPUTS, expanded, read_sources
from pyptx_ir.sources.sizes import run_with_sizes, with_sizes
from pyptx_ir.suppressions import add_suppressions, load_suppressions, remarks, unused_problems
from pyptx_ir.syntax.parser import parse_recovering
from pyptx_ir.syntax.source import Source
from pyptx_ir.terminal import write
from pyptx_ir.terminal.progress import show_progress

if TYPE_CHECKING:
    import argparse
    from collections.abc import Generator, Iterator, Sequence

    from pyptx_ir.reports import Problem
    from pyptx_ir.sources.sizes import Sizes
    from pyptx_ir.suppressions import Suppressions


def check(argv: Sequence[str]) -> int:
    """Check PTX files. Return 0 without errors, 1 with errors, 2 for a usage error or a file that can't be read."""
    return run_with_sizes(check_parser(), _checked, argv)


def _checked(options: argparse.Namespace, sizes: Sizes) -> int:
    if options.target is not None:
        find_target(options.target)
    options.files = [with_sizes(name, sizes) for name in expanded(options.files)]
    if options.portability and options.format not in ("text", "json", "ndjson"):
        raise PyptxError("--portability prints a table: --format is text, json or ndjson")
    if options.portability:
        return _portability([text for name in options.files for text in _read(name, options.arch)], options.format)
    return _Diagnostics(options, load_suppressions(options)).printed()


def check_parser() -> CommandParser:
    """Return the parser of the options of `pyptx check`."""
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
    add_suppressions(parser)
    parser.add_argument("--portability", action="store_true", help="list for each target whether the module is valid")
    return parser


@contextmanager
def _reports(options: argparse.Namespace) -> Generator[Iterator[FileReport]]:
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


class _Diagnostics:
    """Reports of the checked modules, printed one by one in formats with a line per error, else at the end."""

    def __init__(self, options: argparse.Namespace, accepted: Suppressions | None) -> None:
        self._options, self._accepted = options, accepted
        self._files: Sequence[str] = options.files
        self._style: str = options.format
        self._found: list[FileReport] = []
        self._unused: Sequence[Problem] = ()

    def printed(self) -> int:
        """Check the files and print the reports, after an interrupt those so far; return the exit status."""
        try:
            with show_progress("checking", "file") as shown, _reports(self._options) as reports:
                shown(0, len(self._files))
                for each in reports:
                    report = each if self._accepted is None else each.reviewed(self._accepted)
                    self._found.append(report)
                    with shown.hidden():
                        self._print(report)
                    shown(min(len(self._found), len(self._files)), len(self._files))
        except KeyboardInterrupt:
            self._finish(interrupted=True)
            raise KeyboardInterrupt(f"interrupted after {self._extent()}") from None
        self._unused = unused_problems(self._accepted, self._options)
        self._finish(interrupted=False)
        unreadable = any(each.unreadable for each in self._found)
        errors = [*(each.errors for each in self._found), *(each.severity == "error" for each in self._unused)]
        return USAGE_ERROR if unreadable else ERRORS if any(errors) else SUCCESS

    def _print(self, report: FileReport) -> None:
        if report.unreadable:
            sys.stderr.write(f"pyptx check: {report.unreadable}\n")
            sys.stderr.flush()
        if self._style == "text":
            _say(*report.shown)
        elif self._style == "ndjson":
            _say(as_line(report.report).rstrip("\n"))

    def _finish(self, *, interrupted: bool) -> None:
        """Print the report of all modules, or their number and the numbers of errors and warnings."""
        modules = [each for each in self._found if not each.unreadable]
        if self._style in FORMATS:
            reports = [each.report for each in self._found]
            missing = self._unchecked() if interrupted else ()
            united_report = united([*reports, *missing], explained())
            problems = (*united_report.problems, *self._unused)
            sys.stdout.write(render(replace(united_report, problems=problems), self._style))
        elif self._style == "text" and modules:
            what = "file" if len(self._found) <= len(self._files) else "module"  # counted if a file has several modules
            errors, warnings = (sum(getattr(each, kind) for each in modules) for kind in ("errors", "warnings"))
            _say(f"{counted(len(modules), what)}, {counted(errors, 'error')}, {counted(warnings, 'warning')}")
        if self._style == "text":
            write(remarks(self._accepted, sum(len(each.suppressed) for each in self._found), self._unused))

    def _unchecked(self) -> Iterator[Report]:
        """Yield a report for each file without a report."""
        checked = {each.file.partition("#")[0] for each in self._found}
        for name in self._files:
            if name.partition("#")[0] not in checked:
                yield Report("pyptx check", (name,), (), (Unreadable(name, "not checked: interrupted"),))

    def _extent(self) -> str:
        """Return how many files have been checked, or modules if a file has several."""
        count, files = len(self._found), len(self._files)
        return f"{count} of {counted(files, 'file')}" if count <= files else counted(count, "module")


def explained() -> dict[str, str]:
    """Return the meaning of each error code, for reports."""
    return {name: row.meaning for name, row in codes().items()}


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
    write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()
