"""Positions of statements. A tree stores none; they are computed from the lengths of its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pyptx_ir.syntax.emitter import opened
from pyptx_ir.syntax.nodes import Module, Statement, trivia_of
from pyptx_ir.syntax.source import Span
from pyptx_ir.syntax.spelling import spell

if TYPE_CHECKING:
    from collections.abc import Iterator


_Entry: TypeAlias = tuple[Statement, int, int]


def positions(module: Module) -> Iterator[tuple[Statement, Span]]:
    """Yield every statement of `module` with its span in `emit(module)`, depth first, a parent before its children.

    A span covers the statement without its leading trivia; for a function, from its first token to its closing brace.
    """
    entries: list[_Entry] = []
    stack = [(iter(module.body), -1, 0)]
    at = 0
    while stack:
        statements, parent, closing = stack[-1]
        for node in statements:
            start = at + len(trivia_of(node))
            inside = opened(node)
            if inside is None:
                at = start + len(node.raw if node.raw is not None else spell(node))
                entries.append((node, start, at))
                continue
            stack.append((iter(inside.body), len(entries), len(inside.closing)))
            entries.append((node, start, start))
            at = start + len(inside.opening)
            break
        else:
            stack.pop()
            at += closing
            if parent >= 0:
                node, start, _ = entries[parent]
                entries[parent] = (node, start, at)
    for node, start, end in entries:
        yield node, Span(start, end)
