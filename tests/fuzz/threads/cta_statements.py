"""Random statements of CTAs: barriers, mbarriers, and flags between CTAs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from .choices import DATA, FLAGS, WORDS, exits
from .programs import (
    WARP,
    Arrive,
    Atomic,
    Await,
    Break,
    If,
    Let,
    Load,
    Loop,
    Poll,
    Publish,
    Signal,
    Store,
    Sync,
    SyncReduce,
)
from .warp_statements import WarpStatements

if TYPE_CHECKING:
    from .choices import Region, Statements
    from .programs import Operand, Statement

FORMS: Final = ("bar.sync", "barrier.sync", "barrier.sync.aligned")
REDUCING: Final = ("bar.red", "barrier.red", "barrier.red.aligned")


class CtaStatements(WarpStatements):
    """Generator of statements of whole warps or of the whole CTA."""

    def count(self) -> int | None:
        """Return a thread count for a CTA barrier; None for all threads of the CTA."""
        if not self.exited and self.coin():
            return None
        return WARP * -(-self.threads // WARP)

    def sync(self) -> Statement:
        return Sync(self.chance.choice(FORMS), self.barriers[0] if self.coin() else self.barriers[1], self.count())

    def exchange(self, region: Region) -> Statements:
        """Return an exchange of words between any threads of the CTA, with barriers before and after the loads."""
        base, at, d = 2 * self.threads, self.name("c"), self.variable()
        where: Statements = self.chance.choice(
            (
                [Let(at, "sub", self.threads - 1, "tid")],
                [Let(at, "rem", self.operand(), self.threads)],
                [Let(at, "add", "tid", self.chance.randrange(1, 99)), Let(at, "rem", at, self.threads)],
            )
        )
        store = Store("shared", base, "tid", self.operand())
        between: Statements = [self.sync()]
        if self.chance.random() < 0.3:
            c, made = self.condition(region)
            between = [*made, SyncReduce(self.variable(), *self.reduction(c))]
        return [*where, store, *self.diverged(region), *between, Load(d, "shared", base, at), self.sync()]

    def diverged(self, region: Region) -> Statements:
        return self.private_branch(region) if self.coin() else []

    def reduction(self, c: Operand) -> tuple[str, str, Operand, int | None, Operand]:
        form, op = self.chance.choice(REDUCING), self.chance.choice(("or", "and", "popc"))
        return form, op, self.barriers[2], self.count(), c

    def reduced(self, region: Region) -> Statements:
        """Return a barrier with a reduction after other statements, such as a branch or a loop."""
        c, made = self.condition(region)
        before = self.chance.choice((self.private_branch, self.private_branch, self.private_loop, self.arithmetic))
        found = [*made, *before(region), SyncReduce(self.variable(), *self.reduction(c))]
        return found if isinstance(found[-1], SyncReduce) else []

    def two_barriers(self, region: Region) -> Statements:
        """Return a non-aligned barrier at which lanes of a warp arrive by two instructions."""
        c, made = self.condition(region)
        count, name = self.count(), self.barriers[3]
        sides = ((*self.private(region), Sync("barrier.sync", name, count), *self.private(region)) for _ in range(2))
        then, other = sides
        return [*made, If(c, then, other), self.sync()]

    def phase(self, region: Region) -> Statements:
        """Return an exchange of words through an mbarrier phase; diverged lanes may arrive by two instructions."""
        base, at = 2 * self.threads, self.name("c")
        arrive: Statements = [Signal(0)]
        if self.coin():
            c, made = self.condition(region)
            then, other = (Signal(0), *self.private(region)), (*self.private(region), Signal(0))
            arrive = [*made, If(c, then, other)]
        return [
            Let(at, "rem", self.operand(), self.threads), Store("shared", base, "tid", self.operand()), *arrive,
            *self.diverged(region), Await(0, "phase", self.chance.choice(("try_wait", "test_wait"))),
            Let("phase", "add", "phase", 1), Load(self.variable(), "shared", base, at), self.sync(),
        ]  # fmt: skip

    def warps_apart(self, region: Region) -> Statements:
        """Return a branch of whole warps; each side has its own barriers."""
        split = self.chance.randrange(1, len(region.warps))
        c = self.name("c")
        deeper = replace(region, depth=region.depth + 1, all_warps=False)
        then = self.body(replace(deeper, warps=region.warps[:split]))
        other = self.body(replace(deeper, warps=region.warps[split:]))
        found: Statements = [Let(c, "lt", "warp", region.warps[split]), If(c, tuple(then), tuple(other))]
        return self.noted(region, found)

    def exchange_among_warps(self, region: Region) -> Statements:
        """Return an exchange of words among the warps of one side of a branch."""
        base, at, low = 2 * self.threads, self.name("c"), WARP * region.warps[0]
        size = min(self.threads, WARP * (region.warps[-1] + 1)) - low
        name, count = self.barriers[4 + region.warps[0]], WARP * len(region.warps)
        syncs = [Sync(self.chance.choice(FORMS), name, count) for _ in range(2)]
        where: Statements = [Let(at, "rem", self.operand(), size), Let(at, "add", at, low)]
        store = Store("shared", base, "tid", self.operand())
        load = Load(self.variable(), "shared", base, at)
        return [*where, store, *self.diverged(region), syncs[0], load, syncs[1]]

    def producers(self, region: Region) -> Statements:
        """Return a barrier at which some warps arrive; the other warps wait and load words of the arriving warps."""
        split = self.chance.randrange(1, len(region.warps))
        base, c, at = 2 * self.threads, self.name("c"), self.name("c")
        name, count = self.barriers[12], WARP * len(region.warps)
        produce = (
            Store("shared", base, "tid", self.operand()), *self.private(region),
            Arrive(self.chance.choice(("bar.arrive", "barrier.arrive", "barrier.arrive.aligned")), name, count),
            *self.private(region),
        )  # fmt: skip
        consume = (
            *self.private(region), Let(at, "rem", self.operand(), WARP * split),
            Sync(self.chance.choice(FORMS), name, count), Load(self.variable(), "shared", base, at),
        )  # fmt: skip
        return [Let(c, "lt", "warp", region.warps[split]), If(c, produce, consume), self.sync()]

    def block_loop(self, region: Region) -> Statements:
        """Return a loop of the whole CTA; a barrier with a reduction may end it."""
        counter = self.name("i")
        inner = replace(region, depth=region.depth + 1, loops=1)
        before, outer = self.exited, self.left
        # After the first iteration, the membermask may be inexact and threads may have exited.
        self.exited, self.left = True, min(outer, self.chance.randint(1, 4))
        body = self.body(replace(inner, exact=False))
        self.left = outer - 2
        self.exited = before or exits(body)
        if self.coin():
            d, c = self.name("c"), self.name("c")
            shown = Let(c, "lt", self.operand(), self.chance.getrandbits(32))
            body += [shown, SyncReduce(d, *self.reduction(c)), Break(d)]
        found: Statements = [Loop(counter, self.chance.randint(2, 3), tuple(body), rotated=self.coin())]
        return self.noted(region, found)

    def last_arrival(self, _: Region) -> Statements:
        """Return statements: each thread stores a word and increments a counter; the last to do so loads two words."""
        self.last, size = True, self.ctas * self.threads
        base, at = WORDS + 2 * size, self.chance.choices(range(size), k=2)
        arrived, last, one, other = self.name("u"), self.name("c"), self.name("u"), self.name("u")
        loads = (Load(d, "global", base + 2, i) for d, i in zip((one, other), at, strict=True))
        add = (*loads, Let(one, "add", one, other), Store("global", base + 1, 0, one))
        return [
            Store("global", base + 2, "gid", self.operand()),
            Atomic(arrived, "global", "add", base, 0, 1, acq_rel=True),
            Let(last, "eq", arrived, size - 1),
            If(last, add, guarded=self.coin()),
        ]

    def message(self, _: Region) -> Statements:
        """Return statements: a thread of one CTA publishes a word by a flag; other CTAs poll it and load the word."""
        flag, value, here = self.flags, self.chance.randrange(1, 99), self.chance.randrange(self.ctas)
        self.flags += 1
        c, one, first = self.name("c"), self.name("c"), self.name("c")
        publish = (Store("global", DATA + flag, 0, self.operand()), Publish(FLAGS + flag, value))
        poll = (Poll(FLAGS + flag, value), Load(self.variable(), "global", DATA + flag, 0))
        return [
            Let(c, "eq", "cta", here), Let(one, "eq", "tid", 0),
            If(c, (If(one, publish),), poll), Let(first, "mov", 0),
        ]  # fmt: skip
