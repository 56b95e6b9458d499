"""Positions of the parts of a statement in its text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_ir.syntax.nodes import Function, Instruction
from pyptx_ir.syntax.spelling import header

if TYPE_CHECKING:
    from pyptx_ir.syntax.nodes import Statement

_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"[^\"\n]*\"", re.DOTALL)
_GUARDED = re.compile(r"@\s*!?\s*[\w$%.]+\s*")
_WORD = re.compile(r"\.?[^\s;,(){}\[\]]+")
_BEFORE = re.compile(r"[\w$%]")
_BEHIND = re.compile(r"[\w$]|::")
_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def without_comments(text: str) -> str:
    """Return the text with comments and strings replaced by as many spaces."""
    return _COMMENT.sub(lambda found: " " * len(found[0]), text)


def own_text(node: Statement, text: str) -> str:
    """Return the statement's text up to its body, with spaces in place of comments and strings."""
    if isinstance(node, Function):
        text = text[: len(node.raw if node.raw is not None else header(node))]
    return without_comments(text)


def place_in(text: str, node: Statement, operand: int | None, word: str) -> tuple[int, int]:
    """Return the range of a word in a statement's text or in one operand; by default the statement's first word."""
    start, end = (0, len(text)) if operand is None else operand_in(text, operand)
    if word:
        at = _find_word(text, word, start, end)
        if at >= 0:
            return at, at + len(word)
    return _first_word(text, node) if operand is None else (start, end)


def _find_word(text: str, word: str, start: int, end: int) -> int:
    """Return the offset of a whole word in a text, or -1."""
    at = text.find(word, start, end)
    while at >= 0:
        begins = word[0] == "." or _BEFORE.match(text, at - 1, at) is None
        if begins and _BEHIND.match(text, at + len(word), end) is None:
            return at
        at = text.find(word, at + 1, end)
    return -1


def _first_word(text: str, node: Statement) -> tuple[int, int]:
    start = _opcode_at(text) if isinstance(node, Instruction) else 0
    found = _WORD.match(text, start)
    return found.span() if found else (start, min(start + 1, len(text)))


def _opcode_at(text: str) -> int:
    guard = _GUARDED.match(text)
    return guard.end() if guard else 0


def operand_in(text: str, index: int) -> tuple[int, int]:
    """Return the range of the operand with an index; commas outside brackets separate operands."""
    opcode = _WORD.match(text, _opcode_at(text))
    start = at = opcode.end() if opcode else 0
    depth = count = 0
    while at < len(text) and text[at] != ";":
        depth += _BRACKETS.get(text[at], 0)
        if text[at] == "," and not depth:
            if count == index:
                break
            count, start = count + 1, at + 1
        at += 1
    piece = text[start:at]
    start += len(piece) - len(piece.lstrip())
    return start, max(start + 1, start + len(piece.strip()))
