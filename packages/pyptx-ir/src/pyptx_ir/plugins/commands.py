"""Rows of commands whose modules are imported when they are used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from pyptx_ir.plugins.rows import Command

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def command(name: str, summary: str, function: str) -> Command:
    """Return the command `name`, a function `MODULE:FUNCTION`; `NAME_parser` of the module returns its parser.

    The module is imported when one of the two is called.
    """
    place, _, called = function.partition(":")

    def main(argv: Sequence[str]) -> int:
        status: int = getattr(import_module(place), called)(argv)
        return status

    def parser() -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = getattr(import_module(place), f"{name}_parser")()
        return made

    return Command(name, summary, main, parser)
