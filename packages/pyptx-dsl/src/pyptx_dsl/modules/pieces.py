"""Bodies of long functions as text, which is compiled piece by piece.

CPython takes some 170 bytes of memory for each byte of Python while it reads a file: 500 MB for 3 MB of calls, whether
they are one function or many. For a text in it that is one byte. A body can be cut between any two statements that no
block holds; its pieces run one after the other, with the same variables, and with the lines that they have in the file.
"""

from __future__ import annotations

import re
from functools import wraps
from inspect import CO_VARARGS, signature
from itertools import pairwise
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

from pyptx_dsl.errors import CallError, OperandError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["in_pieces"]

_LINES = 2_000
"""A piece has so many lines, or more where a block holds them."""

_STATEMENT = re.compile(r"    (?!(?:else|elif|except|finally)\b)[^\s)\]}]")
_OPENING = "if True:"


def in_pieces(function: Callable[..., str]) -> Callable[..., None]:
    '''Make a function of one that returns the text of its body: `return r"""…"""`, whose lines are indented as a body.

    What is in the text sees the parameters and the names of the file, and errors are told at its lines. A file of a
    hundred thousand statements is imported in a few MB more than the text takes, where CPython would need GB. Write
    `@pyptx.in_pieces` below `@m.entry(…)`. Raise OperandError for a text that is not indented.
    '''
    if not isinstance(function, FunctionType):
        raise CallError(
            f"{function!r} is no function that returns the text of a body", hint="put @pyptx.in_pieces above a def"
        )

    @wraps(function)
    def body(*arguments: object) -> None:
        code = function.__code__
        taken = len(arguments) if code.co_flags & CO_VARARGS else code.co_argcount
        bound = signature(function).bind(*arguments[:taken])
        bound.apply_defaults()
        names = {**function.__globals__, **bound.arguments}
        for piece in _pieces(function(*bound.args), code):
            exec(piece, names)  # noqa: S102 - the user's own code

    return body


def _pieces(text: object, code: CodeType) -> Iterator[CodeType]:
    """Yield the pieces of the text that a function returns, compiled; raise SyntaxError, at its line, for no Python."""
    first, *lines = text.split("\n") if isinstance(text, str) else [""]
    if first or not lines or not _STATEMENT.match(lines[0]):
        raise OperandError(
            f"{code.co_qualname!r} returns no text of a body: its lines begin below the quotes, by four blanks",
            hint=f'def {code.co_name}(…):\n    return r"""\n    ptx.inst.ret()\n    """',
        )
    begin = max(line for _, _, line in code.co_lines() if line is not None) + 1  # behind `return r"""`
    for start, end in pairwise(_cuts(lines)):
        yield _compiled(lines[start:end], begin + start, code.co_filename)


def _cuts(lines: Sequence[str]) -> list[int]:
    """Return where pieces begin, and where the last one ends."""
    cuts = [0]
    for at, line in enumerate(lines):
        if at >= cuts[-1] + _LINES and _STATEMENT.match(line):
            cuts.append(at)
    return [*cuts, len(lines)]


def _compiled(lines: Sequence[str], begin: int, file: str) -> CodeType:
    """Compile statements of a body, with the lines and columns that they have in the file, from line `begin` on."""
    try:
        code = compile("\n".join([_OPENING, *lines]), file, "exec")
    except SyntaxError as error:
        error.lineno = (error.lineno or 1) + begin - 2
        raise
    return _moved(code, begin - 2)


def _moved(code: CodeType, lines: int) -> CodeType:
    """Return code further down: all its lines count from its first."""
    constants = tuple([_moved(each, lines) if isinstance(each, CodeType) else each for each in code.co_consts])
    return code.replace(co_firstlineno=code.co_firstlineno + lines, co_consts=constants)
