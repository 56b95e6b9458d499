"""Texts that other programs read, byte for byte, and highlighted code on a terminal."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Final

from pyptx_ir.terminal.color import colored

_MOST: Final = 200_000  # characters; highlighting longer code takes seconds


def write_code(text: str, language: str) -> None:
    """Write code to standard output, as `write_bytes_of` does.

    On a terminal with colors, the code is highlighted by Pygments, which comes with `pyptx[rich]`. In files and pipes
    it never is, because other programs read it. `language` is a name of a lexer: `pyptx` for PTX, or `python`.
    """
    if len(text) <= _MOST and sys.stdout.isatty() and colored(sys.stdout) and find_spec("pygments") is not None:
        text = _highlighted(text, language)
    write_bytes_of(text)


def write_bytes_of(text: str) -> None:
    """Write a text to standard output without a change; bytes that were not UTF-8 are written as they were read.

    A standard output without bytes, such as that of a notebook or a `StringIO`, gets the text.
    """
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(text)
    else:
        buffer.write(text.encode("utf-8", "surrogateescape"))


def _highlighted(text: str, language: str) -> str:
    from pygments import highlight
    from pygments.formatters import TerminalFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:  # pyptx-ir is on the path but not installed, so that Pygments does not find its lexer
        return text
    return highlight(text, lexer, TerminalFormatter())
