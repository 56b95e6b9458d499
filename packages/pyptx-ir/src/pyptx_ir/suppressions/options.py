"""Options of commands that apply suppressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.suppressions.suppressions import Suppressions

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from pyptx_ir.reports import Problem


def add_suppressions(parser: argparse.ArgumentParser) -> None:
    """Add `--suppressions FILE` and `--strict-suppressions`."""
    parser.add_argument(
        "--suppressions", metavar="FILE", help="accept the findings in FILE (TOML), which pyptx suppress writes"
    )
    parser.add_argument(
        "--strict-suppressions", action="store_true", help="a suppression that matches no finding is an error"
    )


def load_suppressions(options: argparse.Namespace) -> Suppressions | None:
    """Return the suppressions of the options; None without `--suppressions`."""
    return None if options.suppressions is None else Suppressions.load(options.suppressions)


def unused_problems(suppressions: Suppressions | None, options: argparse.Namespace) -> tuple[Problem, ...]:
    """Return a problem for each unused entry: a warning, or an error with `--strict-suppressions`."""
    if suppressions is None:
        return ()
    return suppressions.unused("error" if options.strict_suppressions else "warning")


def remarks(suppressions: Suppressions | None, count: int, unused: Sequence[Problem] = ()) -> str:
    """Return lines about `count` suppressed problems and about unused entries, for the text output of a command."""
    if suppressions is None:
        return ""
    lines = [f"{each.positions[0]}: {each}\n" for each in unused]
    return "".join((f"{count} suppressed by {suppressions.path}\n", *lines))
