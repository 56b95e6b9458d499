"""Rewrite plan of a function body.

A rule rewrites a slice of a body's items (statements and braces): the items that the `Rewrite` prints itself, and inner
slices, which other rewrites print. Two rewrites are disjoint, or one is within an inner slice of the other. So each
item is printed once, in source order.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from pyptx_transpile.errors import RuleError
from pyptx_transpile.reading.label_schemes import expected_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from pyptx_ir.plugins.rows import SugarRule
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.printing.layout import Expression
    from pyptx_transpile.printing.outlined import Helper
    from pyptx_transpile.reading.rows import Body

Key: TypeAlias = "tuple[str, int, int]"
"""Key of a rewrite: rule, start and end, which identify the rewrite when a body is planned again."""
DEEPEST = 15  # maximum nesting of Python blocks; CPython compiles at most 20


@dataclass(frozen=True, slots=True)
class Constant:
    """Module-level constant of the printed file, before all functions; its value may use the constant `made_of`."""

    name: str
    value: Expression
    made_of: Constant | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Rewrite:
    """Rewrite by one rule of the items (statements and braces) from index `start` to before `end`.

    - `write` prints the rewrite; it gets the slots of the `inner` slices and calls `printer.slot` for each, in order.
    - `opens`: number of nested Python blocks around the inner slices.
    - `names`: Python variables that the rewrite binds.
    - `constants`: constants of the printed file that the rewrite reads (`SPELLING`); `shared`: constants of rules that
      the rewrite reads.
    - `loops`: whether the rewrite is a loop.
    - `exits`: index of the label after the rewrite, if `ptx.break_` may branch there.
    - `helper`: helper function that the rewrite calls; rewrites of the replaced items are then dropped.
    - `repeats`: the inner slices are iterations printed by one text. A rewrite in an iteration is dropped unless every
      iteration has an equal rewrite, of the same rule and with equal `like`.
    - `labels`: labels that the rewrite defines; `jumps`: branches that the rewrite prints, without a label name if the
      label needs no name.
    - `binds`: preferred Python variable for the label of the rewrite; rewrites whose `leave` is this rewrite use it.
    - `lines`: estimated number of printed lines, if the rewrite has no inner slices.
    """

    rule: str
    start: int
    end: int
    write: Callable[[BodyPrinter, tuple[Slot, ...]], None]
    inner: tuple[tuple[int, int], ...] = ()
    opens: int = 1
    names: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    shared: tuple[Constant, ...] = ()
    loops: bool = False
    exits: int | None = None
    helper: Helper | None = None
    repeats: bool = False
    like: Hashable = None
    labels: tuple[int, ...] = ()
    jumps: tuple[int, ...] = ()
    binds: str = ""
    leave: Rewrite | None = None
    lines: int = 3

    @property
    def key(self) -> Key:
        """Key of the rewrite: its rule and the bounds of its slice."""
        return self.rule, self.start, self.end

    def own(self) -> Iterator[int]:
        """Yield the indices of the statements that no inner rewrite prints; all of the slice if `repeats` is set."""
        at = self.start
        for start, end in () if self.repeats else self.inner:
            yield from range(at, start)
            at = end
        yield from range(at, self.end)


class FaultyRewriteError(Exception):
    """Error in a rule's `write` function, raised while a rewrite is printed."""

    def __init__(self, body: Body, rewrite: Rewrite, cause: Exception) -> None:
        """Store the body and the rewrite whose printing failed."""
        super().__init__(f"{type(cause).__name__}: {cause}")
        self.body, self.rewrite = body, rewrite


@dataclass(slots=True, eq=False)
class Slot:
    """Inner slice of a rewrite, with the nested rewrites in order; `depth` is the number of Python blocks around it.

    `turn`: whether the slot is an iteration of a rewrite that `repeats`.
    """

    start: int
    end: int
    depth: int
    turn: bool = False
    rewrites: list[Placed] = field(default_factory=list["Placed"])
    starts: list[int] = field(default_factory=list[int])

    def at(self, place: int) -> Placed | None:
        """Return the rewrite in this slot whose slice contains index `place`; None if no rewrite does."""
        index = bisect_right(self.starts, place) - 1
        return self.rewrites[index] if index >= 0 and place < self.rewrites[index].rewrite.end else None


