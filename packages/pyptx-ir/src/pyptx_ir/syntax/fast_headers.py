"""Fast path for function headers in the form that compilers emit, with a few regular expression matches each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pyptx_ir.syntax.declarations import usual_parameters
from pyptx_ir.syntax.drafts import immediate
from pyptx_ir.syntax.frames import OpenBrace
from pyptx_ir.syntax.functions import PENDING
from pyptx_ir.syntax.lexemes import DIGITS_TEXT, NAME_TEXT, TRIVIA_TEXT
from pyptx_ir.syntax.nodes import Function, HeaderDirective
from pyptx_ir.values import draft

if TYPE_CHECKING:
    from pyptx_ir.syntax.cursor import Cursor

_LISTED = r"\(([^()]*+)\)"
# Groups of the regular expression for a function header: leading trivia; linking directive, .entry or .func, returned
# parameters, name, parameters.
_HEAD = re.compile(
    rf"({TRIVIA_TEXT})(?:\.(visible|extern|weak)[ \t]++)?+\.(entry|func)[ \t]++"
    rf"(?:{_LISTED}[ \t]*+)?+({NAME_TEXT})\s*+{_LISTED}",
    re.ASCII,
)
# Groups of the regular expression for a header directive: a directive with numbers; these numbers; or a directive
# without numbers. The full parser reads any other text.
_DIRECTIVE = re.compile(
    r"\s*+\.(?:(maxntid|reqntid|minnctapersm|maxnctapersm|maxnreg|maxclusterrank|reqnctapercluster)"
    rf"[ \t]++({DIGITS_TEXT}(?:,[ \t]*+{DIGITS_TEXT})*+)|(noreturn|explicitcluster|blocksareclusters))(?=\s*+[.{{;/])",
    re.ASCII,
)
# Group of the regular expression for the end of a function header: the leading trivia of the body's opening brace.
_END = re.compile(rf"\s*+;|({TRIVIA_TEXT})\{{", re.ASCII)

_FunctionDraft = draft(Function)


def header(cursor: Cursor, frames: list[OpenBrace]) -> bool:
    """Read a function header in the usual form, and open its body, if any; return False and read nothing otherwise."""
    text = cursor.text
    head = _HEAD.match(text, cursor.end)
    if head is None or len(frames) > 1:
        return False
    leading_trivia, linking, kind, returned, name, listed = head.groups()
    if kind == "entry" and returned is not None:
        return False
    returns, parameters = () if returned is None else usual_parameters(returned), usual_parameters(listed)
    at = head.end()
    directives: list[HeaderDirective] = []
    while found := _DIRECTIVE.match(text, at):
        counted, numbers, flag = found.groups()
        given = tuple([immediate(number.lstrip()) for number in numbers.split(",")]) if counted else ()
        directives.append(HeaderDirective(counted or flag, given))
        at = found.end()
    end = _END.match(text, at)
    if end is None or returns is None or parameters is None:
        return False
    declared = end[1] is None
    node: Any = _FunctionDraft()
    node.leading_trivia = leading_trivia
    node.raw = text[head.end(1) : end.end() if declared else at]
    node.kind = kind
    node.name = name
    node.parameters = parameters
    node.returns = returns
    node.linking = linking
    node.attributes = ()
    node.directives = tuple(directives)
    node.body = None if declared else PENDING
    node.__class__ = Function
    if declared:
        frames[-1].items.append(node)
    else:
        frames.append(OpenBrace(end[1], end.end() - 1, node))
    cursor.at = cursor.end = end.end()
    return True
