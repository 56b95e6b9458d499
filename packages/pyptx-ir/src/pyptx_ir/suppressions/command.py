"""`pyptx suppress`: write the problems of JSON reports to a suppressions file, for review."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from pyptx_ir.command_line import SUCCESS, CommandParser, run
from pyptx_ir.errors import PyptxError
from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.reports import Position, Problem
from pyptx_ir.suppressions.reading import read
from pyptx_ir.suppressions.suppressions import UNUSED, Suppressions
from pyptx_ir.suppressions.writing import HEADING, suppression_of, text_of
from pyptx_ir.terminal import write

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

DEFAULT: Final = "pyptx-suppressions.toml"
_EXAMPLES: Final = """
examples:
  pyptx sim k.ptx … --format json | pyptx suppress                 appends to pyptx-suppressions.toml
  pyptx suppress report.json -o ci/accepted.toml --reason "benign: all lanes store 0"

Entries without a reason are not valid: write the reason of each before the next run with --suppressions.
"""


def suppress(argv: Sequence[str]) -> int:
    """Append an entry for each error and warning of JSON reports that the file does not have; return 0, or 2."""
    return run(suppress_parser(), _suppressed, argv)


def suppress_parser() -> CommandParser:
    """Return the parser of the options of `pyptx suppress`."""
    summary = "Write the errors and warnings of JSON reports to a suppressions file (TOML), for review."
    parser = CommandParser("suppress", summary, _EXAMPLES, output=False)
    parser.add_argument(
        "reports", nargs="*", default=["-"], metavar="REPORT", help="output of --format json (default: standard input)"
    )
    parser.add_argument(
        "-o",
        "--output",
        default=DEFAULT,
        metavar="FILE",
        help=f"suppressions file, new or extended (default: {DEFAULT})",
    )
    parser.add_argument("--reason", default="", metavar="TEXT", help="reason of all new entries (default: none yet)")
    return parser


def _suppressed(options: argparse.Namespace) -> int:
    problems = [problem for name in options.reports for problem in _problems(name)]
    path, folder = Path(options.output), str(Path(options.output).absolute().parent)
    text = path.read_text(encoding="utf-8") if path.exists() else HEADING
    known = Suppressions(options.output, folder, read(text, options.output, unreviewed=True))
    entries: dict[str, None] = {}
    for problem in problems:
        if not _is_accepted(problem, known):
            entries[text_of(suppression_of(problem, folder, options.reason.strip()))] = None
    if entries:
        gap = "" if text.endswith("\n") else "\n"
        path.write_text("\n".join((text + gap, *entries)), encoding="utf-8")
    todo = "" if options.reason.strip() or not entries else "; write the reason of each"
    write(f"{counted(len(entries), 'suppression')} added to {options.output}{todo}\n")
    return SUCCESS


def _is_accepted(problem: Problem, known: Suppressions) -> bool:
    """Return whether a problem needs no entry: a note, an unused suppression, or a problem that has an entry."""
    if problem.severity == "note" or problem.rule == UNUSED or problem.suppressed:
        return True
    return any(each.matches(problem, each.kernel or "", known.folder) for each in known.entries)


def _problems(name: str) -> Iterator[Problem]:
    """Yield the problems of a file with one JSON report, or with one report per line."""
    text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    try:
        for report in _reports(text):
            yield from (_problem(each) for each in report["problems"])
    except (ValueError, KeyError, TypeError) as error:
        shown = "standard input" if name == "-" else name
        raise PyptxError(f"{shown} is not a JSON report", help="pass the output of --format json") from error


def _reports(text: str) -> list[dict[str, Any]]:
    try:
        return [json.loads(text)]
    except ValueError:
        lines = [line for line in text.splitlines() if line.strip()]
        if not lines:
            raise
        return [json.loads(line) for line in lines]


def _problem(found: dict[str, Any]) -> Problem:
    positions = tuple(
        Position(each["file"], each["line"], label=each["label"], function=each.get("function", ""))
        for each in cast("list[dict[str, Any]]", found["positions"])
    )
    suppressed = found.get("suppressed", "")
    return Problem(found["input"], found["rule"], found["severity"], found["message"], positions, suppressed=suppressed)
