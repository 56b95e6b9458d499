"""Usual whitespace before a statement, which a style may replace; explicit whitespace is a plain string."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, cast

from pyptx_ir.syntax import nodes
from pyptx_ir.syntax.drafts import rewritten

if TYPE_CHECKING:
    from collections.abc import Iterable


class UsualLead(str):
    """Whitespace before a statement that the user has not set: a style may replace it."""

    __slots__ = ()


@cache
def usual_trivia(indent: int) -> UsualLead:
    """Return the usual whitespace before a statement indented by `indent` tabs."""
    return UsualLead("\n" + "\t" * indent)


def left_open(module: nodes.Module) -> nodes.Module:
    """Return a traced module with None in place of usual whitespace, so that a style sets it."""
    return replace(module, body=_left_open(module.body))


def _left_open(body: Iterable[nodes.Statement]) -> tuple[nodes.Statement, ...]:
    return tuple([_opened(node) for node in body])


def _opened(node: nodes.Statement) -> nodes.Statement:
    match node:
        case nodes.Block():
            return _block(node)
        case nodes.Function(body=nodes.Block() as body):
            return replace(node, leading_trivia=_said(node.leading_trivia), body=_block(body))
        case nodes.Section():
            # The cast is valid: `_left_open` returns a statement of the same class for each statement.
            lines = cast("tuple[nodes.SectionData | nodes.Label | nodes.Invalid, ...]", _left_open(node.body))
            return replace(
                node, leading_trivia=_said(node.leading_trivia), body=lines, closing_trivia=_said(node.closing_trivia)
            )
        case _:
            return rewritten(node, None, node.raw) if isinstance(node.leading_trivia, UsualLead) else node


def _block(node: nodes.Block) -> nodes.Block:
    return replace(
        node,
        leading_trivia=_said(node.leading_trivia),
        body=_left_open(node.body),
        closing_trivia=_said(node.closing_trivia),
    )


def _said(leading_trivia: str | None) -> str | None:
    return None if isinstance(leading_trivia, UsualLead) else leading_trivia
