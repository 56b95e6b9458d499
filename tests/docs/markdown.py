"""Code blocks of a Markdown page, and how they are run.

The Python blocks of a page run in order, in one namespace, with the page's own name and line numbers. So a traceback,
or an error or finding of pyptx that shows the user's line, points into the page. A block of another language whose
preceding paragraph ends in "prints:" is the output of the Python block before it, verbatim. Plugins that a page
registers are unregistered after the page.

A page with the comment `<!-- continues OTHER.md -->` continues the code of that page, which is executed before it.
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

CONTINUES = re.compile(r"(?m)^<!-- continues ([\w-]+\.md) -->$")
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[\w+-]*).*$")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: language, text, number of its first text line (from 1), and the line of prose above it."""

    language: str
    text: str
    line: int
    above: str

    @property
    def is_output(self) -> bool:
        """Whether the block is the expected output of the Python block before it."""
        return self.language != "python" and self.above.endswith("prints:")


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page, in order; raise ValueError for a block without a language or an end.

    After a surplus fence, prose would be parsed as blocks, and code as prose, which is not run.
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
    """Result of running a page's code: number of Python blocks run, and each output block with the actual output."""

    count: int
    outputs: tuple[tuple[Block, str], ...]

    def stale(self) -> list[tuple[Block, str]]:
        """Return the output blocks whose text differs from the actual output."""
        return [(block, printed) for block, printed in self.outputs if block.text.rstrip("\n") != printed.rstrip("\n")]


@contextlib.contextmanager
def own_plugins() -> Iterator[None]:
    """Unregister, after the body, the plugins that the body has registered."""
    before = manager().loaded()
    try:
        yield
    finally:
        if manager().loaded() != before:
            manager.cache_clear()
            forget_answers()


def continued(path: Path) -> list[Path]:
    """Return the pages whose code a page continues, first to last: each names its predecessor in a comment."""
    found = CONTINUES.search(path.read_text(encoding="utf-8"))
    return [] if found is None else [*continued(path.parent / found[1]), path.parent / found[1]]


def _blocks(path: Path) -> list[Block]:
    """Return the blocks of a page, and register its lines in `linecache`, which tracebacks read."""
    text = path.read_text(encoding="utf-8")
    linecache.cache[path.name] = (len(text), None, text.splitlines(keepends=True), path.name)
    return blocks(text)


def _printed(block: Block, path: Path, namespace: dict[str, Any]) -> str:
    """Execute a Python block of a page, and return its output."""
    source = "\n" * (block.line - 1) + block.text
    with contextlib.redirect_stdout(io.StringIO()) as stdout:
        exec(compile(source, path.name, "exec", dont_inherit=True), namespace)  # noqa: S102 - the page's code is under test
    return stdout.getvalue()


@own_plugins()
def run(path: Path, not_run: frozenset[str] = frozenset()) -> Outcome:
    """Run a page's Python blocks, except those whose first line is in `not_run`."""
    namespace: dict[str, Any] = {"__name__": f"page_{path.stem}", "__file__": path.name}
    for page in continued(path):
        for block in _blocks(page):
            if block.language == "python":
                _printed(block, page, namespace)
    printed = ""
    count = 0
    outputs: list[tuple[Block, str]] = []
    for block in _blocks(path):
        if block.is_output:
            outputs.append((block, printed))
        if block.language != "python" or block.text.splitlines()[0] in not_run:
            continue
        printed = _printed(block, path, namespace)
        count += 1
    return Outcome(count, tuple(outputs))


def updated(page: str, outcome: Outcome) -> str:
    """Return the page's text with the actual output in its output blocks."""
    lines = page.splitlines()
    for block, printed in reversed(outcome.outputs):
        start = block.line - 1
        lines[start : start + block.text.rstrip("\n").count("\n") + bool(block.text.strip())] = printed.rstrip(
            "\n"
        ).splitlines()
    return "\n".join(lines) + "\n"
