"""The `pyptx` command: runs the built-in subcommands and those of plugins.

    pyptx check kernel.ptx …    report everything that is wrong with PTX files, with line and column
    pyptx fmt kernel.ptx …      format PTX files in the style of nvcc, of LLVM or of another file
    pyptx diff A.ptx B.ptx      show the differences of two PTX files beyond names and formatting
    pyptx explain RULE          explain a rule of the simulator or an error code of check
    pyptx isa SEARCH            show instructions: their forms, operands, versions and targets
    pyptx targets               list the known targets
    pyptx plugins               list the installed plugins
    pyptx doctor                check the installation on this machine, with a hint for each problem
    pyptx cache ls              list the compiled cubins on disk

`pyptx --version` prints the version, `pyptx help COMMAND` the options of a command.

Exit status: 0 for success, 1 for findings or errors, 2 for a usage error. As in shells, 130 after an interrupt and 141
if the reader of the output has exited (`pyptx check … | head`).
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from pyptx_ir.errors import PyptxError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_ir.plugins.rows import Command

USAGE_ERROR = 2
INTERRUPTED, READER_GONE = 130, 141  # exit status: 128 + signal number, as in shells (SIGINT, SIGPIPE)
_HELP = ("-h", "--help", "help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the subcommand named by `argv` (default: `sys.argv[1:]`); return the exit status."""
    return ended(lambda: _run(list(sys.argv[1:] if argv is None else argv)))


def ended(command: Callable[[], int]) -> int:
    """Run a subcommand; return its exit status, or 130 after an interrupt, or 141 for a closed output pipe."""
    try:
        status = command()
        sys.stdout.flush()
    except KeyboardInterrupt as interrupt:  # its text, if it has one, is the extent of the partial result
        print(f"\n{str(interrupt) or 'interrupted'}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # When Python exits, flushing the buffered output would raise BrokenPipeError again, with a traceback.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    return status


def _run(words: list[str]) -> int:
    from pyptx_ir.plugins.manager import manager

    if words[:1] in (["--version"], ["-V"]):
        return _version()
    if words[:1] == ["help"] and len(words) == 2:
        words = [words[1], "--help"]
    commands = {command.name: command for command in built_in()}
    try:
        if not words or words[0] not in commands:  # built-in subcommands work even if a plugin fails to load
            commands = {command.name: command for command in manager().commands()}
        if words and words[0] in commands:
            return commands[words[0]].main(words[1:])
    except PyptxError as error:
        print(error, file=sys.stderr)
        return 1
    if words[:1] and words[0] in _HELP:
        print(_usage(commands))
        return 0
    if words:
        print(_unknown(words[0], commands), file=sys.stderr)
    else:
        print(_usage(commands), file=sys.stderr)
    return USAGE_ERROR


def _version() -> int:
    """Print the version of the `pyptx` distribution, or of pyptx-ir if that is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        print(f"pyptx {version('pyptx')}")
    except PackageNotFoundError:
        print(f"pyptx-ir {version('pyptx-ir')}")
    return 0


def _usage(commands: Mapping[str, Command]) -> str:
    rows = (f"  {row.name:<10} {row.summary}" for row in commands.values())
    return "\n".join(("usage: pyptx COMMAND ...", *rows, "pyptx help COMMAND lists the options of a command."))


def _unknown(word: str, commands: Mapping[str, Command]) -> str:
    """Return the error for a word that is not a command, with the command or package that the user may mean."""
    from pyptx_ir.suggestions import close_names

    close = close_names(word, list(commands), most=1)
    help = f"did you mean pyptx {close[0]}?" if close else "pyptx help lists all commands"
    return f"pyptx: unknown command '{word}'\nhelp: {help}"


def built_in() -> tuple[Command, ...]:
    """Return the subcommands that need no package other than pyptx-ir."""
    from pyptx_ir.plugins.rows import Command

    return (
        Command("check", "check PTX files: syntax, names, instructions, directives, limits", check),
        Command("fmt", "format PTX files", fmt),
        Command("diff", "compare two PTX files beyond names and formatting", diff),
        Command("explain", "explain a rule of the simulator or an error code of check", explain),
        Command("isa", "search the instruction set", isa),
        Command("targets", "list the known targets", targets),
        Command("plugins", "list the installed plugins", plugins),
        Command("doctor", "check the installation on this machine", doctor),
        Command("cache", "list or remove compiled cubins on disk", cache),
    )


def check(argv: Sequence[str]) -> int:
    """Check each PTX file against the whole instruction set, and print the errors."""
    from pyptx_ir.isa.modules.command import check as run

    return run(argv)


def fmt(argv: Sequence[str]) -> int:
    """Reformat the whitespace of each PTX file."""
    from pyptx_ir.formatter import fmt as run

    return run(argv)


def diff(argv: Sequence[str]) -> int:
    """Compare two PTX files, and print the differences beyond names and formatting."""
    from pyptx_ir.diff.command import diff as run

    return run(argv)


def explain(argv: Sequence[str]) -> int:
    """Print the explanation of each given rule or error code."""
    from pyptx_ir.explanations import explain as run

    return run(argv)


def isa(argv: Sequence[str]) -> int:
    """Search the instruction table, and print the matching instructions."""
    from pyptx_ir.isa.reference.command import isa as run

    return run(argv)


def targets(argv: Sequence[str]) -> int:
    """Print each known target and the first PTX version that supports it."""
    from pyptx_ir.lists import targets as run

    return run(argv)


def plugins(argv: Sequence[str]) -> int:
    """Print each loaded plugin, and the error of each plugin that did not load."""
    from pyptx_ir.lists import plugins as run

    return run(argv)


def doctor(argv: Sequence[str]) -> int:
    """Check the installation and print the results."""
    from pyptx_ir.doctor.command import doctor as run

    return run(argv)


def cache(argv: Sequence[str]) -> int:
    """List or remove the cubins in the cache."""
    from pyptx_ir.toolchain.command import cache as run

    return run(argv)
