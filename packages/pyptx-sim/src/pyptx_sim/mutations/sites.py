"""Mutation sites: instructions with their positions, and modules in which statements are replaced.

A change keeps all line numbers, so that findings in a mutant are on the original's lines.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from pyptx_ir.syntax import Source, emit, evolve, positions, spell
from pyptx_ir.syntax.nodes import Block, Function, Instruction, Section, trivia_of
from pyptx_ir.syntax.walk import children
from pyptx_sim.extension.mutation import MutationSite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyptx_ir.syntax.nodes import Module, Statement
    from pyptx_sim.extension.mutation import Change

_Rebuild: TypeAlias = "Callable[[tuple[Statement, ...]], Module]"


def sites(module: Module) -> Iterator[tuple[MutationSite, Callable[[Change], Module]]]:
    """Yield every instruction of a module, with a function that applies a change to its body and returns the module."""
    source = Source(emit(module))
    lines = iter([source.line_column(span.start)[0] for _, span in positions(module)])
    yield from _inside(module.body, lambda body: replace(module, body=body), lines)


def _inside(
    body: tuple[Statement, ...], rebuild: _Rebuild, lines: Iterator[int]
) -> Iterator[tuple[MutationSite, Callable[[Change], Module]]]:
    def changed(change: Change) -> Module:
        parts = (_fitted(node, change[at]) if at in change else (node,) for at, node in enumerate(body))
        return rebuild(tuple(node for part in parts for node in part))

    for at, node in enumerate(body):
        line = next(lines)
        if isinstance(node, Instruction):
            yield MutationSite(body, at, line), changed
            continue

        def around(inner: tuple[Statement, ...], at: int = at, node: Statement = node) -> Module:
            return rebuild((*body[:at], _with_body(node, inner), *body[at + 1 :]))

        yield from _inside(tuple(children(node)), around, lines)


def _with_body(node: Statement, body: tuple[Statement, ...]) -> Statement:
    if isinstance(node, Function):
        return evolve(node, body=body[0])
    assert isinstance(node, Block | Section)  # noqa: S101 - nothing else has statements inside
    return evolve(node, body=body)


def _fitted(old: Statement, new: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Return the statements `new` with line breaks before them until they have as many lines as `old`."""
    missing = _line_feeds(old) - sum(map(_line_feeds, new))
    if missing <= 0:
        return new
    return (evolve(new[0], leading_trivia="\n" * missing + trivia_of(new[0])), *new[1:])


def _line_feeds(node: Statement) -> int:
    return (trivia_of(node) + (spell(node) if node.raw is None else node.raw)).count("\n")
