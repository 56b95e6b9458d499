"""A module as a row of items, in the order of its text, with what a plan asks about them."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, TypeVar, cast

from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree
from pyptx_ir.syntax.style.items import items

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyptx_ir.syntax.style.items import Item

T = TypeVar("T")
OPENING, CLOSING = frozenset({"{", "body{", "Section"}), frozenset({"}", "body}", "section}"})


class Row:
    """The items of a module: `item[i]`, and `ends[i]`, the place of the brace that closes what opens at `i`."""

    def __init__(
        self,
        module: nodes.Module,
        row: list[Item] | None = None,
        *,
        part_of: Row | None = None,
    ) -> None:
        """Lay the items of a module in a row, or take those that were laid.

        What is `part_of` another one has no spellings and no names of its own.
        """
        self.module = module
        self._whole = part_of
        self._spelled: dict[str, dict[str, str]] | None = None
        self._derived: dict[Callable[[Row], object], object] = {}
        self.items: list[Item] = list(items(module)) if row is None else row
        self.ends: dict[int, int] = {}
        self.refused: dict[int, str] = {}
        """Why statements are written unchecked, by their places."""
        self._bodies: list[Body] | None = None
        opened: list[int] = []
        for at, item in enumerate(self.items):
            if item.kind in OPENING:
                opened.append(at)
            elif item.kind in CLOSING:
                self.ends[opened.pop()] = at

    @property
    def is_whole(self) -> bool:
        """Whether it is no part of another one."""
        return self._whole is None

    @cached_property
    def deviating(self) -> frozenset[int]:
        """The places of the items that have a lead or a spelling of their own, or are written unchecked."""
        found = (at for at, item in enumerate(self.items) if item.lead is not None or spelling_of(item) is not None)
        return frozenset(found) | self.refused.keys()

    def spelled(self) -> dict[str, dict[str, str]]:
        """Return how the module spells operations on registers of a type, by type and operation."""
        if self._whole is not None:
            return self._whole.spelled()
        if self._spelled is None:
            from pyptx_transpile.spelling import spelled

            self._spelled = spelled(self)
        return self._spelled

    def bodies(self) -> list[Body]:
        """Return the bodies of the module's functions."""
        if self._bodies is None:
            starts = [at for at, item in enumerate(self.items) if item.kind == "body{"]
            self._bodies = [Body(self, at + 1, self.ends[at]) for at in starts]
        return self._bodies

    def derived(self, make: Callable[[Row], T]) -> T:
        """Return what a function makes of the module, or of the whole that this is a part of, which is made once."""
        if self._whole is not None:
            return self._whole.derived(make)
        if make not in self._derived:
            self._derived[make] = make(self)
        return cast("T", self._derived[make])


@dataclass(frozen=True, slots=True)
class Jump:
    """A branch to a label: the places of both; `guarded` tells whether it may fall through."""

    at: int
    target: int
    guarded: bool


