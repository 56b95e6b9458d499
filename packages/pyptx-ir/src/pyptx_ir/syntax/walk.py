"""Visit every statement of a syntax tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.syntax.nodes import Block, Function, Module, Section, Statement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def walk(tree: Module | Statement) -> Iterator[Statement]:
    """Yield every statement, depth first, parents before children; a function's body is a separate `Block`."""
    stack: list[Iterator[Statement]] = [iter(tree.body if isinstance(tree, Module) else (tree,))]
    while stack:
        for node in stack[-1]:
            yield node
            inner = children(node)
            if inner:
                stack.append(iter(inner))
                break
        else:
            stack.pop()


def children(node: Statement) -> Sequence[Statement]:
    """Return the statements directly inside `node`, not the statements nested in these."""
    match node:
        case Block(body=body) | Section(body=body):
            return body
        case Function(body=Block() as block):
            return (block,)
        case _:
            return ()
