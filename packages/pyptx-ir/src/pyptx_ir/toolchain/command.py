"""`pyptx cache`: the cubins that ptxas has compiled before, on disk."""

from __future__ import annotations

import re
import sys
import time
from typing import TYPE_CHECKING, Final

from pyptx_ir.command_line import SUCCESS, CommandParser, run
from pyptx_ir.errors import PyptxError
from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.terminal import table
from pyptx_ir.toolchain.cache import CubinCache

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE: Final = re.compile(r"([0-9]+)([KMG]?)")
_SHOWN: Final = 20  # number of cubins that `ls` lists without `--all`


def cache(argv: Sequence[str]) -> int:
    """List or remove cached cubins."""
    return run(cache_parser(), _ran, argv)


def cache_parser() -> CommandParser:
    """Return the parser of the options of `pyptx cache`."""
    parser = CommandParser(
        "cache",
        "List the cubins that ptxas has compiled before (ls), or remove the least recently used ones (prune). The "
        "cache is in PYPTX_CACHE_DIR, or in the user's cache folder; it is also pruned once a day.",
    )
    parser.add_argument("action", choices=("ls", "prune"), help="ls: list cubins by last use; prune: remove cubins")
    parser.add_argument("--all", action="store_true", help=f"list all cubins, not only the last {_SHOWN}")
    parser.add_argument("--size", default="0", metavar="SIZE", help="size that prune keeps, such as 500M (default: 0)")
    return parser


def _ran(options: argparse.Namespace) -> int:
    cubins = CubinCache()
    if options.action == "prune":
        removed = cubins.prune(_bytes(options.size))
        sys.stdout.write(f"removed {removed / 1e6:.1f} MB; {_total(cubins)}\n")
    else:
        sys.stdout.write(_listed(cubins, None if options.all else _SHOWN))
    return SUCCESS


def _bytes(text: str) -> int:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise PyptxError(f"--size {text}: expected a size in bytes, or such as 500M or 2G")
    return int(match[1]) * _UNITS[match[2]]


def _listed(cubins: CubinCache, most: int | None) -> str:
    """Return a line per cubin, the last used first, and the total."""
    entries = sorted(cubins.entries(), key=lambda entry: entry[2], reverse=True)
    rows = [(_minute(used), f"{size / 1e3:.1f} KB", path.name) for path, size, used in entries[:most]]
    left = 0 if most is None else max(0, len(entries) - most)
    more = f"and {left} more; --all lists them\n" if left else ""
    return f"{table(rows, right=[1])}{more}{_total(cubins)}\n"


def _minute(used: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(used))


def _total(cubins: CubinCache) -> str:
    return f"{cubins.folder}: {counted(len(cubins), 'cubin')}, {cubins.size() / 1e6:.1f} MB"
