"""The code blocks of a Markdown page, and how they are run.

The Python blocks of a page run in order, in one namespace, under the page's own name and line numbers, so that a
traceback (or an error of pyptx, which shows the user's line) points into the page. A block of another language whose
preceding paragraph ends in "prints:" is the output of the Python block before it, and is compared word for word.
"""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    """Return the fenced blocks of a page, in order."""
    found: list[Block] = []
    above = ""
    lines = enumerate(page.splitlines(), 1)
    for number, line in lines:
        fence = FENCE.match(line)
        if fence is None:
            above = line.strip() or above
            continue
        indent = len(fence["indent"])
        body: list[str] = []
        for _, inner in lines:
            if inner.strip() == "```":
                break
            body.append(inner[indent:])
        found.append(Block(fence["language"], "\n".join(body) + "\n", number + 1, above))
        above = ""
    return found


def run(path: Path, not_run: frozenset[str] = frozenset()) -> int:
    """Run a page's Python blocks and compare the outputs it shows; return how many blocks ran.

    Blocks whose first line is in `not_run` are left out.
    """
    namespace: dict[str, Any] = {"__name__": f"page_{path.stem}", "__file__": str(path)}
    printed = ""
    count = 0
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.is_output:
            assert printed.rstrip("\n") == block.text.rstrip("\n"), (
                f"{path.name}:{block.line}: this is not what is printed"
            )
        if block.language != "python" or block.text.splitlines()[0] in not_run:
            continue
        source = "\n" * (block.line - 1) + block.text
        with contextlib.redirect_stdout(io.StringIO()) as stdout:
            exec(compile(source, str(path), "exec"), namespace)  # noqa: S102 - the page's code is what is under test
        printed = stdout.getvalue()
        count += 1
    return count
