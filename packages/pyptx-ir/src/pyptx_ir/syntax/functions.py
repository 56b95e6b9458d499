"""Parse function and prototype headers. Manual: "Kernel and Function Directives", "Performance-Tuning Directives"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_ir.suggestions import close_names
from pyptx_ir.syntax.cursor import SyntaxFault
from pyptx_ir.syntax.declarations import FUNCTIONS, LINKING, SPACES, Qualifiers, attributes, parameters
from pyptx_ir.syntax.lexemes import KEYWORD
from pyptx_ir.syntax.nodes import Attribute, Block, CallPrototype, Function, HeaderDirective, Parameter
from pyptx_ir.syntax.operand_parser import OperandParser

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.syntax.cursor import Cursor
    from pyptx_ir.syntax.operands import Operand

# Performance directives. Manual: "Performance-Tuning Directives", "Cluster Dimension Directives", "Miscellaneous
# Directives".
PERFORMANCE = frozenset(
    {
        "abi_preserve",
        "abi_preserve_control",
        "blocksareclusters",
        "explicitcluster",
        "language",
        "maxclusterrank",
        "maxnctapersm",
        "maxnreg",
        "maxntid",
        "minnctapersm",
        "minperctamemory",
        "noreturn",
        "reqnctapercluster",
        "reqntid",
    }
)
# First characters of an argument of a performance directive; any other word begins the next statement.
_ARGUMENT = re.compile(r"[0-9\"(\-]|WARP_SZ\b")
# Keywords after a prototype that begin the module's next statement.
_STATEMENTS = FUNCTIONS | LINKING | SPACES | {"align", "attribute", "file", "section", "alias"}
# Placeholder for the body of a function whose header has been read.
PENDING = Block(body=())


def function(cursor: Cursor, kind: str, qualifiers: Qualifiers) -> Function:
    """Read a header after `.entry` or `.func`; the body is None, or `PENDING` with the cursor before its `{`.

    As in ptxas, a `.func` without a body needs no `;` before another statement of a module, or at the end of the text.
    """
    marks = qualifiers.attributes
    returns: tuple[Parameter, ...] = ()
    marks.extend(_attributes(cursor))
    if cursor.eat("("):
        at = cursor.end
        returns = parameters(cursor)
        # The syntax tree can't represent an entry with `()` as its list of return values.
        if kind == "entry" and not returns:
            raise SyntaxFault(
                "expected a function's name, found '('", at - 1, at, "remove the list: an entry returns nothing"
            )
    name = cursor.name("a function's name")
    given = parameters(cursor) if cursor.eat("(") else None
    directives = header_directives(cursor)
    defined = cursor.sees("{")
    if not defined and not cursor.eat(";") and not (kind == "func" and _statement_follows(cursor)):
        cursor.refuse("'{', ';' or a directive after the function header")
    return Function(
        kind=kind,
        name=name,
        parameters=given,
        returns=returns,
        linking=qualifiers.linking,
        attributes=tuple(marks),
        directives=directives,
        body=PENDING if defined else None,
        **cursor.spelling(),
    )


def prototype(cursor: Cursor) -> CallPrototype:
    """Read the prototype after `.callprototype`."""
    returns = parameters(cursor) if cursor.eat("(") else ()
    cursor.need("_", "write '_' as the function name of a prototype")
    given = parameters(cursor) if cursor.eat("(") else None
    directives = header_directives(cursor)
    cursor.need(";")
    return CallPrototype(parameters=given, returns=returns, directives=directives, **cursor.spelling())


def header_directives(cursor: Cursor) -> tuple[HeaderDirective, ...]:
    """Read the directives between a function's parameters and its body."""
    out: list[HeaderDirective] = []
    while (word := KEYWORD.match(cursor.text, cursor.skip())) and word[1] not in _STATEMENTS:
        cursor.find(KEYWORD)
        if word[1] != "pragma" and word[1] not in PERFORMANCE:
            raise SyntaxFault(f"unknown directive '{word[0]}'", word.start(), word.end(), closest(word[1], PERFORMANCE))
        given = arguments(cursor)
        if word[1] == "pragma":
            cursor.need(";")
        out.append(HeaderDirective(word[1], given))
    return tuple(out)


def arguments(cursor: Cursor) -> tuple[Operand | str, ...]:
    """Read the comma-separated arguments of a directive, integers and strings; empty if there are none."""
    if not _ARGUMENT.match(cursor.text, cursor.skip()):
        return ()
    out = [argument(cursor)]
    while cursor.eat(","):
        out.append(argument(cursor))
    return tuple(out)


def argument(cursor: Cursor) -> Operand | str:
    """Read a directive's argument: a string, without its quotes, or a constant expression."""
    return cursor.string() if cursor.sees('"') else OperandParser(cursor, lines=True).operand()


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return help with the directive closest to a misspelled one; None if no directive is close."""
    close = close_names(word, sorted(known), most=1)
    return f"did you mean '.{close[0]}'?" if close else None


def _statement_follows(cursor: Cursor) -> bool:
    at = cursor.skip()
    word = KEYWORD.match(cursor.text, at)
    return at == len(cursor.text) or (word is not None and word[1] in _STATEMENTS)


def _attributes(cursor: Cursor) -> list[Attribute]:
    out: list[Attribute] = []
    while word := cursor.find(KEYWORD):
        if word[1] != "attribute":
            cursor.at = word.start()
            cursor.refuse("a function's name", "move directives after the name and the parameters")
        out.extend(attributes(cursor))
    return out
