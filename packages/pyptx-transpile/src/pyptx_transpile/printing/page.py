"""Lines of Python source, each with the rewrite that printed it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyptx_transpile.printing.layout import WIDTH, assigned, call, lines, parsed

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from pyptx_transpile.planning.plan import Rewrite
    from pyptx_transpile.printing.layout import Expression


class Page:
    """Printed Python lines in order; `owners` has the innermost rewrite of each line, None for plain statements.

    - `folded`: rewrites whose iterations are printed as one text, which includes the rewrites inside them.
    - `bound`: per rewrite that binds names to results of a call: each name, and the value expected for it.
    - `counted`: per rewrite that names a loop counter: the start of the loop's header, and another header that binds
      the name without counting.
    """

    def __init__(self, indent: int = 0, width: int | None = WIDTH, owner: Rewrite | None = None) -> None:
        """Create an empty page, indented by `indent` Python blocks; without a width, no line is broken."""
        self._width = width
        self.lines: list[str] = []
        self.owners: list[Rewrite | None] = []
        self.folded: set[Rewrite] = set()
        self.bound: dict[Rewrite, list[tuple[str, str]]] = {}
        self.counted: dict[Rewrite, tuple[str, str]] = {}
        self.indent = indent
        self.owner: Rewrite | None = owner

    def line(self, text: str) -> None:
        """Print a line that needs no break, or cannot be broken."""
        self.lines.append("    " * self.indent + text)
        self.owners.append(self.owner)

    def say(self, expression: Expression, before: str = "", behind: str = "") -> None:
        """Print an expression statement, on as many lines as it needs."""
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
        """Print a call whose result is bound to `name`; `element` is the result register as an element of its group."""
        self.say(said, f"{name} = ")
        self._bind([(name, element)])

    def bind_several(self, said: Expression, bound: Sequence[tuple[str, str]], before: str = "") -> None:
        """Print a call that binds several names, in its arguments or by the text `before`; record expected values."""
        self.say(said, before)
        self._bind(bound)

    def _bind(self, bound: Sequence[tuple[str, str]]) -> None:
        if self.owner is not None and bound:
            self.bound.setdefault(self.owner, []).extend(bound)

    def count(self, beginning: str, other: str) -> None:
        """Record the header of a loop that names its counter, and the header that replaces it in verification."""
        if self.owner is not None:
            self.counted[self.owner] = beginning, other

    def naming(self) -> list[Rewrite]:
        """Return the rewrites that bind names to results of calls."""
        return [*self.bound, *self.counted]

    def without_returns(self, checked: str) -> list[str]:
        """Return the lines with expected values instead of call results bound to names, to verify each rewrite alone.

        A function called `checked` gets the index of the rewrite, the name or names that it bound, and their expected
        values; it returns the expected values.
        """
        found = list(self.lines)
        last = {owner: at for at, owner in enumerate(self.owners) if owner is not None}
        for number, (rewrite, names) in enumerate(self.bound.items()):
            for name, element in names:
                found[last[rewrite]] += f"; {name} = {checked}({number}, ({name}), {element})"
        for rewrite, (beginning, other) in self.counted.items():
            at = self.owners.index(rewrite)
            while not found[at].lstrip(" ").startswith(beginning):
                at = self.owners.index(rewrite, at + 1)
            margin = " " * (len(found[at]) - len(found[at].lstrip(" ")))
            end = at
            while not (found[end].startswith(margin) and found[end].endswith(":") and found[end][len(margin)] != " "):
                end += 1  # a `with` block's header may have several lines; find its last one
            found[at : end + 1] = [margin + other, *[""] * (end - at)]
        return found

    def call(self, function: str, arguments: Sequence[str]) -> None:
        """Print a call as a statement."""
        whole = f"{function}({', '.join(arguments)})"
        if self._width is None or 4 * self.indent + len(whole) <= self._width:
            self.line(whole)
        else:
            self.say(call(function, arguments))

    def rebroken(self, line: str) -> None:
        """Print a line from a page without a width, broken to this page's width; the line contains its indentation."""
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
        """Insert a line without a rewrite before index `at`."""
        self.lines.insert(at, line)
        self.owners.insert(at, None)

    def space(self, count: int) -> None:
        """Append blank lines."""
        self.lines += [""] * count
        self.owners += [self.owner] * count

    @contextmanager
    def block(self, header: Expression, before: str = "", behind: str = "") -> Generator[None]:
        """Print `header:` and indent the lines printed in the `with` body; print `pass` if there are none."""
        self.say(header, before, behind=f"{behind}:")
        printed = len(self.lines)
        self.indent += 1
        yield
        if len(self.lines) == printed:
            self.line("pass")
        self.indent -= 1

    @contextmanager
    def of(self, rewrite: Rewrite | None) -> Generator[None]:
        """Record a rewrite as the owner of the lines printed in the body of the `with` statement."""
        before, self.owner = self.owner, rewrite
        yield
        self.owner = before

    def unindented(self) -> list[str]:
        """Return the lines without the indentation of the page itself."""
        margin = 4 * self.indent
        return [line[margin:] for line in self.lines]

    def text(self) -> str:
        """Return the lines of the page as text."""
        return "\n".join(self.lines) + "\n" if self.lines else ""
