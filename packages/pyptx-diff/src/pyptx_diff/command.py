"""`pyptx diff`: the command line of the comparison."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pyptx_diff.comparison import CONTEXT, compare
from pyptx_diff.report import report_of, text
from pyptx_ir.command_line import CommandParser, add_format
from pyptx_ir.errors import PyptxError
from pyptx_ir.reports import render
from pyptx_ir.sources.reader import ARCH, INPUTS, read_source
from pyptx_ir.sources.sizes import run_with_sizes, with_sizes
from pyptx_ir.syntax.parser import parse
from pyptx_ir.terminal import colored, write_bytes_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from pyptx_ir.sources.sizes import Sizes
    from pyptx_ir.syntax.nodes import Module

SAME, DIFFERENT = 0, 1  # exit statuses, as of POSIX `diff`; 2: error


def diff(argv: Sequence[str]) -> int:
    """Compare two files.

    Return 0 if they are equal up to renaming and formatting, 1 if they differ, 2 for a usage error or a file that can't
    be read.
    """
    return run_with_sizes(diff_parser(), _compared, argv)


def _compared(options: argparse.Namespace, sizes: Sizes) -> int:
    names = with_sizes(options.before, sizes), with_sizes(options.after, sizes)
    comparison = compare(*_read_both(*names, options.arch), debug=options.debug, context=options.context)
    if options.format != "text":
        sys.stdout.write(render(report_of(comparison, names, renamings=options.renames), options.format))
    elif not options.quiet:
        shown = text(comparison, names, colors=_colors(options.color), renamings=options.renames)
        write_bytes_of(shown)
    return SAME if comparison.same else DIFFERENT


def diff_parser() -> CommandParser:
    """Return the parser of the options of `pyptx diff`."""
    parser = CommandParser(
        "diff", "Compare two PTX files beyond names and formatting. Exit status 0: same, 1: different, 2: error."
    )
    parser.add_argument("before", metavar="A", help=INPUTS)
    parser.add_argument("after", metavar="B", help="second input, like A")
    parser.add_argument("--arch", metavar="sm_XY", help=ARCH)
    add_format(parser)
    parser.add_argument("--renames", action="store_true", help="list the names that differ in B")
    parser.add_argument("--debug", action="store_true", help="compare .loc, .file and debugging sections too")
    parser.add_argument(
        "-U", "--context", type=_context, default=CONTEXT, metavar="N", help="context statements around each change"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing; only set the exit status")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="auto: on a terminal")
    return parser


def _context(text: str) -> int:
    count = int(text)
    if count < 0:
        raise ValueError
    return count


def _read_both(before: str, after: str, arch: str | None) -> tuple[Module, Module]:
    if before == after == "-":
        raise PyptxError("both inputs are standard input (-): only one can be")
    return _read(before, arch), _read(after, arch)


def _read(name: str, arch: str | None) -> Module:
    source = read_source(name, arch)
    return parse(source.load(), source.name)


def _colors(choice: str) -> bool:
    return colored(sys.stdout) if choice == "auto" else choice == "always"
