"""The body of a long function, compiled piece by piece.

CPython takes some 170 bytes of memory for each byte of a function while it compiles it: 500 MB for 3 MB of calls. A
body can be cut between any two statements that no block holds; its pieces run one after the other, with the same
variables and lines.
"""

from __future__ import annotations

import builtins
import re
import sys
from itertools import pairwise
from types import CodeType
from typing import TYPE_CHECKING

from pyptx_ir.machinery import MARK

if TYPE_CHECKING:
    from collections.abc import Sequence

LINES = 2_000
"""A piece has so many lines, or more where a block holds them."""

_CALL = "run_piéces"  # what is printed is ASCII, and has no such name
_STATEMENT = re.compile(r"    (?!(?:else|elif|except|finally)\b)[^\s)\]}]")


class ReboundError(Exception):
    """A variable of the body has the name of one of the file: only a function tells them apart."""


class Pieces:
    """The lines of a definition; the first of them, so many, are its decorator and its header."""

    def __init__(self, lines: Sequence[str], header: int, file: str) -> None:
        """Compile them; raise SyntaxError, at its line, for what is no Python."""
        self._head = compile("\n".join(lines[:header]) + f" {_CALL}()", file, "exec")
        self._codes = [_compiled(lines, start, end, file) for start, end in pairwise(_cuts(lines, header))]

    def run(self, names: dict[str, object]) -> None:
        """Run the definition as `exec` would; raise whatever it raises, and ReboundError behind it."""
        rebound: set[str] = set()

        def run_body() -> None:
            arguments = sys._getframe(1).f_locals  # noqa: SLF001  the documented way to see one's caller
            variables = {"__builtins__": {**vars(builtins), **names}, **arguments}
            for code in self._codes:
                exec(code, variables)  # noqa: S102  what was printed here
            rebound.update((variables.keys() - arguments.keys() - {"__builtins__"}) & names.keys())

        around = {**names, _CALL: run_body, MARK: True}  # marked: statements are of the lines of the pieces
        exec(self._head, around)  # noqa: S102  as above
        names |= {name: value for name, value in around.items() if name not in {_CALL, MARK}}
        if rebound:
            raise ReboundError(*sorted(rebound))


def _cuts(lines: Sequence[str], header: int) -> list[int]:
    """Return where pieces begin, and where the last one ends."""
    cuts = [header]
    for at in range(header, len(lines)):
        if at >= cuts[-1] + LINES and _STATEMENT.match(lines[at]):
            cuts.append(at)
    return [*cuts, len(lines)]


def _compiled(lines: Sequence[str], start: int, end: int, file: str) -> CodeType:
    """Compile statements of a body, with the lines and columns that they have in all of it."""
    try:
        code = compile("\n".join(["if True:", *lines[start:end]]), file, "exec")
    except SyntaxError as error:
        error.lineno = start + (error.lineno or 1) - 1
        raise
    return _moved(code, start - 1)


def _moved(code: CodeType, lines: int) -> CodeType:
    """Return code further down: all its lines count from its first."""
    constants = tuple([_moved(each, lines) if isinstance(each, CodeType) else each for each in code.co_consts])
    return code.replace(co_firstlineno=code.co_firstlineno + lines, co_consts=constants)
