"""Which declaration of one module is which of the other: a one-to-one relation, voted for by what has been aligned."""

from __future__ import annotations

from collections import Counter, defaultdict
from math import sqrt
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyptx_ir.diff.alignment import Pairs
    from pyptx_ir.diff.items import Item
    from pyptx_ir.diff.scopes import Declarations

_AGREED: Final = 4  # what an aligned pair weighs more that has agreed with an earlier renaming

_SAME_NAME: Final = 16  # a pair of equal names


class Votes(defaultdict[tuple[int, int], float]):
    """How much speaks for it that a declaration of the first module is one of the second."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(float)

    def count(self, left: list[Item], right: list[Item], pairs: Pairs, agreed: Mapping[int, int] | None = None) -> None:
        """Let aligned items vote for each pair of their names.

        An item that is like many weighs little: where one of a series is gone, the series may be aligned one off. Where
        an earlier renaming is given, what agrees with it weighs more.
        """
        often = Counter(item.token for item in left)
        for i, k in pairs:
            mine, other = left[i], right[k]
            if mine.token != other.token:
                continue
            weight = 1 / sqrt(often[mine.token])
            if agreed is not None and agrees(mine, other, agreed):
                weight *= _AGREED
            for pair in zip(mine.names, other.names, strict=True):
                self[pair] += weight


class Bijection(dict[int, int]):
    """A one-to-one relation: the numbers of the first module's declarations, and those of the second's for them."""

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        super().__init__()
        self._taken: set[int] = set()

    def add(self, mine: int, other: int) -> None:
        """Add a pair, unless one of the two has a partner."""
        if mine not in self and other not in self._taken:
            self[mine] = other
            self._taken.add(other)

    def refuses(self, mine: int, other: int) -> bool:
        """Tell whether one of the two has another partner."""
        return self.get(mine) != other and (mine in self or other in self._taken)


def settle(votes: Votes, fixed: Iterable[tuple[int, int]], before: Declarations, after: Declarations) -> Bijection:
    """Return the renaming that is fixed and then voted for, the heaviest first.

    If all votes fit into a one-to-one relation, then that is returned.
    """

    def rank(pair: tuple[int, int]) -> tuple[bool, float, tuple[int, int]]:
        """Names of one type come first; a name that stays weighs more, as in a file that was edited by hand."""
        mine, other = before[pair[0]], after[pair[1]]
        weight = votes[pair] * (_SAME_NAME if mine.name == other.name else 1)
        return mine.detail != other.detail, -weight, pair

    renaming = Bijection()
    for mine, other in (*fixed, *sorted(votes, key=rank)):
        renaming.add(mine, other)
    return renaming


def agrees(mine: Item, other: Item, renaming: Mapping[int, int]) -> bool:
    """Tell whether two items with one token have the same names, once those of the first are renamed."""
    return tuple(map(renaming.get, mine.names)) == other.names