@dataclass(slots=True, eq=False)
class Placed:
    """Accepted rewrite with a `Slot` for each of its inner slices."""

    rewrite: Rewrite
    slots: tuple[Slot, ...]

    def slot_of(self, start: int, end: int) -> Slot | None:
        """Return the slot (inner slice) that contains the indices `start` to before `end`; None if no slot does."""
        return next((slot for slot in self.slots if slot.start <= start and end <= slot.end), None)


class RewritePlan:
    """Accepted rewrites of one function body, as a tree."""

    def __init__(
        self,
        body: Body,
        rejected: frozenset[Key],
        contested: frozenset[int] = frozenset(),
        calls: Sequence[Rewrite] = (),
    ) -> None:
        """Create a plan without rewrites; a rewrite whose key is in `rejected` is not accepted.

        `contested`: targets of branches that no rewrite prints; rewrites must not define these labels. `calls`: calls
        of helpers for sequences that occur several times in the module.
        """
        self.body, self.contested = body, contested
        self.root = Slot(body.start, body.end, 0)
        self.calls = calls
        self.has_helpers = False
        """Whether the plan has ever accepted a rewrite that calls a helper function."""
        self.unrolled: frozenset[Key] = frozenset()
        """Keys (rule, start, end) of the loop rewrites that are printed unrolled, iteration by iteration."""
        self._unnamed: frozenset[int] | None = None
        self._items = body.items
        self._rejected = rejected
        self._refused = frozenset(body.row.refused)

    def accept(self, rewrite: Rewrite) -> bool:
        """Accept a rewrite, unless it is in `rejected`, partly overlaps another rewrite, or would nest too deep.

        A rewrite of a statement with the instruction check off must print it as a statement, as loops and functions do.
        """
        as_statements = rewrite.repeats or rewrite.helper is not None
        if rewrite.key in self._rejected or not (as_statements or self._refused.isdisjoint(rewrite.own())):
            return False
        slot = self.root
        while (placed := slot.at(rewrite.start)) is not None:
            inner = placed.slot_of(rewrite.start, rewrite.end)
            if inner is None:
                break
            slot = inner
        first = bisect_right(slot.starts, rewrite.start - 1)
        if first and slot.rewrites[first - 1].rewrite.end > rewrite.start:
            return False
        last = bisect_right(slot.starts, rewrite.end - 1)
        inside = slot.rewrites[first:last]
        depth = slot.depth + rewrite.opens
        slots = tuple([Slot(start, end, depth, rewrite.repeats) for start, end in rewrite.inner])
        if rewrite.helper is not None and all(other.rewrite.end <= rewrite.end for other in inside):
            inside = []
        for other in inside:
            holder = next(
                (one for one in slots if one.start <= other.rewrite.start and other.rewrite.end <= one.end), None
            )
            if holder is None:
                return False
            holder.rewrites.append(other)
            holder.starts.append(other.rewrite.start)
        if depth + self._items[rewrite.start].depth + max(map(_height, inside), default=0) > DEEPEST:
            return False
        _deepen(inside, rewrite.opens)
        self.has_helpers = self.has_helpers or rewrite.helper is not None
        slot.rewrites[first:last] = [Placed(rewrite, slots)]
        slot.starts[first:last] = [rewrite.start]
        return True

    def around(self, place: int) -> Iterator[Rewrite]:
        """Yield the rewrites whose inner slices contain index `place` of the module's items, outermost first."""
        slot: Slot | None = self.root
        while slot is not None and (placed := slot.at(place)) is not None:
            slot = placed.slot_of(place, place + 1)
            if slot is not None:
                yield placed.rewrite

    def owner(self, place: int) -> Rewrite | None:
        """Return the rewrite that itself prints the statement or brace at index `place`; None if no rewrite does."""
        slot: Slot | None = self.root
        while slot is not None and (placed := slot.at(place)) is not None:
            slot = placed.slot_of(place, place + 1)
            if slot is None:
                return placed.rewrite
        return None

    def slot(self, place: int) -> Slot | None:
        """Return the innermost slot around index `place`; None if a rewrite itself prints the statement there."""
        slot: Slot | None = self.root
        while slot is not None and (placed := slot.at(place)) is not None:
            slot = placed.slot_of(place, place + 1)
        return slot

    def unclaimed(self) -> Iterator[range]:
        """Yield the index ranges of statements that no rewrite itself prints, each within one slot, in text order."""
        yield from _unclaimed(self.root)

    def in_turn(self, place: int) -> bool:
        """Return whether the innermost slot around index `place` is a loop iteration; false if `slot` returns None."""
        slot = self.slot(place)
        return slot is not None and slot.turn

    def settle(self) -> None:
        """Drop each rewrite inside a loop iteration that does not occur in all iterations of the loop."""
        _settle(self.root)
        self._unnamed = None

    def unnamed(self) -> frozenset[int]:
        """Return the indices of labels that are printed without a name.

        Their names follow from their positions, and rewrites print all branches to them.
        """
        if self._unnamed is None:
            expected = expected_labels(self.body)
            defined, said = set[int](), set[int]()
            for rewrite in self.rewrites() if expected else ():
                defined.update(rewrite.labels)
                said.update(rewrite.jumps)
            self._unnamed = frozenset(
                at for at in expected & defined if all(jump.at in said for jump in self.body.jumps_to(at))
            )
        return self._unnamed

    def outermost(self, place: int, beside: int) -> int | None:
        """Return the start of the rewrite around index `place` in the innermost slot of index `beside`, else `place`.

        None if that slot does not contain `place`.
        """
        slot = self.root
        while (placed := slot.at(place)) is not None:
            inner = placed.slot_of(place, place + 1)
            if inner is None or not inner.start <= beside < inner.end:
                place = placed.rewrite.start
                break
            slot = inner
        return place if slot.at(beside) is None else None

    def rewrites(self) -> Iterator[Rewrite]:
        """Yield all rewrites in the order of their starts, outer rewrites before nested ones."""
        stack = list(reversed(self.root.rewrites))
        while stack:
            placed = stack.pop()
            yield placed.rewrite
            for slot in reversed(placed.slots):
                stack += reversed(slot.rewrites)


