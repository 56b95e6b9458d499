"""One-to-one renaming of declarations between two modules, from votes of aligned statements."""

from __future__ import annotations

from collections import Counter, defaultdict
from math import sqrt
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyptx_diff.alignment import Pairs
    from pyptx_diff.items import DiffItem
    from pyptx_diff.scopes import Declarations

# Factor by which an aligned pair of statements counts more in the choice of renamings if it agrees with earlier ones.
_AGREED: Final = 4

_SAME_NAME: Final = 16  # factor by which a pair of declarations counts more if their names are equal


class Votes(defaultdict[tuple[int, int], float]):
    """Weight of each pair of declarations, one of each module: the evidence that they are one declaration renamed."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(float)

    def count(
        self, left: list[DiffItem], right: list[DiffItem], pairs: Pairs, agreed: Mapping[int, int] | None = None
    ) -> None:
        """Add weight for each pair of declarations that two aligned statements name at the same position.

        A statement whose shape is frequent adds little weight: if one statement of a series is removed, the others may
        be misaligned by one. A pair of statements that agrees with an earlier renaming (`agreed`) adds more.
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
    """One-to-one relation from declaration numbers of the first module to those of the second."""

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        super().__init__()
        self._taken: set[int] = set()

    def add(self, mine: int, other: int) -> None:
        """Add a pair of declarations, unless one of them already has a partner."""
        if mine not in self and other not in self._taken:
            self[mine] = other
            self._taken.add(other)

    def refuses(self, mine: int, other: int) -> bool:
        """Return whether declaration `mine` or `other` already has another partner."""
        return self.get(mine) != other and (mine in self or other in self._taken)


def settle(votes: Votes, fixed: Iterable[tuple[int, int]], before: Declarations, after: Declarations) -> Bijection:
    """Return a one-to-one renaming from the fixed pairs, then the voted pairs by descending weight.

    If all votes fit a one-to-one relation, that relation is returned.
    """

    def rank(pair: tuple[int, int]) -> tuple[bool, float, tuple[int, int]]:
        """Sort key of a pair: equal types first; equal names weigh more, as in a file edited by hand."""
        mine, other = before[pair[0]], after[pair[1]]
        weight = votes[pair] * (_SAME_NAME if mine.name == other.name else 1)
        return mine.detail != other.detail, -weight, pair

    renaming = Bijection()
    for mine, other in (*fixed, *sorted(votes, key=rank)):
        renaming.add(mine, other)
    return renaming


def agrees(mine: DiffItem, other: DiffItem, renaming: Mapping[int, int]) -> bool:
    """Return whether two statements of one shape have equal names after `renaming` is applied to those of `mine`."""
    return tuple(map(renaming.get, mine.names)) == other.names
