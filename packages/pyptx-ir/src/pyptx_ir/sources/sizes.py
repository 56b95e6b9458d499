"""Sizes and template values of kernels in Python files, as options of commands: `--B 16`, `--dtype=bf16`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyptx_ir.sources.errors import SourceError, UnknownSizeError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from pyptx_ir.command_line import CommandParser

Sizes = list[tuple[str, str]]
"""Names and values, as text, of sizes and template parameters, in the order of the command line."""
KERNEL_OF_FILE: Final = re.compile(r"(?P<file>.+\.py)(?::(?P<kernel>\w*))?(?::(?P<sizes>.*))?$", re.DOTALL)
"""Name of a kernel in a Python file: `FILE.py`, `FILE.py:KERNEL` or `FILE.py:KERNEL:B=16,N=512`."""


def run_with_sizes(
    parser: CommandParser, command: Callable[[argparse.Namespace, Sizes], int], argv: Sequence[str]
) -> int:
    """Run a subcommand like `command_line.run`; `command` also gets the sizes among the options, for `with_sizes`.

    Without a kernel of a Python file among the arguments, none is a size: the parser reports unknown options. A size
    that the kernel lacks is an unknown option if an option has a close name.
    """
    from pyptx_ir.command_line import run  # imported here, because argparse is for commands only

    words, sizes = _without_sizes(argv, parser) if any(map(KERNEL_OF_FILE.fullmatch, argv)) else (list(argv), [])

    def ran(options: argparse.Namespace) -> int:
        try:
            return command(options, sizes)
        except UnknownSizeError as error:
            raise _with_options(error, parser) if error.name in dict(sizes) else error from None

    return run(parser, ran, words)


def with_sizes(name: str, sizes: Sizes) -> str:
    """Return the name of a kernel in a Python file with further sizes.

    Raises:
        SourceError: the input is not such a kernel, or a size has no value.

    """
    if not sizes:
        return name
    for size, value in sizes:
        if not value:
            raise SourceError(f"--{size} has no value", help=f"write --{size} VALUE")
    match = KERNEL_OF_FILE.fullmatch(name)
    if match is None:
        raise SourceError(f"{name} has no size {sizes[0][0]}: only kernels of Python files have sizes")
    given = [match["sizes"]] if match["sizes"] else []
    words = ",".join([*given, *(f"{size}={value}" for size, value in sizes)])
    return f"{match['file']}:{match['kernel'] or ''}:{words}"


def path_of(name: str) -> Path:
    """Return the path of the file that an input's name contains: `FILE.py` for `FILE.py:KERNEL`."""
    match = None if Path(name).exists() else KERNEL_OF_FILE.fullmatch(name)
    return Path(name if match is None else match["file"])


def _without_sizes(argv: Sequence[str], parser: CommandParser) -> tuple[list[str], Sizes]:
    """Return arguments without `--NAME VALUE` and `--NAME=VALUE` for names without an option, and these values.

    A word that begins with `--`, or names a kernel of a Python file, is not the value of the option before it.
    """
    from pyptx_ir.suggestions import close_names

    words, sizes = list[str](), Sizes()
    rest = list(reversed(argv))
    while rest:
        word = rest.pop()
        name, equals, value = word.partition("=")
        if not name.startswith("--") or not name[2:].isidentifier() or name in parser.option_names:
            words.append(word)
            continue
        if not equals and rest and not (rest[-1].startswith("--") or KERNEL_OF_FILE.fullmatch(rest[-1])):
            value = rest.pop()
        if value or not close_names(name, parser.option_names, most=1):
            sizes.append((name[2:], value))
        else:
            words.append(word)  # argparse reports the misspelled option
    return words, sizes


def _with_options(error: UnknownSizeError, parser: CommandParser) -> SourceError:
    """Return the error for an option that is neither a size of the kernel nor an option of the command."""
    from pyptx_ir.suggestions import close_names

    options = [name for name in parser.option_names if name.startswith("--")]
    close = close_names(f"--{error.name}", [*(f"--{name}" for name in error.known), *options], most=1)
    lists = (
        f"  sizes and parameters of {error.kernel}: {', '.join(f'--{name}' for name in error.known) or 'none'}\n"
        f"  options: {', '.join(options)}"
    )
    help = f"did you mean {close[0]}?\n{lists}" if close else lists.lstrip()
    return SourceError(f"unknown option --{error.name}" if set(close) & set(options) else error.message, help=help)