class Body:
    """The body of a function: the items `start` to `end` of a row, its labels and its branches.

    `scopes[i]` is the place of the innermost brace that is open at item `i`. Labels of one scope are not seen outside;
    those that are `listed` are targets of indirect branches.
    What declares registers of the body may begin in front of it, at `declared`.
    """

    def __init__(self, row: Row, start: int, end: int, *, declared: int | None = None) -> None:
        """Find the labels and the branches between two places."""
        self.row, self.start, self.end = row, start, end
        self.declared = start if declared is None else declared
        self.items = row.items
        self.scopes: dict[int, int] = {}
        self.labels: dict[tuple[int, str], int] = {}
        self.listed: set[str] = set()
        self.jumps: list[Jump] = []
        self._jumps_to: dict[int, list[Jump]] = {}
        self._jump_at: dict[int, Jump] = {}
        self._entered: list[int] = []
        self._places: defaultdict[str, array[int]] = defaultdict(lambda: array("I"))
        self._derived: dict[Callable[[Body], object], object] = {}
        around, opened = {start - 1: start - 2}, [start - 1]
        for at in range(start, end):
            item = self.items[at]
            node = item.node
            if item.kind == "}":
                opened.pop()
            self.scopes[at] = opened[-1]
            if isinstance(node, nodes.Instruction):
                self._places[node.opcode[0]].append(at)
            elif isinstance(node, nodes.Label):
                self.labels[opened[-1], node.name] = at
            elif isinstance(node, nodes.BranchTargets):
                self.listed.update(node.targets)
            elif item.kind == "{":
                around[at] = opened[-1]
                opened.append(at)
        for at in self.places("bra"):
            node = self.items[at].node
            target = node.operands[-1] if isinstance(node, nodes.Instruction) and node.operands else None
            found = self._label(target.name, self.scopes[at], around) if isinstance(target, tree.Symbol) else None
            if found is not None and isinstance(node, nodes.Instruction):
                self._take(Jump(at, found, node.guard is not None))

        self._entered = sorted(self._jumps_to)

    def _take(self, jump: Jump) -> None:
        self.jumps.append(jump)
        self._jumps_to.setdefault(jump.target, []).append(jump)
        self._jump_at[jump.at] = jump

    def _label(self, name: str, scope: int, around: dict[int, int]) -> int | None:
        while scope >= self.start - 1:
            found = self.labels.get((scope, name))
            if found is not None:
                return found
            scope = around[scope]
        return None

    def derived(self, make: Callable[[Body], T]) -> T:
        """Return what a function makes of the body, which is made once."""
        if make not in self._derived:
            self._derived[make] = make(self)
        return cast("T", self._derived[make])

    def instruction(self, at: int) -> nodes.Instruction | None:
        """Return the instruction at a place, if one is there."""
        node = self.items[at].node
        return node if isinstance(node, nodes.Instruction) else None

    def places(self, *mnemonics: str) -> Sequence[int]:
        """Return where the instructions of these mnemonics are, the first words of their opcodes, in their order."""
        found = [self._places[each] for each in mnemonics if each in self._places]
        return found[0] if len(found) == 1 else sorted(chain.from_iterable(found))

    def instructions(self) -> Iterator[tuple[int, nodes.Instruction]]:
        """Yield all instructions and their places."""
        for at in range(self.start, self.end):
            node = self.items[at].node
            if isinstance(node, nodes.Instruction):
                yield at, node

    def jump_at(self, at: int) -> Jump | None:
        """Return the jump at a place, if one to a label is there."""
        return self._jump_at.get(at)

    def jumps_to(self, label: int) -> list[Jump]:
        """Return the jumps to the label at a place, in the order of the text."""
        return self._jumps_to.get(label, [])

    def is_closed(self, start: int, end: int) -> bool:
        """Tell whether nothing outside of `start` to `end` jumps between the two."""
        first = bisect_right(self._entered, start)
        for label in self._entered[first:]:
            if label >= end:
                return True
            jumps = self._jumps_to[label]
            if not start <= jumps[0].at <= jumps[-1].at < end:
                return False
        return True

    def branch(self, at: int) -> nodes.Instruction:
        """Return the instruction that is at a place."""
        node = self.items[at].node
        if not isinstance(node, nodes.Instruction):
            raise TypeError(f"item {at} is no instruction")
        return node

    def label(self, at: int) -> str:
        """Return the name of the label at a place."""
        node = self.items[at].node
        if not isinstance(node, nodes.Label):
            raise TypeError(f"item {at} is no label")
        return node.name

    def marks(self, at: int) -> bool:
        """Tell whether a label is there that marks a place for debuggers: before a `.loc`, and nothing leads there."""
        items = self.items
        behind = items[at + 1].node if at + 1 < self.end else None
        return isinstance(items[at].node, nodes.Label) and isinstance(behind, nodes.Loc) and not self.jumps_to(at)

    def deviates(self, at: int) -> bool:
        """Return whether an item has a lead or a spelling of its own, or is written unchecked."""
        return at in self.row.deviating


def spelling_of(item: Item) -> str | None:
    """Return the spelling that an item has of its own; braces have none."""
    return None if item.node is None or item.kind == "{" else item.raw
