"""Parsers of the options of subcommands, and their exit statuses."""

from __future__ import annotations

import argparse
import re
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Final, NoReturn, cast

from pyptx_ir.errors import PyptxError
from pyptx_ir.reports import FORMATS
from pyptx_ir.suggestions import close_names
from pyptx_ir.terminal import output_to, write, write_help

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

    from _typeshed import SupportsWrite

SUCCESS, ERRORS, USAGE_ERROR = 0, 1, 2  # exit statuses
_UNKNOWN: Final = re.compile(r"unrecognized arguments: (.*)", re.DOTALL)


class CommandParser(argparse.ArgumentParser):
    """A parser of the options of `pyptx NAME`. Options are not abbreviated; errors suggest options with close names."""

    def __init__(self, name: str, description: str, epilog: str | None = None, *, output: bool = True) -> None:
        """Create a parser; `description` and `epilog` are printed by `--help` as they are.

        Its only option is `--output`, which `run` implements; with `output=False` the command has its own or none.
        """
        super().__init__(
            prog=f"pyptx {name}",
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter if epilog else argparse.HelpFormatter,
            allow_abbrev=False,
        )
        if output:
            self.add_argument(
                "-o", "--output", dest="output_file", metavar="FILE", help="write to FILE instead of standard output"
            )

    @property
    def option_names(self) -> Sequence[str]:
        """Names of the options, such as `-o` and `--output`, in order of definition."""
        return tuple(self._option_string_actions)

    def error(self, message: str) -> NoReturn:
        """Print a usage error with a suggestion for each unknown option, and exit with status 2."""
        unknown = _UNKNOWN.fullmatch(message)
        lines = [f"{self.prog}: {message}"]
        for word in unknown[1].split() if unknown else ():
            close = close_names(word.partition("=")[0], self.option_names, most=1)
            lines += [f"help: {word} is not an option; did you mean {close[0]}?"] if close else []
        lines.append(f"help: {self.prog} --help lists all options")
        self.print_usage(sys.stderr)
        write("\n".join(lines) + "\n", sys.stderr)
        self.exit(USAGE_ERROR)

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """Write the help to a text stream (default: standard output), with colors if it is a terminal."""
        write_help(self.format_help(), cast("TextIO | None", file))


def add_format(parser: argparse.ArgumentParser, *others: str) -> None:
    """Add `--format`, and `--json` for JSON; `others` are formats that only this command has."""
    parser.add_argument(
        "--format",
        choices=("text", *FORMATS, *others),
        default="text",
        help="text (default); json, sarif, junit: for tools; github: annotations of GitHub Actions"
        + "".join(f"; {each}: one JSON report per line" for each in others),
    )
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="short for --format json")


def run(parser: CommandParser, command: Callable[[argparse.Namespace], int], argv: Sequence[str]) -> int:
    """Run a subcommand with the options that `parser` finds in `argv`, and return its exit status.

    The status is 2 after a usage error, and for errors of a file or of pyptx, which are printed. With `--output` of
    `CommandParser`, the command's standard output is written to that file, unless there is such an error.
    """
    try:
        options = parser.parse_args(argv)
    except SystemExit as leaving:  # argparse has printed the error or help
        return leaving.code if isinstance(leaving.code, int) else USAGE_ERROR
    path = getattr(options, "output_file", None)
    try:
        with nullcontext() if path in (None, "-") else output_to(path):
            return command(options)
    except BrokenPipeError:  # the reader of the output has exited; `pyptx_ir.commands.ended` ends the command
        raise
    except (OSError, PyptxError) as error:
        write(f"{parser.prog}: {text_of(error)}\n", sys.stderr)
        return USAGE_ERROR


def text_of(error: Exception) -> str:
    """Return the message of an error; `FILE: message` for a file that cannot be read or written."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror is not None:
        return f"{error.filename}: {error.strerror[:1].lower()}{error.strerror[1:]}"
    return str(error)
