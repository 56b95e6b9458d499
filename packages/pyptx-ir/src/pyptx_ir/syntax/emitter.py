"""Emit a tree: unchanged parsed nodes byte for byte, others canonically."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.syntax.nodes import USUAL_TRIVIA, Block, Function, Module, Section, Statement
from pyptx_ir.syntax.spelling import LEAVES, header, spell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.syntax.style.style import Style


@dataclass(frozen=True, slots=True)
class Opened:
    """A statement that contains statements: the text before the nested statements, these, and the text after them."""

    opening: str
    body: Sequence[Statement]
    closing: str


def opened(node: Statement) -> Opened | None:
    """Split a block, function or section into text before, nested statements and text after; None for other nodes."""
    match node:
        case Block():
            return Opened("{", node.body, _or(node.closing_trivia, "\n") + "}")
        case Function(body=Block() as block):
            return Opened(node.raw if node.raw is not None else header(node), (block,), "")
        case Section():
            head = node.head if node.head is not None else f" {node.name}\n\t"
            return Opened(f".section{head}{{", node.body, _or(node.closing_trivia, USUAL_TRIVIA) + "}")
        case _:
            return None


def _or(text: str | None, usual: str) -> str:
    return usual if text is None else text


def emit(tree: Module | Statement, style: Style | None = None) -> str:
    """Emit a module, or one statement with its leading trivia.

    `emit(parse(text)) == text` for every text that parses. An edited node changes only its own bytes. Unset trivia and
    text (`leading_trivia=None`, `raw=None`) follow `style`, or the canonical form.
    """
    if style is not None:
        from pyptx_ir.syntax.style.writer import write

        return write(tree, style)
    out: list[str] = []
    if isinstance(tree, Module):
        _emit(tree.body, out)
        out.append(_or(tree.tail, "\n"))
    else:
        _emit((tree,), out)
    return "".join(out)


def _emit(body: Sequence[Statement], out: list[str]) -> None:
    add = out.append
    stack = [(iter(body), "")]
    while stack:
        statements, closing = stack[-1]
        for node in statements:
            leading_trivia = node.leading_trivia
            add(USUAL_TRIVIA if leading_trivia is None else leading_trivia)
            raw = node.raw
            kind = node.__class__
            if raw is not None and kind is not Function:
                add(raw)
                continue
            write = LEAVES.get(kind)
            if write is not None:
                add(write(node))
                continue
            inside = opened(node)
            if inside is None:
                add(spell(node) if raw is None else raw)
                continue
            add(inside.opening)
            stack.append((iter(inside.body), inside.closing))
            break
        else:
            stack.pop()
            add(closing)
