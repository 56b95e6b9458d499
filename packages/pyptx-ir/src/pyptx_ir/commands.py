"""The `pyptx` command: runs the built-in subcommands and those of plugins.

    pyptx check kernel.ptx …    report everything that is wrong with PTX files, with line and column
    pyptx fmt kernel.ptx …      format PTX files in the style of nvcc, of LLVM or of another file
    pyptx diff A.ptx B.ptx      show the differences of two PTX files beyond names and formatting
    pyptx explain RULE          explain a rule of the simulator or an error code of check
    pyptx suppress REPORT       write the findings of a JSON report to a suppressions file, for review
    pyptx isa SEARCH            show instructions: their forms, operands, versions and targets
    pyptx targets               list the known targets
    pyptx plugins               list the installed plugins
    pyptx doctor                check the installation on this machine, with a hint for each problem
    pyptx cache ls              list the compiled cubins on disk
    pyptx completion bash       print a script that completes commands and options in a shell

`pyptx --version` prints the version, `pyptx help COMMAND` the options of a command.

Exit status: 0 for success, 1 for findings or errors, 2 for a usage error or output that cannot be written. As in
shells, 130 after an interrupt and 141 if the reader of the output has exited (`pyptx check … | head`).
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx_ir.command_line import ERRORS, SUCCESS, USAGE_ERROR
from pyptx_ir.errors import PyptxError
from pyptx_ir.terminal import styled, table, write

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TextIO

    from pyptx_ir.plugins.rows import Command

INTERRUPTED, READER_GONE = 130, 141  # exit status: 128 + signal number, as in shells (SIGINT, SIGPIPE)
_HELP = ("-h", "--help", "help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the subcommand named by `argv` (default: `sys.argv[1:]`); return the exit status."""
    return ended(lambda: _run(list(sys.argv[1:] if argv is None else argv)))


def ended(command: Callable[[], int]) -> int:
    """Run a subcommand; return its exit status.

    It is 130 after an interrupt, 141 for a closed output pipe, and 2 if the output cannot be written.
    """
    _open_closed_streams()
    try:
        status = command()
        sys.stdout.flush()
    except KeyboardInterrupt as interrupt:  # its text, if it has one, is the extent of the partial result
        sys.stderr.write(f"\n{str(interrupt) or 'interrupted'}\n")
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return READER_GONE
    except OSError as error:  # the disk is full, for example
        sys.stderr.write(f"pyptx: {error}\n")
        _drop_output()
        return USAGE_ERROR
    return status


def _open_closed_streams() -> None:
    """Open the null device in place of standard streams with which the process was started closed (`pyptx … >&-`).

    Python has None for them. A file that is opened later would get their descriptors.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - until the process ends


def _drop_output() -> None:
    """Discard buffered output: when Python exits, flushing it would raise the error again, with a traceback."""
    with suppress(OSError):  # a stream in memory has no descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
        write(f"{error}\n", sys.stderr)
        return ERRORS
    if words[:1] and words[0] in _HELP:
        sys.stdout.write(_usage(commands, sys.stdout))
        return SUCCESS
    if words:
        write(_unknown(words[0], commands), sys.stderr)
    else:
        sys.stderr.write(_usage(commands, sys.stderr))
    return USAGE_ERROR


def _version() -> int:
    """Print the version of the `pyptx` distribution, or of pyptx-ir if that is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        print(f"pyptx {version('pyptx')}")
    except PackageNotFoundError:
        print(f"pyptx-ir {version('pyptx-ir')}")
    return 0


def _usage(commands: Mapping[str, Command], stream: TextIO) -> str:
    rows = [(f"  {styled(row.name, 'name', stream)}", row.summary) for row in commands.values()]
    usage = styled("usage:", "heading", stream)
    return (
        f"{usage} pyptx COMMAND ...\n{table(rows, stream=stream)}pyptx help COMMAND lists the options of a command.\n"
    )


def _unknown(word: str, commands: Mapping[str, Command]) -> str:
    """Return the error for a word that is not a command, with the command or package that the user may mean."""
    from pyptx_ir.plugins.homes import home_of_command, install_hint
    from pyptx_ir.suggestions import close_names

    home = home_of_command(word)
    if home is not None:
        return f"pyptx: {word} needs {home}\nhelp: {install_hint(home)}\n"
    close = close_names(word, list(commands), most=1)
    help = f"did you mean pyptx {close[0]}?" if close else "pyptx help lists all commands"
    return f"pyptx: unknown command '{word}'\nhelp: {help}\n"


def built_in() -> tuple[Command, ...]:
    """Return the subcommands that need no package other than pyptx-ir."""
    from pyptx_ir.plugins.commands import command

    return (
        command(
            "check",
            "check PTX files: syntax, names, instructions, directives, limits",
            "pyptx_ir.isa.modules.command:check",
        ),
        command("fmt", "format PTX files", "pyptx_ir.formatter:fmt"),
        command(
            "explain", "explain a rule of the simulator or an error code of check", "pyptx_ir.explanations:explain"
        ),
        command(
            "suppress",
            "write the findings of a report to a suppressions file, for review",
            "pyptx_ir.suppressions.command:suppress",
        ),
        command("isa", "search the instruction set", "pyptx_ir.isa.reference.command:isa"),
        command("targets", "list the known targets", "pyptx_ir.lists:targets"),
        command("plugins", "list the installed plugins", "pyptx_ir.lists:plugins"),
        command("doctor", "check the installation on this machine", "pyptx_ir.doctor.command:doctor"),
        command("cache", "list or remove compiled cubins on disk", "pyptx_ir.toolchain.command:cache"),
        command(
            "completion", "print a script for the completion of commands in a shell", "pyptx_ir.completion:completion"
        ),
    )
