"""The code blocks of a Markdown page, and how they are run.

The Python blocks of a page run in order, in one namespace, under the page's own name and line numbers, so that a
traceback (or an error or finding of pyptx, which shows the user's line) points into the page. A block of another
language whose preceding paragraph ends in "prints:" is the output of the Python block before it, word for word.
A plugin that a page registers is known to that page alone.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyptx_ir.plugins.caches import forget_answers
from pyptx_ir.plugins.manager import manager

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[\w+-]*).*$")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its text, the line (from 1) where that begins, and the line of prose above."""

    language: str
    text: str
    line: int
    above: str

    @property
    def is_output(self) -> bool:
        """Whether the block shows what the Python block before it prints."""
        return self.language != "python" and self.above.endswith("prints:")


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page, in order; raise ValueError for one that names no language or never ends.

    A fence too many turns the prose behind it into blocks, and the code into prose that nobody runs.
    """
    found: list[Block] = []
    above = ""
    lines = enumerate(page.splitlines(), 1)
    for number, line in lines:
        fence = FENCE.match(line)
        if fence is None:
            above = line.strip() or above
            continue
        if not fence["language"]:
            raise ValueError(f"line {number}: a block begins without its language")
        indent = len(fence["indent"])
        body: list[str] = []
        for _, inner in lines:
            if inner.strip() == "```":
                break
            body.append(inner[indent:])
        else:
            raise ValueError(f"line {number}: the block does not end")
        found.append(Block(fence["language"], "\n".join(body) + "\n", number + 1, above))
        above = ""
    return found


@dataclass(frozen=True, slots=True)
class Outcome:
    """What running a page came to: how many Python blocks ran, and each output block with what was printed."""

    count: int
    outputs: tuple[tuple[Block, str], ...]

    def stale(self) -> list[tuple[Block, str]]:
        """Return the output blocks that do not show what was printed."""
        return [(block, printed) for block, printed in self.outputs if block.text.rstrip("\n") != printed.rstrip("\n")]


@contextlib.contextmanager
def own_plugins() -> Iterator[None]:
    """Forget afterwards what has been registered meanwhile with the plugins of the process."""
    before = manager().loaded()
    try:
        yield
    finally:
        if manager().loaded() != before:
            manager.cache_clear()
            forget_answers()


@own_plugins()
def run(path: Path, not_run: frozenset[str] = frozenset()) -> Outcome:
    """Run a page's Python blocks, but for those whose first line is in `not_run`."""
    text = path.read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": f"page_{path.stem}", "__file__": path.name}
    linecache.cache[path.name] = (len(text), None, text.splitlines(keepends=True), path.name)
    printed = ""
    count = 0
    outputs: list[tuple[Block, str]] = []
    for block in blocks(text):
        if block.is_output:
            outputs.append((block, printed))
        if block.language != "python" or block.text.splitlines()[0] in not_run:
            continue
        source = "\n" * (block.line - 1) + block.text
        with contextlib.redirect_stdout(io.StringIO()) as stdout:
            exec(compile(source, path.name, "exec", dont_inherit=True), namespace)  # noqa: S102 - the page's code is what is under test
        printed = stdout.getvalue()
        count += 1
    return Outcome(count, tuple(outputs))


def updated(page: str, outcome: Outcome) -> str:
    """Return the page with its output blocks showing what was printed."""
    lines = page.splitlines()
    for block, printed in reversed(outcome.outputs):
        start = block.line - 1
        lines[start : start + block.text.rstrip("\n").count("\n") + bool(block.text.strip())] = printed.rstrip(
            "\n"
        ).splitlines()
    return "\n".join(lines) + "\n"
