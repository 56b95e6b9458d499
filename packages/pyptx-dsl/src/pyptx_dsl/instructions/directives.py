"""What stands between instructions: comments, scopes, directives, and what is said of one statement alone."""

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

__all__ = ["close_scope", "comment", "directive", "empty", "open_scope", "written"]

_WORD = re.compile(r"[@.$A-Za-z_][\w$.@]*\Z", re.ASCII)
_NAME = re.compile(r"(@@)?\w+\Z", re.ASCII)


def written(*, lead: str | None = None, spelling: str | None = None, unchecked: bool = False) -> None:
    r"""Say how the next statement is written: `ptx.written(lead="\n\n\t")`, then the statement.

    `lead` is the white space and the comments in front of it (of a `}` too, where one comes next), `spelling` its
    text from its first token to its last. `unchecked` lets a statement pass that the checks of
    instructions and declarations refuse. Raise SpellingError, at the statement, for a spelling that does not read as
    the same statement.
    """
    active("ptx.written").deviate(deviation(lead, spelling, unchecked=unchecked))


def deviation(lead: str | None, spelling: str | None, *, unchecked: bool) -> Deviation:
    """Return what is said of a statement; raise OperandError for a lead that is more than trivia."""
    if spelling is not None:
        text_of("the spelling of a statement", spelling)
    return Deviation(None if lead is None else trivia("lead", lead), spelling, unchecked)


def trivia(what: str, text: object) -> str:
    """Return a text of white space and comments; raise OperandError for any other."""
    if not isinstance(text, str) or not _is_trivia(text):
        raise OperandError(f"{what}={text!r} is not white space and comments", hint="comments are // … or /* … */")
    return text


@lru_cache(maxsize=1024)
def _is_trivia(lead: str) -> bool:
    from pyptx_ir.syntax import PtxSyntaxError, parse

    if not lead.strip():
        return True
    try:
        return not parse(lead).body
    except PtxSyntaxError:
        return False


def comment(text: str) -> None:
    """Put `// text` on a line of its own, in front of the next statement; each line of `text` is one."""
    trace = active("ptx.comment")
    for line in comment_lines(text):
        trace.comment(line)


def comment_lines(text: object) -> list[str]:
    """Return the lines of a comment; raise OperandError for what is no text."""
    return text_of("a comment", text).splitlines() or [""]


def open_scope() -> None:
    """Put a `{` here, which `ptx.close_scope()` ends; `with ptx.scope():` is both.

    For what nests deeper than Python allows, 20 blocks in one another, and for scopes that one function opens and
    another one closes. Manual: "Control Flow Instructions: {}".
    """
    active("ptx.open_scope").open()


def close_scope() -> None:
    """Put the `}` of the innermost `ptx.open_scope()` here; raise ControlFlowError when none is open."""
    active("ptx.close_scope").close_brace()


def empty() -> None:
    """Put a `;` here, a statement without effect."""
    active("ptx.empty").append(nodes.Empty())


def directive(name: str, *arguments: object, terminated: bool = True) -> None:
    """Put `.name arguments;` here: a directive without a function of its own, as `ptx.directive("maxnreg", 32)`.

    Arguments are numbers, constant expressions and words (strings), and texts with their quotes, `'"text"'`.
    `terminated=False` leaves the `;` out. Lines of early debuggers are called `@@DWARF`. Manual: "Directives".
    """
    active("ptx.directive").append(directive_node(name, arguments, terminated=terminated))


def directive_node(name: str, arguments: tuple[object, ...], *, terminated: bool) -> nodes.Directive:
    """Return a directive that has no node of its own."""
    if not _NAME.match(text_of("the name of a directive", name)):
        raise OperandError(f"{name!r} is no name of a directive", hint='write it without its dot: "maxnreg"')
    return nodes.Directive(name, tuple([_argument(each) for each in arguments]), terminated)


def _argument(value: object) -> Operand | str:
    if isinstance(value, str) and value[:1] == '"' == value[-1:] and len(value) > 1:
        return quotable(value[1:-1])
    return word(value) if isinstance(value, str) else constant(value)


@lru_cache(maxsize=4096)
def word(text: str) -> Operand:
    """Return what a text stands for where words may have dots, as in directives and sections: `.debug_str+4`."""
    if _WORD.match(text) and text != "WARP_SZ":
        return tree.Symbol(text)
    from pyptx_ir.syntax import PtxSyntaxError, parse_statements

    try:
        statements = parse_statements(f".b8 {text}")
    except PtxSyntaxError as error:
        hint = error.hint or "a number, a label, label+4, or a difference of labels"
        raise OperandError(f"{text!r} is no value: {error.message}", hint=hint) from None
    match statements:
        case (nodes.SectionData(values=(operand,)),):
            return operand
        case _:
            raise OperandError(f"{text!r} is no value", hint="pass one value for each argument")
