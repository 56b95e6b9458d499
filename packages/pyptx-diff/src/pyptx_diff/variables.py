"""Pair the variables of two modules: referenced ones by the renaming, unreferenced ones by name and declaration."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pyptx_diff.items import DiffItem
from pyptx_diff.pairing import pair_by_key

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from pyptx_diff.items import Body
    from pyptx_diff.renaming import Bijection
    from pyptx_diff.scopes import Declarations

ItemPair: TypeAlias = tuple[DiffItem | None, DiffItem | None]
_Key: TypeAlias = "Callable[[DiffItem], Hashable]"


def match_variables(
    mine: Body, other: Body, renaming: Bijection, before: Declarations, after: Declarations
) -> list[ItemPair]:
    """Pair the variables of two bodies, and add the pairs of unreferenced variables to the renaming."""
    pairs: list[ItemPair] = []
    left, right = mine.variables, other.variables
    keys: tuple[tuple[_Key, _Key], ...] = (
        (lambda one: renaming.get(one.names[0]), lambda one: one.names[0]),
        (lambda one: (one.token, before[one.names[0]].name), lambda one: (one.token, after[one.names[0]].name)),
        (lambda one: one.token, lambda one: one.token),
        (lambda one: before[one.names[0]].name, lambda one: after[one.names[0]].name),
    )
    for mine_key, other_key in keys:
        found, left, right = pair_by_key(left, right, mine_key, other_key)
        for one, two in found:
            renaming.add(one.names[0], two.names[0])
        pairs += found
    return [*pairs, *((one, None) for one in left), *((None, two) for two in right)]
