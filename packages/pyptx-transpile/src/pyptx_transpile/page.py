"""Lines of Python, and which claim each of them is of."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyptx_transpile.layout import WIDTH, assigned, call, lines, parsed

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from pyptx_transpile.layout import Expression
    from pyptx_transpile.plan import Claim


class Page:
    """The lines that were printed, top down; `owners` has the innermost claim of each, None for plain statements.

    `folded` are the claims that say in one text what others claim in each of their turns. By the claim that gives
    names, `bound` has these and what they should be given, where that is what a call returns, and `counted` how the
    header of a loop begins that gives one to its counter, with another header that does so whatever it counts in.
    """

    def __init__(self, indent: int = 0, width: int | None = WIDTH, owner: Claim | None = None) -> None:
        """Begin an empty page, indented by so many blocks; without a width, no line is broken."""
        self._width = width
        self.lines: list[str] = []
        self.owners: list[Claim | None] = []
        self.folded: set[Claim] = set()
        self.bound: dict[Claim, list[tuple[str, str]]] = {}
        self.counted: dict[Claim, tuple[str, str]] = {}
        self.indent = indent
        self.owner: Claim | None = owner

    def line(self, text: str) -> None:
        """Print a line that fits, or cannot be broken."""
        self.lines.append("    " * self.indent + text)
        self.owners.append(self.owner)

    def say(self, expression: Expression, before: str = "", behind: str = "") -> None:
        """Print a statement that is an expression, on as many lines as it takes."""
        whole = f"{before}{expression}{behind}"
        if self._width is None or 4 * self.indent + len(whole) <= self._width:
            self.line(whole)
            return
        for text in lines(expression, self.indent, before, behind):
            self.lines.append(text)
            self.owners.append(self.owner)

    def assign(self, name: str, value: str) -> None:
        """Print an assignment."""
        if self._width is None or 4 * self.indent + len(f"{name} = {value}") <= self._width:
            self.line(f"{name} = {value}")
        else:
            expression, behind = assigned(value)
            self.say(expression, f"{name} = ", behind)

    def bind(self, name: str, said: Expression, element: str) -> None:
        """Print a call that gives a name to what it returns, which is a register that is written otherwise, too."""
        self.say(said, f"{name} = ")
        self._bind([(name, element)])

    def bind_several(self, said: Expression, bound: Sequence[tuple[str, str]], before: str = "") -> None:
        """Print a call that gives names to arguments of it, or `before` it to its results; note what they should be."""
        self.say(said, before)
        self._bind(bound)

    def _bind(self, bound: Sequence[tuple[str, str]]) -> None:
        if self.owner is not None and bound:
            self.bound.setdefault(self.owner, []).extend(bound)

    def count(self, beginning: str, other: str) -> None:
        """Note how the header of a loop begins whose counter has a name, and one that gives it whatever else."""
        if self.owner is not None:
            self.counted[self.owner] = beginning, other

    def naming(self) -> list[Claim]:
        """Return the claims that give names to registers."""
        return [*self.bound, *self.counted]

    def without_returns(self, checked: str) -> list[str]:
        """Return the lines, in which names do not depend on what calls return: so each of them is right by itself.

        A function that is called `checked` is handed the number of the claim that gives a name, or several, what it
        gives that to, and what it should; it returns the latter.
        """
        found = list(self.lines)
        last = {owner: at for at, owner in enumerate(self.owners) if owner is not None}
        for number, (claim, names) in enumerate(self.bound.items()):
            for name, element in names:
                found[last[claim]] += f"; {name} = {checked}({number}, ({name}), {element})"
        for claim, (beginning, other) in self.counted.items():
            at = self.owners.index(claim)
            while not found[at].lstrip(" ").startswith(beginning):
                at = self.owners.index(claim, at + 1)
            margin = " " * (len(found[at]) - len(found[at].lstrip(" ")))
            end = at
            while not (found[end].startswith(margin) and found[end].endswith(":") and found[end][len(margin)] != " "):
                end += 1  # it may take several lines
            found[at : end + 1] = [margin + other, *[""] * (end - at)]
        return found

    def call(self, function: str, arguments: Sequence[str]) -> None:
        """Print a statement that is a call."""
        whole = f"{function}({', '.join(arguments)})"
        if self._width is None or 4 * self.indent + len(whole) <= self._width:
            self.line(whole)
        else:
            self.say(call(function, arguments))

    def rebroken(self, line: str) -> None:
        """Print a line that was printed on a page without a width, with its own margin."""
        text = line.lstrip(" ")
        blocks = (len(line) - len(text)) // 4
        self.indent += blocks
        if text.startswith("#"):
            self.line(text)
        else:
            before, expression, behind = parsed(text)
            self.say(expression, before, behind)
        self.indent -= blocks

    def insert(self, at: int, line: str) -> None:
        """Put a line that is no claim's in front of another one, or behind the last."""
        self.lines.insert(at, line)
        self.owners.insert(at, None)

    def space(self, count: int) -> None:
        """Leave lines blank."""
        self.lines += [""] * count
        self.owners += [self.owner] * count

    @contextmanager
    def block(self, header: Expression, before: str = "", behind: str = "") -> Generator[None]:
        """Print `header:` and what is printed meanwhile as its block, `pass` if that is nothing."""
        self.say(header, before, behind=f"{behind}:")
        printed = len(self.lines)
        self.indent += 1
        yield
        if len(self.lines) == printed:
            self.line("pass")
        self.indent -= 1

    @contextmanager
    def of(self, claim: Claim | None) -> Generator[None]:
        """Let what is printed meanwhile be a claim's."""
        before, self.owner = self.owner, claim
        yield
        self.owner = before

    def unindented(self) -> list[str]:
        """Return the lines of a page that has as many blocks around it as in the end, without the margin of these."""
        margin = 4 * self.indent
        return [line[margin:] for line in self.lines]

    def text(self) -> str:
        """Return the lines."""
        return "\n".join(self.lines) + "\n" if self.lines else ""
