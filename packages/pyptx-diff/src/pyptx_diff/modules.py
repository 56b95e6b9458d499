"""Align two modules: their functions, the statements of these functions, and the declared names."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyptx_diff.alignment import Pairs, align
from pyptx_diff.matching import match_bodies
from pyptx_diff.refinement import refined
from pyptx_diff.renaming import Bijection, Votes, agrees, settle
from pyptx_diff.variables import match_variables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx_diff.items import Body, Content, DiffItem
    from pyptx_diff.shapes import Shape
    from pyptx_diff.variables import ItemPair


class AlignedBodies(NamedTuple):
    """Bodies of a function in both modules (None if a module lacks it), and position pairs of aligned statements."""

    mine: Body | None
    other: Body | None
    pairs: Pairs
    variables: list[ItemPair]

    def items(self) -> Iterator[ItemPair]:
        """Yield pairs of aligned statements in order; between these, each unaligned statement is paired with None."""
        left, right = _items(self.mine), _items(self.other)
        at, other = 0, 0
        for i, k in (*self.pairs, (len(left), len(right))):
            yield from ((item, None) for item in left[at:i])
            yield from ((None, item) for item in right[other:k])
            if i < len(left):
                yield left[i], right[k]
            at, other = i + 1, k + 1


def align_modules(before: Content, after: Content, shapes: Sequence[Shape]) -> tuple[list[AlignedBodies], Bijection]:
    """Align two modules; return their bodies and the renaming from the first to the second.

    The first alignment ignores names and yields the renaming. Bodies that contradict it are aligned again with names.
    """
    matched = match_bodies(before, after)
    fixed = [*_functions(matched), *_public_variables(before, after)]
    bodies = [AlignedBodies(mine, other, _aligned(mine, other), []) for mine, other in matched]
    renaming = settle(_votes(bodies), fixed, before.declarations, after.declarations)
    if not all(_agree(one, renaming) for one in bodies):
        bodies = [one if _agree(one, renaming) else _refined(one, renaming, shapes) for one in bodies]
        renaming = settle(_votes(bodies, renaming), fixed, before.declarations, after.declarations)
    return [_with_variables(one, renaming, before, after) for one in bodies], renaming


def _items(body: Body | None) -> list[DiffItem]:
    return [] if body is None else body.items


def _functions(matched: list[tuple[Body | None, Body | None]]) -> Iterator[tuple[int, int]]:
    for mine, other in matched:
        if mine is not None and other is not None and mine.declaration >= 0:
            yield mine.declaration, other.declaration


def _public_variables(before: Content, after: Content) -> Iterator[tuple[int, int]]:
    named = {one.name: number for number, one in enumerate(after.declarations) if _is_public_variable(after, number)}
    for number, one in enumerate(before.declarations):
        if one.name in named and _is_public_variable(before, number):
            yield number, named[one.name]


def _is_public_variable(content: Content, number: int) -> bool:
    declaration = content.declarations[number]
    return declaration.public and declaration.kind == "variable"


def _aligned(mine: Body | None, other: Body | None) -> Pairs:
    if mine is None or other is None:
        return []
    return align([item.token for item in mine.items], [item.token for item in other.items])


def _votes(bodies: list[AlignedBodies], agreed: Bijection | None = None) -> Votes:
    votes = Votes()
    for one in bodies:
        votes.count(_items(one.mine), _items(one.other), one.pairs, agreed)
    return votes


def _agree(bodies: AlignedBodies, renaming: Bijection) -> bool:
    """Return whether two bodies are equal. A body without a counterpart counts as equal: it needs no realignment."""
    left, right = _items(bodies.mine), _items(bodies.other)
    if bodies.mine is None or bodies.other is None:
        return True
    whole = len(bodies.pairs) == len(left) == len(right)
    return whole and all(agrees(left[i], right[k], renaming) for i, k in bodies.pairs)


def _refined(bodies: AlignedBodies, renaming: Bijection, shapes: Sequence[Shape]) -> AlignedBodies:
    return bodies._replace(pairs=refined(_items(bodies.mine), _items(bodies.other), renaming, shapes))


def _with_variables(bodies: AlignedBodies, renaming: Bijection, before: Content, after: Content) -> AlignedBodies:
    if bodies.mine is None or bodies.other is None:
        return bodies
    found = match_variables(bodies.mine, bodies.other, renaming, before.declarations, after.declarations)
    return bodies._replace(variables=found)
