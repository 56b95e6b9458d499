"""Which rule says which part of a body.

A rule claims a slice of a body's items: what it writes itself, and inner slices, which others write. Claims are apart
from each other, or one lies in an inner slice of the other; so each item is written once, in the order of the source.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from pyptx_transpile.errors import RuleError
from pyptx_transpile.label_schemes import expected_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from pyptx_ir.plugins.rows import SugarRule
    from pyptx_transpile.body_printer import BodyPrinter
    from pyptx_transpile.layout import Expression
    from pyptx_transpile.outlined import Helper
    from pyptx_transpile.rows import Body

Key: TypeAlias = "tuple[str, int, int]"
"""A rule and a slice, by which a claim is known from one planning to the next."""
DEEPEST = 15  # blocks of Python in one another; CPython compiles no more than 20


@dataclass(frozen=True, slots=True)
class Constant:
    """A name of the printed file, and what it is bound to above all functions; it may be `made_of` another one."""

    name: str
    value: Expression
    made_of: Constant | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """What a rule makes of the items from `start` to before `end`.

    `write` prints it; it is handed the slots of the `inner` slices, and calls `printer.slot` for each, in order.
    `opens` counts the blocks of Python that stand around these, `names` are variables that it binds, `constants` what
    of the file's own it reads (`SPELLING`), `shared` what it reads that rules bring. `loops` says that it is a loop,
    `exits` at which label the code behind it begins, if `ptx.break_` may go there. `helper` is the function that it
    calls; then what other claims say of these items is left out. A claim that `repeats` has turns for inner slices,
    which one text says: claims inside are left out unless each turn has its own, of one rule, and `like` each other.

    `labels` are those that it defines, and `jumps` the branches that it says, without a name if the label needs none.
    Such a label may have a variable, much as `binds` says, for the claims that it is what they `leave`.

    `lines` are those that it writes, by estimate, if it has no inner slices.
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
    leave: Claim | None = None
    lines: int = 3

    @property
    def key(self) -> Key:
        """The rule and the slice."""
        return self.rule, self.start, self.end

    def own(self) -> Iterator[int]:
        """Yield the places of the items that it says by itself; what `repeats` is not taken apart, and says all."""
        at = self.start
        for start, end in () if self.repeats else self.inner:
            yield from range(at, start)
            at = end
        yield from range(at, self.end)


class FaultyClaimError(Exception):
    """What a rule raised while its claim was printed."""

    def __init__(self, body: Body, claim: Claim, cause: Exception) -> None:
        """Say of which body the claim is."""
        super().__init__(f"{type(cause).__name__}: {cause}")
        self.body, self.claim = body, claim


@dataclass(slots=True, eq=False)
class Slot:
    """A slice that others write, and the claims in it, in order; `depth` counts the blocks of Python around it.

    A `turn` is one of those that a claim repeats.
    """

    start: int
    end: int
    depth: int
    turn: bool = False
    claims: list[Placed] = field(default_factory=list["Placed"])
    starts: list[int] = field(default_factory=list[int])

    def at(self, place: int) -> Placed | None:
        """Return the claim that has the item at a place."""
        index = bisect_right(self.starts, place) - 1
        return self.claims[index] if index >= 0 and place < self.claims[index].claim.end else None


@dataclass(slots=True, eq=False)
class Placed:
    """An accepted claim and its slots."""

    claim: Claim
    slots: tuple[Slot, ...]

    def slot_of(self, start: int, end: int) -> Slot | None:
        """Return the slot that has a whole slice."""
        return next((slot for slot in self.slots if slot.start <= start and end <= slot.end), None)


