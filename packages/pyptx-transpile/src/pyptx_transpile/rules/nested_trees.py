"""Construction of nested calls: search for instructions that can be operands of the next instruction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.syntax import operands as tree
from pyptx_transpile.rules.expression_trees import Tree, call_width, places_of_sources, register_width

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_transpile.reading.rows import Body

__all__ = ["nested"]

_WIDEST, _WIDEST_IN_TURN = 96, 80  # maximum estimated columns of a nested call: outside Python loops, inside them


def nested(body: Body, places: range, *, turn: bool) -> Iterator[Tree | None]:
    """Yield a `Tree` with nested calls for each index in `places`; None for a statement or brace printed unchanged.

    In a `turn` (iteration) of a loop, registers have longer expressions.
    """
    before: list[Tree] = []  # statements before the current one whose calls may be nested in its call
    for at in places:
        outer = _alone(body, at, turn=turn)
        if outer is not None:
            _take_in(body, outer, before, turn=turn)
        if outer is None or outer.result is None:
            yield from before
            before.clear()
            yield outer
        else:
            before.append(outer)
    yield from before


def _alone(body: Body, at: int, *, turn: bool) -> Tree | None:
    """Return the call of an instruction, with its result if it may be an operand; None if it is printed unchanged.

    An instruction that updates a register in place stays a statement: as an operand of a call the update would be hard
    to see.
    """
    node = body.instruction(at)
    if node is None or body.deviates(at):
        return None
    first = node.operands[0] if node.operands and node.guard is None else None
    result = first.name if isinstance(first, tree.Register) and first not in node.operands[1:] else None
    if result is not None and result.endswith("$"):
        result = None  # a vector parameter of a helper function is not the return value of a call
    return Tree(at, result, None, call_width(body, at, turn=turn), named=True)


def _take_in(body: Body, outer: Tree, before: list[Tree], *, turn: bool) -> None:
    """Nest the last calls of `before` in `outer`: as many as compute sources of `outer` in order and fit on a line."""
    sources = list(places_of_sources(body.branch(outer.at)))
    taken: list[Tree] = []
    while before and (last := before[-1]).result is not None and sources.count(last.result) == 1:
        wider = outer.width + last.width - register_width(last.result, turn=turn)
        if wider > (_WIDEST_IN_TURN if turn else _WIDEST):
            break
        del sources[sources.index(last.result) :]
        outer.width = wider
        taken.append(before.pop())
    outer.inner = {each.result: each for each in reversed(taken) if each.result is not None}
