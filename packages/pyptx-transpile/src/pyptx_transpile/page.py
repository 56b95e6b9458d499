"""Lines of Python, and which claim each of them is of."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyptx_transpile.layout import WIDTH, lines, parsed

if TYPE_CHECKING:
    from collections.abc import Generator

    from pyptx_transpile.layout import Expression
    from pyptx_transpile.plan import Claim


class Page:
    """The lines that were printed, top down; `owners` has the innermost claim of each, None for plain statements."""

    def __init__(self, indent: int = 0, width: int | None = WIDTH) -> None:
        """Begin an empty page, indented by so many blocks; without a width, no line is broken."""
        self._width = width
        self.lines: list[str] = []
        self.owners: list[Claim | None] = []
        self.indent = indent
        self._owner: Claim | None = None

    def line(self, text: str) -> None:
        """Print a line that fits, or cannot be broken."""
        self.lines.append("    " * self.indent + text)
        self.owners.append(self._owner)

    def say(self, expression: Expression, before: str = "", behind: str = "") -> None:
        """Print a statement that is an expression, on as many lines as it takes."""
        if self._width is None:
            self.line(f"{before}{expression}{behind}")
            return
        for text in lines(expression, self.indent, before, behind):
            self.lines.append(text)
            self.owners.append(self._owner)

    def rebroken(self, line: str) -> None:
        """Print a line that was printed on a page without a width, with its own margin."""
        text = line.lstrip(" ")
        blocks = (len(line) - len(text)) // 4
        self.indent += blocks
        before, call = parsed(text)
        self.say(call, before=before)
        self.indent -= blocks

    def space(self, count: int) -> None:
        """Leave lines blank."""
        self.lines += [""] * count
        self.owners += [self._owner] * count

    @contextmanager
    def block(self, header: Expression, before: str = "", behind: str = "") -> Generator[None]:
        """Print `header:` and what is printed meanwhile as its block, `pass` if that is nothing."""
        self.say(header, before, f"{behind}:")
        printed = len(self.lines)
        self.indent += 1
        yield
        if len(self.lines) == printed:
            self.line("pass")
        self.indent -= 1

    @contextmanager
    def of(self, claim: Claim | None) -> Generator[None]:
        """Let what is printed meanwhile be a claim's."""
        before, self._owner = self._owner, claim
        yield
        self._owner = before

    def text(self) -> str:
        """Return the lines."""
        return "\n".join(self.lines) + "\n" if self.lines else ""