class Plan:
    """The claims on one body that were accepted, as a tree."""

    def __init__(
        self,
        body: Body,
        withdrawn: frozenset[Key],
        contested: frozenset[int] = frozenset(),
        calls: Sequence[Claim] = (),
    ) -> None:
        """Start with none; those of the keys `withdrawn` are not accepted.

        `contested` are labels that branches lead to which no claim can say, if one of these branches has the label.
        `calls` are those of functions that stand for what the module has several times.
        """
        self.body, self.contested = body, contested
        self.root = Slot(body.start, body.end, 0)
        self.calls = calls
        self.has_helpers = False
        """Whether a claim that calls a helper was ever accepted."""
        self.unrolled: frozenset[Key] = frozenset()
        """The claims that print turn by turn what they repeat."""
        self._unnamed: frozenset[int] | None = None
        self._items = body.items
        self._withdrawn = withdrawn
        self._refused = frozenset(body.row.refused)

    def accept(self, claim: Claim) -> bool:
        """Take a claim, unless it was withdrawn, crosses another one, or would nest too deep.

        A claim of a statement that is written unchecked must print it as a statement: as a loop or a function does.
        """
        as_statements = claim.repeats or claim.helper is not None
        if claim.key in self._withdrawn or not (as_statements or self._refused.isdisjoint(claim.own())):
            return False
        slot = self.root
        while (placed := slot.at(claim.start)) is not None:
            inner = placed.slot_of(claim.start, claim.end)
            if inner is None:
                break
            slot = inner
        first = bisect_right(slot.starts, claim.start - 1)
        if first and slot.claims[first - 1].claim.end > claim.start:
            return False
        last = bisect_right(slot.starts, claim.end - 1)
        inside = slot.claims[first:last]
        depth = slot.depth + claim.opens
        slots = tuple([Slot(start, end, depth, claim.repeats) for start, end in claim.inner])
        if claim.helper is not None and all(other.claim.end <= claim.end for other in inside):
            inside = []
        for other in inside:
            holder = next((one for one in slots if one.start <= other.claim.start and other.claim.end <= one.end), None)
            if holder is None:
                return False
            holder.claims.append(other)
            holder.starts.append(other.claim.start)
        if depth + self._items[claim.start].depth + max(map(_height, inside), default=0) > DEEPEST:
            return False
        _deepen(inside, claim.opens)
        self.has_helpers = self.has_helpers or claim.helper is not None
        slot.claims[first:last] = [Placed(claim, slots)]
        slot.starts[first:last] = [claim.start]
        return True

    def around(self, place: int) -> Iterator[Claim]:
        """Yield the claims in whose inner slices an item lies, the outermost first."""
        slot: Slot | None = self.root
        while slot is not None and (placed := slot.at(place)) is not None:
            slot = placed.slot_of(place, place + 1)
            if slot is not None:
                yield placed.claim

    def owner(self, place: int) -> Claim | None:
        """Return the claim that says an item by itself."""
        slot: Slot | None = self.root
        while slot is not None and (placed := slot.at(place)) is not None:
            slot = placed.slot_of(place, place + 1)
            if slot is None:
                return placed.claim
        return None

    def slot(self, place: int) -> Slot | None:
        """Return the innermost slot that has an item which no claim says by itself; None for others."""
        slot: Slot | None = self.root
        while slot is not None and (placed := slot.at(place)) is not None:
            slot = placed.slot_of(place, place + 1)
        return slot

    def unclaimed(self) -> Iterator[range]:
        """Yield the rows of items that no claim says by itself, each in one slot, in the order of the text."""
        yield from _unclaimed(self.root)

    def in_turn(self, place: int) -> bool:
        """Tell whether an item that no claim says by itself is one of several that a loop says."""
        slot = self.slot(place)
        return slot is not None and slot.turn

    def settle(self) -> None:
        """Leave out the claims inside of turns that not all turns have."""
        _settle(self.root)
        self._unnamed = None

    def unnamed(self) -> frozenset[int]:
        """Return the places of the labels that no claim has to name: what is called by its place, and its branches."""
        if self._unnamed is None:
            expected = expected_labels(self.body)
            defined, said = set[int](), set[int]()
            for claim in self.claims() if expected else ():
                defined.update(claim.labels)
                said.update(claim.jumps)
            self._unnamed = frozenset(
                at for at in expected & defined if all(jump.at in said for jump in self.body.jumps_to(at))
            )
        return self._unnamed

    def outermost(self, place: int, beside: int) -> int | None:
        """Return where what has the item at `place` starts, in the slot that has the item `beside`; None outside it."""
        slot = self.root
        while (placed := slot.at(place)) is not None:
            inner = placed.slot_of(place, place + 1)
            if inner is None or not inner.start <= beside < inner.end:
                place = placed.claim.start
                break
            slot = inner
        return place if slot.at(beside) is None else None

    def claims(self) -> Iterator[Claim]:
        """Yield all claims, by where they start, outer ones first."""
        stack = list(reversed(self.root.claims))
        while stack:
            placed = stack.pop()
            yield placed.claim
            for slot in reversed(placed.slots):
                stack += reversed(slot.claims)


def _unclaimed(slot: Slot) -> Iterator[range]:
    at = slot.start
    for placed in slot.claims:
        if placed.claim.start > at:
            yield range(at, placed.claim.start)
        for inner in placed.slots:
            yield from _unclaimed(inner)
        at = placed.claim.end
    if slot.end > at:
        yield range(at, slot.end)


def _settle(slot: Slot) -> None:
    for placed in slot.claims:
        for inner in placed.slots:
            _settle(inner)
        if placed.claim.repeats:
            common = set.intersection(*({_likeness(one, turn.start) for one in turn.claims} for turn in placed.slots))
            for turn in placed.slots:
                turn.claims = [one for one in turn.claims if _likeness(one, turn.start) in common]
                turn.starts = [one.claim.start for one in turn.claims]


def _likeness(placed: Placed, origin: int) -> Hashable:
    """Return what is equal for claims that say the same of slices with these origins."""
    claim = placed.claim
    inner = [tuple([_likeness(one, origin) for one in slot.claims]) for slot in placed.slots]
    return claim.rule, claim.start - origin, claim.end - origin, claim.like, tuple(inner)


def _height(placed: Placed) -> int:
    """Return how many blocks of Python stand in one another inside a claim, its own too."""
    inner = max((_height(one) for slot in placed.slots for one in slot.claims), default=0)
    return placed.claim.opens + inner


def _deepen(claims: Iterable[Placed], by: int) -> None:
    for placed in claims:
        for slot in placed.slots:
            slot.depth += by
            _deepen(slot.claims, by)


def planned(
    body: Body,
    rules: Iterable[SugarRule],
    withdrawn: frozenset[Key] = frozenset(),
    calls: Sequence[Claim] = (),
) -> Plan:
    """Ask the rules one after the other about a body; return what they may say."""
    rules = tuple(rules)
    contested: frozenset[int] = frozenset()
    while True:
        plan = Plan(body, withdrawn, contested, calls)
        for rule in rules:
            ask(rule, plan)
        left = {
            jump.target for jump in body.jumps if plan.owner(jump.at) is None and plan.owner(jump.target) is not None
        }
        if left <= contested:
            plan.settle()
            return plan
        contested |= left


def ask(rule: SugarRule, plan: Plan) -> None:
    """Let a plan accept what a rule claims."""
    try:
        for claim in rule.find(plan.body, plan):
            plan.accept(claim)
    except Exception as error:
        hint = f"leave it out: --rules=-{rule.name}"
        raise RuleError(f"the rule {rule.name!r} raises {type(error).__name__}: {error}", hint=hint) from error
