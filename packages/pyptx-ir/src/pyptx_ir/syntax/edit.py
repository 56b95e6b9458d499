"""Edit a tree: return a changed copy of a node."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, TypeVar

from pyptx_ir.syntax.nodes import Function, Node, Section, trivia_of

NodeT = TypeVar("NodeT", bound=Node)

# Fields that are not part of a node's meaning: changing them keeps the source text valid.
_TRIVIA = frozenset({"leading_trivia", "raw", "closing_trivia", "head"})
_STRING_OR_COMMENT = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_INDENT = re.compile(r"[ \t]*\Z")


def evolve(node: NodeT, **changes: object) -> NodeT:
    """Copy `node` with changes, for example `evolve(instruction, opcode=("add", "s64"))`.

    The leading trivia is kept. The source text is dropped, so the copy is emitted canonically. Comments inside the old
    source text move to the end of its leading trivia. Changing only trivia, or only a function's body, keeps the source
    text.
    """
    if changes.keys() <= _kept(node, changes):
        return _replaced(node, changes)
    if isinstance(node, Section):
        changes.setdefault("head", None)
    if node.raw is not None:
        given = changes.get("leading_trivia", node.leading_trivia)
        leading_trivia = trivia_of(node) if given is None else str(given)
        comments = _comments(node.raw, leading_trivia)
        changes["leading_trivia"] = leading_trivia + comments if comments else given
    changes.setdefault("raw", None)
    return _replaced(node, changes)


def _replaced(node: NodeT, changes: dict[str, Any]) -> NodeT:
    # Any: the field values' types depend on the class of `node`, whose constructor rejects unknown field names.
    return replace(node, **changes)


def _kept(node: Node, changes: dict[str, object]) -> frozenset[str]:
    """Return the fields of a node that may change without invalidating its source text."""
    if isinstance(node, Section):
        return _TRIVIA | {"body"}
    if isinstance(node, Function) and (node.body is None) == (changes.get("body", node.body) is None):
        return _TRIVIA | {"body"}
    return _TRIVIA


def _comments(raw: str, leading_trivia: str) -> str:
    """Return the comments in `raw`, each followed by the whitespace that separates it from the statement."""
    found = [text for text in _STRING_OR_COMMENT.findall(raw) if text[0] == "/"]
    indent = _INDENT.findall(leading_trivia)[0]
    return "".join(text + ("\n" + indent if text.startswith("//") else " ") for text in found)
