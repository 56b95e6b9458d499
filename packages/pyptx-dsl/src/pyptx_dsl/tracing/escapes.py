"""Detection of blocks that Python leaves or never enters, which the trace cannot observe.

The body of `with ptx.if_(p):` is traced for all threads, so Python's `return`, `break` and `continue` in it end the
tracing for all of them: the following statements would be missing from the PTX without an error. A context manager
cannot detect how its body was left. So the source of the function is inspected, once per trace, when it enters its
first block. A function without source (typed into `python -c`) is not inspected.

Rejected inside such a block are: a `return` with statements after the block; a `break` of a Python loop around the
block; a `continue` of a Python loop around the block, if statements follow in the loop's body.
"""

from __future__ import annotations

import ast
import linecache
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from pyptx_dsl.errors import ControlFlowError
from pyptx_dsl.origin import show, user_frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import CodeType

    from pyptx_dsl.tracing.trace import Trace

_SEEN = "ptx.escapes.seen"
_BLOCKS = frozenset({"if_", "elif_", "else_", "loop", "while_", "block", "predicated"})
_LEAVES = re.compile(r"\b(return|break|continue)\b")
_INSTEAD = {"return": "ptx.ret()", "break": "ptx.break_()", "continue": "ptx.continue_()"}


def enter_block(trace: Trace, promise: int) -> None:
    """Record that a `with` entered a block; raise ControlFlowError for a `return`, `break` or `continue` out of one."""
    trace.unopened.pop(promise, None)
    frame = user_frame()
    if frame is None:
        return
    seen = cast("dict[int, CodeType]", trace.notes.setdefault(_SEEN, dict[int, "CodeType"]()))
    code = frame.f_code
    if id(code) in seen:
        return
    seen[id(code)] = code
    escape = next(_escapes_of(code), None)
    if escape is None:
        return
    word = type(escape).__name__.lower()
    raise ControlFlowError(
        f"Python's `{word}` inside a block of ptx.if_ or a loop ends the tracing for all threads: later "
        "statements would be missing from the PTX",
        where=show(code.co_filename, escape.lineno, code.co_qualname),
        help=f"write {_INSTEAD[word]} for the threads in the block, and move the Python `{word}` out of it",
    )


def refuse_unopened(trace: Trace) -> None:
    """Raise ControlFlowError for the first `ptx.if_(…)` or other block that no `with` (or `for`) has entered."""
    for what, site in trace.unopened.values():
        word = "for i in" if what == "ptx.range_" else "with"
        raise ControlFlowError(
            f"{what}(…) needs a `{word.split(maxsplit=1)[0]}` statement with a body",
            where=trace.recorder.where(site),
            help=f"write `{word} {what}(…):` and indent the body",
        )


def _escapes_of(code: CodeType) -> Iterator[ast.stmt]:
    """Yield each `return`, `break` and `continue` that leaves a block of a function; none without its source."""
    lines = {line for _, _, line in code.co_lines() if line is not None}
    if not any(_LEAVES.search(linecache.getline(code.co_filename, line)) for line in lines):
        return
    source = "".join(linecache.getlines(code.co_filename))
    try:
        module = ast.parse(source)
    except SyntaxError:  # the source file has changed since Python imported it
        return
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first == code.co_firstlineno:
                yield from _escapes(node.body, _Context())


@dataclass(frozen=True, slots=True)
class _Context:
    """Position of a list of statements in a function.

    `in_block`: in a `with` block of `ptx`; `in_block_of_loop`: that block is inside the innermost Python loop.
    `followed`: statements run after the list; `followed_in_loop`: and they are in the body of that loop.
    """

    in_block: bool = False
    in_block_of_loop: bool = False
    followed: bool = False
    followed_in_loop: bool = False


def _escapes(body: Sequence[ast.stmt], place: _Context) -> Iterator[ast.stmt]:
    for position, node in enumerate(body):
        here = place
        if position + 1 < len(body):
            here = replace(place, followed=True, followed_in_loop=True)
        match node:
            case ast.Return() if place.in_block and place.followed:
                yield node
            case ast.Break() if place.in_block_of_loop:
                yield node
            case ast.Continue() if place.in_block_of_loop and place.followed_in_loop:
                yield node
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                continue
            case ast.For() | ast.While():
                yield from _escapes(
                    node.body, replace(here, in_block_of_loop=False, followed=True, followed_in_loop=False)
                )
                yield from _escapes(node.orelse, here)
            case ast.With() if any(_is_block(item.context_expr) for item in node.items):
                yield from _escapes(node.body, replace(here, in_block=True, in_block_of_loop=True))
            case _:
                for inner in _bodies(node):
                    yield from _escapes(inner, here)


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the statement lists directly inside a statement, including those of its `except` and `case` clauses."""
    for _, value in ast.iter_fields(node):
        if not isinstance(value, list):
            continue
        items = cast("list[object]", value)
        statements = [item for item in items if isinstance(item, ast.stmt)]
        if statements:
            yield statements
        for item in items:
            if isinstance(item, ast.ExceptHandler | ast.match_case):
                yield from _bodies(item)


def _is_block(expression: ast.expr) -> bool:
    """Return whether the context manager of a `with` is `ptx.if_(…)` or a related block."""
    match expression:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name in _BLOCKS
        case _:
            return False
