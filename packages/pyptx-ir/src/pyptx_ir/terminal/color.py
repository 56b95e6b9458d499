"""Colors of messages, as ANSI escape sequences (ECMA-48, "Select graphic rendition")."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Final

from pyptx_ir.terminal.files import PlainText

if TYPE_CHECKING:
    from typing import TextIO

_CODES: Final = {
    "error": "1;31",
    "warning": "1;33",
    "note": "1;36",
    "help": "1;32",
    "heading": "1",
    "name": "36",
    "removed": "31",
    "added": "32",
    "reason": "33",
}
STYLES: Final = tuple(_CODES)
"""Names of the styles."""
_MESSAGE: Final = re.compile(
    r"^(?:pyptx [\w-]+: |\S+:\d+:\d+: )?"
    r"(?:(?P<error>error(?:\[[\w-]+\])?:)|(?P<warning>warning(?:\[[\w-]+\])?:)|(?P<note>note(?:\[[\w-]+\])?:))"
    r"|^[ \t]*(?:(?P<help>help:)|(?P<fact>note:)|(?P<mark>\^+)$)",
    re.MULTILINE,
)
_HELP: Final = re.compile(r"^(?P<heading>[a-z][a-z ]*:)|^  (?P<name>-\S(?:\S| (?! ))*)", re.MULTILINE)
_STYLES_OF_GROUPS: Final = {"fact": "note", "mark": "error"}
_SEQUENCE: Final = re.compile(r"\x1b\[[\d;]*m")


def colored(stream: TextIO) -> bool:
    """Return whether output to a stream gets colors.

    Terminals do, unless `TERM` is `dumb`. `FORCE_COLOR` gives colors to pipes, too, but not to the file of `--output`;
    `NO_COLOR` turns all colors off. Both variables count if they are not empty.
    """
    if os.environ.get("NO_COLOR") or isinstance(stream, PlainText):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


def painted(text: str, style: str) -> str:
    """Return a text in one of `STYLES`."""
    return f"\x1b[{_CODES[style]}m{text}\x1b[m"


def styled(text: str, style: str, stream: TextIO) -> str:
    """Return a text in one of `STYLES` if `stream`, where it will be written, gets colors."""
    return painted(text, style) if colored(stream) else text


def plain(text: str) -> str:
    """Return a text without styles."""
    return _SEQUENCE.sub("", text)


def write(text: str, stream: TextIO | None = None) -> None:
    """Write messages to a stream (default: standard output).

    If the stream gets colors, these parts have them: severities with their rules, `help:`, `note:`, and the marks below
    an excerpt.
    """
    _write(text, stream or sys.stdout, _MESSAGE)


def write_help(text: str, stream: TextIO | None = None) -> None:
    """Write the help of a command to a stream; if it gets colors, headings and options have them."""
    _write(text, stream or sys.stdout, _HELP)


def _write(text: str, stream: TextIO, parts: re.Pattern[str]) -> None:
    stream.write(parts.sub(_highlighted, text) if colored(stream) else text)


def _highlighted(match: re.Match[str]) -> str:
    group = match.lastgroup or ""
    start = match.start(group) - match.start()
    return match[0][:start] + painted(match[group], _STYLES_OF_GROUPS.get(group, group))
