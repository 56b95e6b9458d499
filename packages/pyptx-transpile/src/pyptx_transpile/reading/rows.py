"""A module as a flat list of items (statements and braces) in text order, and queries about its bodies."""

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
    """Items (statements and braces) of a module; `ends[i]` is the index of the brace that closes the brace at `i`."""

    def __init__(
        self,
        module: nodes.Module,
        row: list[Item] | None = None,
        *,
        part_of: Row | None = None,
    ) -> None:
        """Flatten `module` to items (statements and braces), or store the items in the list `row`.

        A `Row` that is `part_of` another `Row` uses the operator opcodes and derived values of that other `Row`.
        """
        self.module = module
        self._whole = part_of
        self._spelled: dict[str, dict[str, str]] | None = None
        self._derived: dict[Callable[[Row], object], object] = {}
        self.items: list[Item] = list(items(module)) if row is None else row
        self.ends: dict[int, int] = {}
        self.refused: dict[int, str] = {}
        """Reasons to print statements with `unchecked=True`, by index in `items`."""
        self._bodies: list[Body] | None = None
        opened: list[int] = []
        for at, item in enumerate(self.items):
            if item.kind in OPENING:
                opened.append(at)
            elif item.kind in CLOSING:
                self.ends[opened.pop()] = at

    @property
    def is_whole(self) -> bool:
        """Whether `items` are the statements and braces of a whole module, not a part of another `Row`."""
        return self._whole is None

    @cached_property
    def deviating(self) -> frozenset[int]:
        """Indices of statements and braces with their own leading trivia or source text, or with `unchecked=True`."""
        found = (
            at for at, item in enumerate(self.items) if item.leading_trivia is not None or spelling_of(item) is not None
        )
        return frozenset(found) | self.refused.keys()

    def spelled(self) -> dict[str, dict[str, str]]:
        """Return the opcode that each Python operator emits in this module, by register type and operation."""
        if self._whole is not None:
            return self._whole.spelled()
        if self._spelled is None:
            from pyptx_transpile.reading.spelling import spelled

            self._spelled = spelled(self)
        return self._spelled

    def bodies(self) -> list[Body]:
        """Return the bodies of the module's functions."""
        if self._bodies is None:
            starts = [at for at, item in enumerate(self.items) if item.kind == "body{"]
            self._bodies = [Body(self, at + 1, self.ends[at]) for at in starts]
        return self._bodies

    def derived(self, make: Callable[[Row], T]) -> T:
        """Return `make(self)`, or `make` of the `Row` that contains this one; computed once."""
        if self._whole is not None:
            return self._whole.derived(make)
        if make not in self._derived:
            self._derived[make] = make(self)
        return cast("T", self._derived[make])


@dataclass(frozen=True, slots=True)
class Jump:
    """Branch to a label: indices of branch and label in `Row.items`; `guarded`: whether the branch may fall through."""

    at: int
    target: int
    guarded: bool


class Body:
    """Body of a function: items (statements and braces) `start` to before `end` of a `Row`, its labels and branches.

    `scopes[i]` is the index of the innermost open brace at index `i`. Labels are visible in their scope only; `listed`
    labels are targets of indirect branches. Register declarations of the body start at `declared`, which may precede
    `start`.
    """

    def __init__(self, row: Row, start: int, end: int, *, declared: int | None = None) -> None:
        """Store the bounds of the body, and find its labels and branches."""
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
        """Return `make(self)`, computed once per body."""
        if make not in self._derived:
            self._derived[make] = make(self)
        return cast("T", self._derived[make])

    def instruction(self, at: int) -> nodes.Instruction | None:
        """Return the instruction at index `at` of `items`; None for any other statement and for a brace."""
        node = self.items[at].node
        return node if isinstance(node, nodes.Instruction) else None

    def places(self, *mnemonics: str) -> Sequence[int]:
        """Return the sorted indices of instructions with these mnemonics (first token of the opcode)."""
        found = [self._places[each] for each in mnemonics if each in self._places]
        return found[0] if len(found) == 1 else sorted(chain.from_iterable(found))

    def instructions(self) -> Iterator[tuple[int, nodes.Instruction]]:
        """Yield each instruction of the body with its index in `items`."""
        for at in range(self.start, self.end):
            node = self.items[at].node
            if isinstance(node, nodes.Instruction):
                yield at, node

    def jump_at(self, at: int) -> Jump | None:
        """Return the `Jump` at index `at` of `items`; None if that statement is not a branch to a label."""
        return self._jump_at.get(at)

    def jumps_to(self, label: int) -> list[Jump]:
        """Return each `Jump` to the label at index `label` of `items`, in text order."""
        return self._jumps_to.get(label, [])

    def is_closed(self, start: int, end: int) -> bool:
        """Return whether no branch from outside the range `start` to `end` targets a label strictly inside."""
        first = bisect_right(self._entered, start)
        for label in self._entered[first:]:
            if label >= end:
                return True
            jumps = self._jumps_to[label]
            if not start <= jumps[0].at <= jumps[-1].at < end:
                return False
        return True

    def branch(self, at: int) -> nodes.Instruction:
        """Return the instruction at index `at` of `items`; raise TypeError for any other statement."""
        node = self.items[at].node
        if not isinstance(node, nodes.Instruction):
            raise TypeError(f"index {at} has no instruction")
        return node

    def label(self, at: int) -> str:
        """Return the name of the label at index `at` of `items`; raise TypeError for any other statement."""
        node = self.items[at].node
        if not isinstance(node, nodes.Label):
            raise TypeError(f"index {at} has no label")
        return node.name

    def marks(self, at: int) -> bool:
        """Return whether index `at` has a label for debuggers: a `.loc` follows, and no branch targets the label."""
        items = self.items
        behind = items[at + 1].node if at + 1 < self.end else None
        return isinstance(items[at].node, nodes.Label) and isinstance(behind, nodes.Loc) and not self.jumps_to(at)

    def deviates(self, at: int) -> bool:
        """Return whether the statement at index `at` has its own leading trivia or source text, or is unchecked."""
        return at in self.row.deviating


def spelling_of(item: Item) -> str | None:
    """Return the source text stored with a statement, if any; None for braces."""
    return None if item.node is None or item.kind == "{" else item.raw
