"""Realign the statements of two bodies once most names are paired: statements with equal names are paired first."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pyptx_diff.alignment import Pairs, align, gaps
from pyptx_diff.shapes import Shape, without_numbers
from pyptx_ir.syntax.nodes import Instruction

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from pyptx_diff.items import DiffItem


# Function that returns the key by which a statement (`DiffItem`) is aligned, given the statement, the numbers of its
# declarations in the second module, and the shapes of all statements by token.
_Key: TypeAlias = "Callable[[DiffItem, tuple[int, ...], Sequence[Shape]], Hashable]"


def _word(item: DiffItem) -> str:
    node = item.node
    return node.opcode[0] if isinstance(node, Instruction) else node.__class__.__name__


# Keys by which the statements of two functions are aligned, the strictest first. Statements paired by the second key
# differ in names, by the third also in literals, by the last three in the operation. Each key applies only to the
# statements that the previous keys left unpaired.
_KEYS: tuple[_Key, ...] = (
    lambda item, names, _: (item.token, names),
    lambda item, _, __: item.token,
    lambda item, _, shapes: without_numbers(shapes[item.token]),
    lambda item, names, _: (_word(item), names),
    lambda item, names, _: names or _word(item),
    lambda item, _, __: _word(item),
)


def refined(left: list[DiffItem], right: list[DiffItem], renaming: Mapping[int, int], shapes: Sequence[Shape]) -> Pairs:
    """Return position pairs of statements in `left` and `right` that are equal or changed versions of each other."""
    pairs: Pairs = []
    pieces = [(0, len(left), 0, len(right))]
    for key in _KEYS:
        between: list[tuple[int, int, int, int]] = []
        for low, high, other_low, other_high in pieces:
            numbers: dict[Hashable, int] = {}
            mine = [
                numbers.setdefault(key(item, _renamed(item, renaming), shapes), len(numbers)) for item in left[low:high]
            ]
            others = [
                numbers.setdefault(key(item, item.names, shapes), len(numbers)) for item in right[other_low:other_high]
            ]
            found = align(mine, others)
            pairs += [(low + i, other_low + k) for i, k in found]
            between += [
                (low + i, low + i_end, other_low + k, other_low + k_end)
                for i, i_end, k, k_end in gaps(found, len(mine), len(others))
                if i < i_end and k < k_end
            ]
        pieces = between
    pairs.sort()
    return pairs


def _renamed(item: DiffItem, renaming: Mapping[int, int]) -> tuple[int, ...]:
    """Return the second module's declaration numbers for the names in `item`; negative for an unpaired name."""
    return tuple([renaming.get(name, -1 - name) for name in item.names])
