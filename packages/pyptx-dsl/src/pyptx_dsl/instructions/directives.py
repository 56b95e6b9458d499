"""Statements other than instructions: comments, scopes, directives; and the formatting of single statements."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.variables import constant, quotable
from pyptx_dsl.registers.texts import text as text_of
from pyptx_dsl.trace_context import active
from pyptx_dsl.tracing.deviations import Deviation
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from pyptx_ir.syntax.operands import Operand

__all__ = ["close_scope", "comment", "directive", "empty", "formatted", "open_scope"]

_WORD = re.compile(r"[@.$A-Za-z_][\w$.@]*\Z", re.ASCII)
_NAME = re.compile(r"(@@)?\w+\Z", re.ASCII)


def formatted(*, leading: str | None = None, text: str | None = None, unchecked: bool = False) -> None:
    r"""Set the formatting of the next statement: `ptx.formatted(leading="\n\n\t")`, then the statement.

    `leading` is the whitespace and comments before the statement, or before a `}` if that is next. `text` is the
    statement's source text from its first token to its last. `unchecked` disables the checks of instructions and
    declarations for the statement. Raise SpellingError, at the statement, if `text` does not parse as the same
    statement.
    """
    active("ptx.formatted").deviate(deviation(leading, text, unchecked=unchecked))


def deviation(leading: str | None, spelling: str | None, *, unchecked: bool) -> Deviation:
    """Return the formatting set by `ptx.formatted`; raise OperandError unless `leading` is whitespace and comments."""
    if spelling is not None:
        text_of("the source text of a statement", spelling)
    return Deviation(None if leading is None else trivia("leading", leading), spelling, unchecked)


def trivia(what: str, text: object) -> str:
    """Return `text` if it consists of whitespace and comments; else raise OperandError."""
    if not isinstance(text, str) or not _is_trivia(text):
        raise OperandError(
            f"{what} must be whitespace and comments, got {text!r}", help="write comments as // … or /* … */"
        )
    return text


@lru_cache(maxsize=1024)
def _is_trivia(leading_trivia: str) -> bool:
    from pyptx_ir.syntax import PtxSyntaxError, parse

    if not leading_trivia.strip():
        return True
    try:
        return not parse(leading_trivia).body
    except PtxSyntaxError:
        return False


def comment(text: str) -> None:
    """Emit `// text` on a line of its own, before the next statement; each line of `text` becomes one comment."""
    trace = active("ptx.comment")
    for line in comment_lines(text):
        trace.comment(line)


def comment_lines(text: object) -> list[str]:
    """Return the lines of a comment text; raise OperandError unless it is a string."""
    return text_of("a comment", text).splitlines() or [""]


def open_scope() -> None:
    """Emit a `{`, which `ptx.close_scope()` ends; `with ptx.scope():` does both.

    Use it for more than the 20 nested blocks that Python allows, and for scopes that one function opens and another
    closes. Manual: "Control Flow Instructions: {}".
    """
    active("ptx.open_scope").open()


def close_scope() -> None:
    """Emit the `}` of the innermost `ptx.open_scope()`; raise ControlFlowError if no scope is open."""
    active("ptx.close_scope").close_brace()


def empty() -> None:
    """Emit a `;`, a statement without effect."""
    active("ptx.empty").append(nodes.Empty())


def directive(name: str, *arguments: object, terminated: bool = True) -> None:
    """Emit `.name arguments;`: a directive that has no function, as in `ptx.directive("maxnreg", 32)`.

    Arguments are numbers, constant expressions and words (strings), and texts with their quotes, `'"text"'`.
    `terminated=False` omits the `;`. The deprecated debugging line is `@@DWARF`. Manual: "Directives".
    """
    active("ptx.directive").append(directive_node(name, arguments, terminated=terminated))


def directive_node(name: str, arguments: tuple[object, ...], *, terminated: bool) -> nodes.Directive:
    """Return the tree node `Directive` for `.name arguments;`, a directive without a node class of its own."""
    if not _NAME.match(text_of("the name of a directive", name)):
        raise OperandError(f"invalid directive name {name!r}", help='write the name without its dot: "maxnreg"')
    return nodes.Directive(name, tuple([_argument(each) for each in arguments]), terminated)


def _argument(value: object) -> Operand | str:
    if isinstance(value, str) and value[:1] == '"' == value[-1:] and len(value) > 1:
        return quotable(value[1:-1])
    return word(value) if isinstance(value, str) else constant(value)


@lru_cache(maxsize=4096)
def word(text: str) -> Operand:
    """Return the operand for a directive's argument text, in which names may begin with a dot: `.debug_str+4`."""
    if _WORD.match(text) and text != "WARP_SZ":
        return tree.Symbol(text)
    from pyptx_ir.syntax import PtxSyntaxError, parse_statements

    try:
        statements = parse_statements(f".b8 {text}")
    except PtxSyntaxError as error:
        help = error.help or "pass a number, a label, label+4, or a difference of labels"
        raise OperandError(f"invalid value {text!r}: {error.message}", help=help) from None
    match statements:
        case (nodes.SectionData(values=(operand,)),):
            return operand
        case _:
            raise OperandError(f"invalid value {text!r}", help="pass each argument as a separate value")