def _unclaimed(slot: Slot) -> Iterator[range]:
    at = slot.start
    for placed in slot.rewrites:
        if placed.rewrite.start > at:
            yield range(at, placed.rewrite.start)
        for inner in placed.slots:
            yield from _unclaimed(inner)
        at = placed.rewrite.end
    if slot.end > at:
        yield range(at, slot.end)


def _settle(slot: Slot) -> None:
    for placed in slot.rewrites:
        for inner in placed.slots:
            _settle(inner)
        if placed.rewrite.repeats:
            common = set.intersection(*({_likeness(one, turn.start) for one in turn.rewrites} for turn in placed.slots))
            for turn in placed.slots:
                turn.rewrites = [one for one in turn.rewrites if _likeness(one, turn.start) in common]
                turn.starts = [one.rewrite.start for one in turn.rewrites]


def _likeness(placed: Placed, origin: int) -> Hashable:
    """Return a key that equal rewrites of two iterations share; its indices are relative to `origin`, a start index."""
    rewrite = placed.rewrite
    inner = [tuple([_likeness(one, origin) for one in slot.rewrites]) for slot in placed.slots]
    return rewrite.rule, rewrite.start - origin, rewrite.end - origin, rewrite.like, tuple(inner)


def _height(placed: Placed) -> int:
    """Return the nesting depth of Python blocks in a rewrite, its own blocks included."""
    inner = max((_height(one) for slot in placed.slots for one in slot.rewrites), default=0)
    return placed.rewrite.opens + inner


def _deepen(rewrites: Iterable[Placed], by: int) -> None:
    for placed in rewrites:
        for slot in placed.slots:
            slot.depth += by
            _deepen(slot.rewrites, by)


def planned(
    body: Body,
    rules: Iterable[SugarRule],
    rejected: frozenset[Key] = frozenset(),
    calls: Sequence[Rewrite] = (),
) -> RewritePlan:
    """Plan a body: apply the rules in order and return the accepted rewrites."""
    rules = tuple(rules)
    contested: frozenset[int] = frozenset()
    while True:
        plan = RewritePlan(body, rejected, contested, calls)
        for rule in rules:
            ask(rule, plan)
        left = {
            jump.target for jump in body.jumps if plan.owner(jump.at) is None and plan.owner(jump.target) is not None
        }
        if left <= contested:
            plan.settle()
            return plan
        contested |= left


def ask(rule: SugarRule, plan: RewritePlan) -> None:
    """Add the rewrites that a rule finds to the plan."""
    try:
        for rewrite in rule.find(plan.body, plan):
            plan.accept(rewrite)
    except Exception as error:
        help = f"disable it: --rules=-{rule.name}"
        raise RuleError(f"rule {rule.name!r} raised {type(error).__name__}: {error}", help=help) from error
