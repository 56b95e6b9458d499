"""`pyptx completion SHELL`: a script that completes the commands and options of `pyptx` in a shell."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from pyptx_ir.command_line import SUCCESS, CommandParser, run
from pyptx_ir.errors import PyptxError
from pyptx_ir.origins import install_command

if TYPE_CHECKING:
    from collections.abc import Sequence

SHELLS: Final = ("bash", "zsh", "tcsh")
_FILES: Final = {"FILE", "INPUT", "A", "B", "OUT", "MODULE:KERNEL"}  # metavariables of arguments that are files
_FOLDERS: Final = {"FOLDER"}


def completion(argv: Sequence[str]) -> int:
    """Print the script for a shell; return 0, or 2 for a usage error or without shtab."""
    return run(completion_parser(), _printed, argv)


def completion_parser() -> CommandParser:
    """Return the parser of the options of `pyptx completion`."""
    parser = CommandParser(
        "completion",
        "Print a script that completes commands, options and files in a shell. Needs shtab.",
        "examples:\n"
        "  pyptx completion bash -o ~/.local/share/bash-completion/completions/pyptx\n"
        "  pyptx completion zsh -o ~/.zfunc/_pyptx            with ~/.zfunc in zsh's fpath\n",
    )
    parser.add_argument("shell", choices=SHELLS)
    return parser


def _printed(options: argparse.Namespace) -> int:
    if find_spec("shtab") is None:
        raise PyptxError("completion needs shtab", help=install_command("rich"))
    import shtab

    sys.stdout.write(shtab.complete(whole_parser(), options.shell))
    return SUCCESS


def whole_parser() -> argparse.ArgumentParser:
    """Return a parser with the commands of pyptx-ir and of all plugins as subcommands, for shtab."""
    from pyptx_ir.plugins.manager import manager

    whole = argparse.ArgumentParser("pyptx")
    whole.add_argument("--version", action="store_true", help="print the version")
    commands = whole.add_subparsers(dest="command")
    for row in manager().commands():
        parents = [] if row.parser is None else [row.parser()]
        command = commands.add_parser(row.name, help=row.summary, parents=parents, add_help=False)
        for action in command._actions:  # noqa: SLF001 - argparse has no public list of them
            _complete(action)
    return whole


def _complete(action: argparse.Action) -> None:
    """State which arguments are files, in the attribute that shtab reads."""
    import shtab

    if action.metavar in _FILES:
        vars(action)["complete"] = shtab.FILE
    elif action.metavar in _FOLDERS:
        vars(action)["complete"] = shtab.DIRECTORY
