"""`pyptx targets` and `pyptx plugins`: the known targets and the installed plugins."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from pyptx_ir.command_line import ERRORS, SUCCESS, CommandParser, run
from pyptx_ir.terminal import table, write

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def targets(argv: Sequence[str]) -> int:
    """Print each known target and the first PTX version that supports it."""
    return run(targets_parser(), _targets, argv)


def plugins(argv: Sequence[str]) -> int:
    """Print each loaded plugin, and the error of each plugin that did not load; return 1 if there is one."""
    return run(plugins_parser(), _plugins, argv)


def targets_parser() -> CommandParser:
    """Return the parser of the options of `pyptx targets`."""
    return _parser("targets", "List the known targets, with the first PTX version of each.")


def plugins_parser() -> CommandParser:
    """Return the parser of the options of `pyptx plugins`."""
    return _parser("plugins", "List the installed plugins. Exits with 1 if a plugin does not load.")


def _parser(name: str, description: str) -> CommandParser:
    parser = CommandParser(name, description)
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _targets(options: argparse.Namespace) -> int:
    from pyptx_ir.plugins.manager import manager

    rows = [(row.name, ".".join(map(str, row.since))) for row in manager().targets()]
    if options.json:
        _print_json([{"name": name, "since": since} for name, since in rows])
    else:
        sys.stdout.write(table([(name, f"PTX {since}") for name, since in rows]))
    return SUCCESS


def _plugins(options: argparse.Namespace) -> int:
    from pyptx_ir.plugins.manager import manager

    loaded, broken = list(manager().loaded()), [str(fault) for fault in manager().broken()]
    if options.json:
        _print_json({"loaded": loaded, "broken": broken})
    else:
        write("".join(f"{line}\n" for line in (*loaded, *broken)))
    return ERRORS if broken else SUCCESS


def _print_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, indent=2) + "\n")
