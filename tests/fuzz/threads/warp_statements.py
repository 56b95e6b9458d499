"""Random statements of the lanes of a warp: collectives, exchanges, and divergence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from .choices import LEADERS, WORDS, Now, Region, exits
from .programs import (
    FULL,
    WARP,
    Break,
    Continue,
    Elect,
    Exit,
    If,
    Let,
    Load,
    Loop,
    Match,
    Reduce,
    Select,
    Shuffle,
    Store,
    Vote,
    WarpSync,
)
from .thread_statements import ThreadStatements

if TYPE_CHECKING:
    from random import Random

    from .choices import Statements
    from .programs import Operand, Statement

UNDEFINED: Final = "planted"  # destination register of the shuffle that `undefined_read` adds


class WarpStatements(ThreadStatements, ABC):
    """Generator of statements of diverged lanes, whose membermask is in a register."""

    def __init__(self, chance: Random, *, undefined: bool) -> None:
        super().__init__(chance)
        self.undefined = undefined

    @abstractmethod
    def body(self, region: Region) -> Statements:
        """Return random statements for the executing lanes of a `Region`."""

    # --- collectives ------------------------------------------------------------------------------

    def some_lanes(self, region: Region) -> tuple[Operand, Statements]:
        """Return the membermask of the lane's group: all lanes of the `Region`, a tile, or one of two random groups."""
        assert region.mask is not None
        draw, m = self.chance.random(), self.name("m")
        if draw < 0.4:
            return region.mask, []
        if draw < 0.75:
            size = self.chance.choice((2, 4, 4, 8, 16))
            first = self.name("m")
            found: Statements = [
                Let(first, "and", "lane", WARP - size), Let(m, "shl", (1 << size) - 1, first),
            ]  # fmt: skip
        else:
            bits = self.chance.choice((0x55555555, 0x0F0F0F0F, 0xFFFF, 1, self.chance.getrandbits(32)))
            bit, c = self.name("m"), self.name("c")
            found = [Let(bit, "shr", bits, "lane"), Let(c, "and", bit, 1), Select(m, c, bits, ~bits & FULL)]
        return m, [*found, *([Let(m, "and", m, region.mask)] if region.mask != FULL else [])]

    def collective(self, region: Region) -> Statements:
        """Return a random warp-level instruction for a group of lanes."""
        mask, found = self.some_lanes(region)
        d = self.target(region)
        kinds = ["vote", "match", "redux", "sync", "shuffle", "shuffle"] + ["elect"] * (
            region.exact and not region.in_function
        )
        kind = self.chance.choice(kinds)
        a = self.operand(region)
        if kind == "shuffle":
            return [*found, *self.shuffle(region, d, a, mask)]
        if kind == "elect":
            one: Statement = Elect(LEADERS, mask)
        elif kind == "vote":
            c, made = self.condition(region)
            found += made
            one = Vote(d, self.chance.choice(("all", "any", "uni", "ballot")), c, mask)
        elif kind == "match":
            small = self.name("c")
            found.append(Let(small, "and", a, self.chance.choice((1, 3, FULL))))
            mode = self.chance.choice(("any", "all"))
            one = Match(d, self.target(region) if mode == "all" and self.coin() else None, mode, small, mask)
            one = replace(one, p=None) if one.p == d else one
        elif kind == "redux":
            one = Reduce(d, self.chance.choice(("add", "min", "max", "and", "or", "xor")), a, mask)
        else:
            one = WarpSync(mask)
        return [*found, one]

    def shuffle(self, region: Region, d: str, a: Operand, mask: Operand) -> Statements:
        """Return a shuffle; its result is discarded if the source lane is not in the membermask."""
        mode, width = self.chance.choice(("up", "down", "bfly", "idx")), self.chance.choice((2, 4, 8, 16, 32, 32))
        b: Operand = self.chance.randrange(WARP)
        segment = WARP - width
        clamp = 0 if mode == "up" else self.chance.choice((31, 31, width - 1, self.chance.randrange(WARP)))
        got, p, source, here = self.name("g"), self.name("c"), self.name("c"), self.name("c")
        known, found = self.live(region, mask, [])
        if mode == "idx" and self.coin():
            return [*found, Let(here, "brev", known), Let(here, "clz", here), Shuffle(d, None, mode, a, here, 31, mask)]
        return [
            *found, Shuffle(got, p, mode, a, b, segment << 8 | clamp, mask),
            *self.source(mode, source, b, segment), Select(source, p, source, "lane"),
            Let(here, "shr", known, source), Let(here, "and", here, 1), Select(d, here, got, self.operand(region)),
        ]  # fmt: skip

    def undefined_read(self, region: Region) -> Statements:
        """Return a shuffle whose result is stored even if it is undefined."""
        self.undefined = False
        mask, found = self.some_lanes(region)
        mode, width = self.chance.choice(("up", "down", "bfly", "idx")), self.chance.choice((2, 4, 8, 16, 32, 32))
        clamp = 0 if mode == "up" else self.chance.choice((31, 31, width - 1))
        shuffle = Shuffle(
            *(UNDEFINED, None, mode, self.operand(), self.chance.randrange(WARP), WARP - width << 8 | clamp, mask)
        )
        return [*found, shuffle, Store("global", WORDS + self.ctas * self.threads, "gid", UNDEFINED)]

    def source(self, mode: str, name: str, b: Operand, segment: int) -> Statements:
        """Return statements that compute a shuffle's source lane, which may be out of range."""
        op = {"up": "sub", "down": "add", "bfly": "xor"}.get(mode)
        if op:
            return [Let(name, op, "lane", b)]
        assert isinstance(b, int)
        return [Let(name, "and", "lane", segment), Let(name, "or", name, b & ~segment & 31)]

    def exchange_in_warp(self, region: Region) -> Statements:
        """Return a word exchange of lanes through shared memory, with `bar.warp.sync` before and after the loads."""
        if region.in_function:
            return self.collective(region)
        mask, found = self.some_lanes(region)
        other, here, at = self.name("c"), self.name("c"), self.name("c")
        base, d = self.threads, self.variable()
        live, found = self.live(region, mask, found)
        return [
            *found, Store("shared", base, "tid", self.operand()), WarpSync(mask),
            Let(other, "xor", "lane", self.chance.randrange(1, WARP)),
            Let(here, "shr", live, other), Let(here, "and", here, 1), Select(other, here, other, "lane"),
            Let(at, "sub", "tid", "lane"), Let(at, "add", at, other), Load(d, "shared", base, at), WarpSync(mask),
        ]  # fmt: skip

    def live(self, region: Region, mask: Operand, found: Statements) -> tuple[Operand, Statements]:
        """Return a membermask without exited and never launched lanes, and `found` plus the ballot that computes it."""
        if region.exact:
            return mask, found
        name = self.name("m")
        return name, [*found, Vote(name, "ballot", 1, mask)]

    # --- divergence -------------------------------------------------------------------------------

    def branch(self, region: Region) -> Statements:
        """Return a branch that some lanes take; each side has the membermask of its lanes in a register."""
        assert region.mask is not None
        deeper = replace(region, depth=region.depth + 1, whole=False, all_warps=False, leaving=False)
        yes, no = self.name("m"), self.name("m")
        if self.coin():
            bits = self.chance.choice((0x55555555, 0xFFFF, 0xFF, 0xF0F0F0F0, self.chance.getrandbits(32)))
            small, c = self.name("c"), self.name("c")
            found: Statements = [
                Let(small, "shr", bits, "lane"), Let(c, "and", small, 1),
                Let(yes, "and", region.mask, bits), Let(no, "and", region.mask, ~bits & FULL),
            ]  # fmt: skip
        else:
            c, made = self.condition(region)
            found = [*made, Vote(yes, "ballot", c, region.mask), Let(no, "xor", yes, region.mask)]
        then = self.body(replace(deeper, mask=yes))
        other = self.body(replace(deeper, mask=no)) if self.coin() else []
        found.append(If(c, tuple(then), tuple(other), guarded=self.chance.random() < 0.2))
        return self.noted(region, found)

    def noted(self, region: Region, found: Statements) -> Statements:
        """Return `found`; if a statement in it exits, append a marker: the membermask may include exited lanes."""
        return [*found, Now(replace(region, exact=False))] if exits(found) else found

    def loop(self, region: Region) -> Statements:
        """Return a loop that individual lanes leave; its membermask is recomputed without these lanes."""
        assert region.mask is not None
        mask, counter, c = self.name("m"), self.name("i"), self.name("c")
        inner = replace(region, mask=mask, depth=region.depth + 1, loops=region.loops + 1, whole=False, leaving=True)
        head: Statements
        if self.coin():
            low, alive = self.name("c"), self.name("m")
            head = [
                Let(low, "mul", counter, self.chance.randint(1, 12)), Let(c, "lt", "lane", low),
                Let(alive, "shl", FULL, low), Let(mask, "and", mask, alive), Break(c),
            ]  # fmt: skip
            # A lane that exits in one iteration is in the membermask of the next one.
            inner = replace(inner, exits=region.exits and self.chance.random() < 0.3)
            inner = replace(inner, exact=region.exact and not inner.exits)
        else:
            times, going = self.name("c"), self.name("c")
            head = [
                Let(times, "and", self.operand(region), 3), Let(going, "lt", counter, times), Let(c, "xor", going, 1),
                Vote(mask, "ballot", going, mask), Break(c),
            ]  # fmt: skip
            inner = replace(inner, exact=True)
        body = (*head, *self.body(inner))
        found = [Let(mask, "mov", region.mask), Loop(counter, self.chance.randint(1, 4), body, rotated=self.coin())]
        return self.noted(region, found)

    def leave_iteration(self, region: Region) -> Statements:
        """Return a break or continue of some lanes; the other lanes get a membermask without these lanes."""
        c, made = self.condition(region)
        stay, mask = self.name("c"), region.mask
        assert isinstance(mask, str)
        if self.coin() and not region.continued:
            return [*made, Let(stay, "xor", c, 1), Vote(mask, "ballot", stay, mask), Break(c)]
        rest = self.name("m")
        return [
            *made, Let(stay, "xor", c, 1), Vote(rest, "ballot", stay, mask), Continue(c),
            Now(replace(region, mask=rest, continued=True)),
        ]  # fmt: skip

    def leave_threads(self, region: Region) -> Statements:
        """Return an exit of some lanes; lane 0 of each warp stays, so that the warp arrives at later barriers."""
        c, made = self.condition(region)
        keep = self.name("c")
        found: Statements = [*made, Let(keep, "ne", "lane", 0), Let(c, "and", c, keep)]
        self.exited = True
        if self.coin():
            return [*found, Exit(c, stores=self.coin()), Now(replace(region, exact=False))]
        mask, stay = self.name("m"), self.name("c")
        found += [Let(stay, "xor", c, 1), Vote(mask, "ballot", stay, region.mask), Exit(c, stores=self.coin())]
        return [*found, Now(replace(region, mask=mask, exact=True, continued=True))]
