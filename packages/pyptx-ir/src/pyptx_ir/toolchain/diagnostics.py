"""Parse messages of ptxas.

A message about the text reads `ptxas FILE, line N; error   : TEXT` (N counts physical lines; ptxas reports no columns).
A message about a kernel or the whole run reads `ptxas error   : TEXT`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(
    r"^ptxas(?: (?P<file>.*), line (?P<line>\d+);)? (?P<severity>error|fatal|warning|info) *: (?P<text>.*)$"
)
# Ends of ptxas messages that contain a line number of the PTX; line 0 means no line.
_ON_LINE = re.compile(
    r" (?:encountered on|in the function '[^']*' in|injected in around) line ([1-9]\d*)(?: by compiler .*)?$"
)
_CODE = re.compile(r"^\((?P<code>C\d+)\) *")
_QUOTED = re.compile(r"'([^']+)'")
# Statistics that `-v` reports in every run; `resources` parses them.
_STATISTICS = re.compile(
    r"^(\d+ bytes (gmem|cmem)|Compiling entry function|Function properties for|Used \d+ registers|Compile time =)"
)
_ABORTED = "Ptx assembly aborted due to errors"


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """A message: `severity` is error, fatal, warning or info; `line` counts from 1; `code` is NVIDIA's (C7508)."""

    severity: str
    message: str
    line: int | None = None
    code: str | None = None

    @property
    def is_error(self) -> bool:
        """Whether the message stops assembly."""
        return self.severity in ("error", "fatal")


def parse_log(log: str) -> tuple[ToolMessage, ...]:
    """Return every message of ptxas's output except its statistics and its last line, "aborted"."""
    found: list[ToolMessage] = []
    for said in log.splitlines():
        match = _LINE.match(said)
        if match is None or match["text"] == _ABORTED or _STATISTICS.match(match["text"]):
            continue
        text = match["text"]
        code = _CODE.match(text)
        in_words = _ON_LINE.search(text)
        line = match["line"] or (in_words[1] if in_words else None)
        found.append(
            ToolMessage(
                match["severity"],
                text[code.end() :] if code else text,
                int(line) if line else None,
                code["code"] if code else None,
            )
        )
    return tuple(found)


def locate(text: str, diagnostic: ToolMessage) -> str | None:
    """Return the numbered PTX line of a message, with a caret under the first word that the message quotes."""
    lines = text.split("\n")
    if diagnostic.line is None or not 0 < diagnostic.line <= len(lines):
        return None
    source = lines[diagnostic.line - 1].rstrip("\r").expandtabs(4)
    prefix = f"line {diagnostic.line}: "
    for quoted in _QUOTED.findall(diagnostic.message):
        column = source.find(quoted)
        if column >= 0:
            return f"{prefix}{source}\n{' ' * (len(prefix) + column)}{'^' * len(quoted)}"
    indent = len(source) - len(source.lstrip())
    return f"{prefix}{source}\n{' ' * (len(prefix) + indent)}^"
