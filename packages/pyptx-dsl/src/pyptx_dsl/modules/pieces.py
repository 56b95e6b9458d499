"""Long function bodies as Python text, which is compiled and executed in pieces of many lines.

CPython needs about 170 bytes of memory per byte of Python that it compiles: 500 MB for 3 MB of calls, in one function
or many. Text in a string literal needs one byte of memory per byte. A body can be cut between any two statements at
its top level. The pieces run one after the other, with the same variables and with their line numbers in the file.
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

__all__ = ["text_body"]

_LINES = 2_000
"""Minimum Python lines per compiled piece; a piece ends only before a top-level statement."""

_STATEMENT = re.compile(r"    (?!(?:else|elif|except|finally)\b)[^\s)\]}]")
_OPENING = "if True:"


def text_body(function: Callable[..., str]) -> Callable[..., None]:
    '''Convert a function that returns a body's text (`return r"""…"""`, with lines indented like a body) to a body.

    The text has access to the parameters and to the globals of the file; errors are reported at its lines. A file of a
    hundred thousand statements is imported with a few MB of memory more than its text has, whereas CPython would need
    gigabytes. Write `@pyptx.text_body` below `@m.entry(…)`. Raises OperandError for a text that is not indented.
    '''
    if not isinstance(function, FunctionType):
        raise CallError(
            f"expected a function that returns the text of a body, got {function!r}",
            help="use @pyptx.text_body as a decorator of a def",
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
    """Yield the compiled pieces of a body's text; raise SyntaxError, at its line, for invalid Python."""
    first, *lines = text.split("\n") if isinstance(text, str) else [""]
    if first or not lines or not _STATEMENT.match(lines[0]):
        raise OperandError(
            f"{code.co_qualname!r} must return a body text whose lines start below the quotes, indented by four spaces",
            help=f'def {code.co_name}(…):\n    return r"""\n    ptx.inst.ret()\n    """',
        )
    begin = max(line for _, _, line in code.co_lines() if line is not None) + 1  # line number of the text's start
    for start, end in pairwise(_cuts(lines)):
        yield _compiled(lines[start:end], begin + start, code.co_filename)


def _cuts(lines: Sequence[str]) -> list[int]:
    """Return the indices of the lines at which separately compiled pieces start, and the number of lines."""
    cuts = [0]
    for at, line in enumerate(lines):
        if at >= cuts[-1] + _LINES and _STATEMENT.match(line):
            cuts.append(at)
    return [*cuts, len(lines)]


def _compiled(lines: Sequence[str], begin: int, file: str) -> CodeType:
    """Compile statements of a body, with their line and column numbers in the file; `begin` is the first line."""
    try:
        code = compile("\n".join([_OPENING, *lines]), file, "exec")
    except SyntaxError as error:
        error.lineno = (error.lineno or 1) + begin - 2
        raise
    return _moved(code, begin - 2)


def _moved(code: CodeType, lines: int) -> CodeType:
    """Return a code object with all its line numbers increased by `lines`."""
    constants = tuple([_moved(each, lines) if isinstance(each, CodeType) else each for each in code.co_consts])
    return code.replace(co_firstlineno=code.co_firstlineno + lines, co_consts=constants)
