"""Random programs whose results the manual defines under every schedule.

The generator tracks which threads execute a body: all threads of a CTA, some whole warps, or lanes whose membermask is
in a register. This determines the legal statements. The membermask of diverged lanes comes from a ballot before the
branch, or from the lane indices. A lane shuffles from lanes of its membermask, or discards the result. An exchange
through memory is between two barriers of the participating threads. The reference checks all of these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Final

from .programs import (
    FULL,
    LOCAL,
    VARIABLES,
    WARP,
    Arrive,
    Atomic,
    Await,
    Break,
    Call,
    Continue,
    Elect,
    Exit,
    Flow,
    Function,
    If,
    Initialize,
    Let,
    Load,
    Loop,
    Match,
    Poll,
    Program,
    Publish,
    Reduce,
    Return,
    Select,
    Shuffle,
    Signal,
    Store,
    Sync,
    SyncReduce,
    Vote,
    WarpSync,
    statements,
)
from .reference import outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from .programs import Body, Operand, Statement

Statements = list["Statement"]

SIZES: Final = (1, 7, 32, 32, 33, 33, 36, 36, 40, 40, 48, 48, 63, 64, 64, 96, 100, 200)
ARITHMETIC: Final = ("add", "sub", "mul", "and", "or", "xor", "shl", "shr", "min", "max", "eq", "ne", "lt", "ge")
UNARY: Final = ("clz", "brev", "popc")
# Words of global memory: one for each of these reductions, flags, the words that flags publish, and a word per thread.
UPDATES: Final = ("add", "min", "max", "and", "or", "xor", "add", "add")
TICKET, LEADERS = 6, 7
FLAGS, DATA, WORDS = 8, 12, 16
UNDEFINED: Final = "planted"  # the register of an undefined read, by its name in the programs of all seeds
FORMS: Final = ("bar.sync", "barrier.sync", "barrier.sync.aligned")
REDUCING: Final = ("bar.red", "barrier.red", "barrier.red.aligned")


@dataclass(frozen=True, slots=True)
class _Region:
    """The threads that execute a body.

    `warps` are the warps of the CTA that execute it, if they are `whole`. `mask` is the membermask of the executing
    lanes of a warp. Unless it is `exact`, it includes lanes that have exited or were never launched.
    """

    warps: tuple[int, ...]
    mask: Operand | None
    exact: bool
    depth: int = 0
    whole: bool = True  # all threads of the warps, except exited ones
    all_warps: bool = True
    loops: int = 0
    leaving: bool = False  # the body of a loop that single lanes may leave
    continued: bool = False  # `mask` is no longer the loop's: some lanes continue with the next iteration
    exits: bool = True  # the threads may exit
    in_function: bool = False


def program(seed: int) -> Program:
    """Return the program of a seed."""
    return _Writer(Random(seed)).program()


def with_undefined_read(seed: int) -> Program:
    """Return the program of a seed in which a shuffle writes an undefined value to `UNDEFINED`, which is stored."""
    for attempt in count():
        made = _Writer(Random(f"planted {seed} {attempt}"), undefined=True).program()
        if not outcome(made).defined:
            return made
    raise AssertionError


class _Writer:
    def __init__(self, chance: Random, *, undefined: bool = False) -> None:
        self.chance = chance
        self.undefined = undefined
        self.names = 0
        self.threads = chance.choice(SIZES)
        self.ctas = chance.choice((1, 1, 1, 2, 3)) if self.threads <= 64 else 1
        self.exited = False  # threads of a CTA may have exited
        self.left = chance.randint(1, 6)  # groups of statements to generate
        self.flags = 0
        self.barriers = list(range(16))
        chance.shuffle(self.barriers)
        self.mbarrier = chance.random() < 0.5
        self.local = chance.random() < 0.4
        self.functions: list[Function] = []
        self.warp_functions: list[str] = []

    # --- the whole --------------------------------------------------------------------------------

    def program(self) -> Program:
        for _ in range(self.chance.choice((0, 0, 1, 2))):
            self.functions.append(self.function(f"f{len(self.functions)}"))
        region = _Region(tuple(range(-(-self.threads // WARP))), None, exact=False)
        mask, start = self.first_mask()
        inner = replace(region, mask=mask, exact=isinstance(mask, str) or self.threads % WARP == 0)
        together = self.sync()
        body = [*start, *self.body(inner), *self.epilogue()]
        body = [*self.prologue(body), together, *body]
        words = WORDS + 2 * self.ctas * self.threads
        shared = 3 * self.threads + len(UPDATES)
        return Program(
            *(self.ctas, self.threads, self.chance.getrandbits(32), shared, words), tuple(body), tuple(self.functions)
        )

    def prologue(self, body: Statements) -> Statements:
        """Return the initialization of the memory and mbarriers that a body uses; a barrier must follow."""
        each = statements(tuple(body))
        used = {(one.space, one.base) for one in each if isinstance(one, Load | Store | Atomic)}
        first: Statements = [
            Store("shared", self.counters + at, 0, FULL if op in {"min", "and"} else 0)
            for at, op in enumerate(UPDATES)
            if ("shared", self.counters + at) in used
        ]
        start: Statements = [
            Store("shared", base, "tid", 0) for base in (0, self.threads, 2 * self.threads) if ("shared", base) in used
        ]
        if ("local", 0) in used:
            start += [Store("local", 0, at, "tid") for at in range(LOCAL)]
        if any(isinstance(one, Signal) for one in statements(tuple(body))):
            first.append(Initialize(0, self.threads))
            start.append(Let("phase", "mov", 0))
        yes = self.name("c")
        return [*start, Let(yes, "eq", "tid", 0), If(yes, tuple(first), (), guarded=self.coin())] if first else start

    def epilogue(self) -> Statements:
        """Return a barrier and loads of reduction results in shared memory."""
        if self.exited or self.chance.random() < 0.3:  # accesses of exited threads are not ordered before the loads
            return []
        ops = [self.sync()]
        for at in self.chance.sample(range(len(UPDATES)), 3):
            d = self.variable()
            ops += [Load(d, "shared", self.counters + at, 0)]
        return ops

    def first_mask(self) -> tuple[Operand, Statements]:
        """Return the membermask of a warp, with or without lanes that were never launched."""
        rest, name = self.threads % WARP, self.name("m")
        if not rest:
            return self.chance.choice(((FULL, []), (name, [Let(name, "mov", FULL)])))
        draw = self.chance.randrange(3)
        if draw == 0:
            return FULL, []
        if draw == 1:
            return name, [Vote(name, "ballot", 1, FULL)]
        last, partial = self.name("c"), (1 << rest) - 1
        return name, [Let(last, "eq", "warp", self.threads // WARP), Select(name, last, partial, FULL)]

    @property
    def counters(self) -> int:
        return 3 * self.threads

    # --- choices ----------------------------------------------------------------------------------

    def name(self, kind: str) -> str:
        self.names += 1
        return f"{kind}{self.names}"

    def coin(self) -> bool:
        return self.chance.random() < 0.5

    def variable(self) -> str:
        return self.chance.choice(VARIABLES)

    def operand(self, region: _Region | None = None) -> Operand:
        if region and region.in_function:
            return self.chance.choice(("a0", "a1", "lane", self.chance.randrange(40)))
        draw = self.chance.random()
        if draw < 0.65:
            return self.variable()
        if draw < 0.85:
            return self.chance.choice(("tid", "lane", "warp", "cta", "gid"))
        return self.chance.choice((0, 1, 3, 31, FULL, self.chance.getrandbits(32), self.chance.randrange(64)))

    def target(self, region: _Region) -> str:
        return self.chance.choice(("a0", "a1")) if region.in_function else self.variable()

    def condition(self, region: _Region) -> tuple[str, Statements]:
        """Return a register that is 0 or 1, and the statements that compute it."""
        c, small = self.name("c"), self.name("c")
        draw = self.chance.random()
        if draw < 0.3:
            bits = self.chance.choice((0x55555555, 0xFFFF, 0xFF00FF, self.chance.getrandbits(32)))
            return c, [Let(small, "shr", bits, "lane"), Let(c, "and", small, 1)]
        if draw < 0.5:
            return c, [Let(c, self.chance.choice(("lt", "eq", "ne", "ge")), "lane", self.chance.randrange(WARP))]
        if draw < 0.8:
            return c, [Let(small, "shr", self.operand(region), self.chance.randrange(5)), Let(c, "and", small, 1)]
        return c, [Let(c, self.chance.choice(("lt", "eq", "ne", "ge")), self.operand(region), self.operand(region))]

    # --- bodies -----------------------------------------------------------------------------------

    def body(self, region: _Region) -> Statements:
        """Return statements for the threads of a region."""
        found: Statements = []
        while self.left > 0:
            self.left -= 1
            found += self.group(region)
            region = self.after(region, found)
            if region.depth and self.chance.random() < 0.3:
                break
        return found

    def after(self, region: _Region, found: Statements) -> _Region:
        """Return the region after the statements `found`, which may end with a `_Now`."""
        if found and isinstance(found[-1], _Now):
            now = found.pop()
            assert isinstance(now, _Now)
            return now.region
        return region

    def group(self, region: _Region) -> Statements:
        kinds: list[tuple[float, Callable[[_Region], Statements]]] = [
            (2, self.arithmetic), (2, self.private_branch), (1.2, self.private_loop), (1, self.own_memory),
            (1, self.update), (0.5, self.ticket), (0.7, self.flow),
        ]  # fmt: skip
        if self.functions and not region.in_function:
            kinds.append((1, self.call))
        if region.mask is not None:
            kinds += [(4, self.undefined_read)] if self.undefined and not region.in_function else []
            kinds += [(6, self.collective), (2, self.exchange_in_warp)]
            kinds += [(2, self.branch)] if region.depth < 3 else []
            kinds += [(1, self.leave_threads)] if region.exits and not region.in_function else []
            kinds += [(1, self.loop)] if region.loops < 2 and region.depth < 3 else []
            kinds += [(2, self.leave_iteration)] if region.leaving else []
        if region.whole and region.all_warps and not region.in_function:
            kinds += [(4, self.exchange), (2, self.reduced), (1, self.two_barriers)]
            kinds += [(2, self.phase)] if self.mbarrier and not self.exited else []
            kinds += [(2, self.warps_apart), (2, self.producers)] if len(region.warps) > 1 else []
            kinds += [(1, self.block_loop)] if region.loops < 1 else []
            kinds += [(1, self.message)] if self.ctas > 1 and not region.loops and self.flags < 4 else []
        elif region.whole and not region.in_function:
            kinds += [(3, self.exchange_among_warps)]
        weights, makers = zip(*kinds, strict=True)
        return self.chance.choices(makers, weights)[0](region)

    # --- private to a thread ----------------------------------------------------------------------

    def arithmetic(self, region: _Region) -> Statements:
        found: Statements = []
        for _ in range(self.chance.randint(1, 3)):
            d, a = self.target(region), self.operand(region)
            if self.chance.random() < 0.2:
                found.append(Let(d, self.chance.choice(UNARY), a))
            else:
                found.append(Let(d, self.chance.choice(ARITHMETIC), a, self.operand(region)))
        return found

    def private(self, region: _Region, *, loops: int = 0) -> Body:
        """Return statements that do not synchronize with other threads."""
        found: Statements = []
        for _ in range(self.chance.randint(1, 2)):
            makers = [self.arithmetic, self.arithmetic, self.update, self.own_memory]
            makers += [self.private_branch] * (region.depth < 3)
            found += self.chance.choice(makers)(replace(region, depth=region.depth + 1))
            if loops and self.chance.random() < 0.4:
                c, made = self.condition(region)
                found += [*made, self.chance.choice((Break, Continue))(c)]
        return tuple(found)

    def private_branch(self, region: _Region) -> Statements:
        c, made = self.condition(region)
        other = self.private(region) if self.coin() else ()
        return [*made, If(c, self.private(region), other, guarded=self.chance.random() < 0.3)]

    def private_loop(self, region: _Region) -> Statements:
        counter, count = self.name("i"), self.name("c")
        times = Let(count, "and", self.operand(region), self.chance.choice((1, 3, 3, 7)))
        body = self.private(replace(region, depth=region.depth + 1), loops=1)
        return [times, Loop(counter, count, body, rotated=self.coin())]

    def own_memory(self, region: _Region) -> Statements:
        if region.in_function:
            return self.arithmetic(region)
        if self.local and self.coin():
            at = self.name("c")
            store = Store("local", 0, at, self.operand(region))
            return [Let(at, "and", self.operand(region), LOCAL - 1), Load(self.variable(), "local", 0, at), store]
        store, load = Store("shared", 0, "tid", self.operand(region)), Load(self.target(region), "shared", 0, "tid")
        if self.coin():
            store, load = Store("global", WORDS, "gid", self.operand()), Load(self.variable(), "global", WORDS, "gid")
        return self.chance.choice(([store], [load], [store, load], [load, store]))

    def flow(self, region: _Region) -> Statements:
        """Return basic blocks with arbitrary jumps."""
        if region.in_function and region.mask is not None:
            return self.arithmetic(region)
        size = self.chance.randint(3, 6)
        inner = replace(region, depth=3)
        blocks = tuple(self.private(inner) for _ in range(size))
        jumps = tuple(
            (self.operand(region), tuple(self.chance.choices(range(size + 1), k=self.chance.choice((1, 1, 4)))))
            for _ in range(size)
        )
        return [Flow(self.name("i"), self.chance.randint(3, 9), blocks, jumps)]

    def update(self, region: _Region) -> Statements:
        if region.in_function:
            return self.arithmetic(region)
        at = self.chance.randrange(6)
        space, base = self.chance.choice((("shared", self.counters), ("global", 0)))
        d = self.name("u") if self.chance.random() < 0.3 else None  # the old value depends on the schedule
        return [Atomic(d, space, UPDATES[at], base + at, 0, self.operand(region))]

    def ticket(self, region: _Region) -> Statements:
        """Return an atomic counter, whose values depend on the schedule, and the sum of the values, which does not."""
        if region.in_function:
            return self.arithmetic(region)
        d = self.name("u")
        space, base = self.chance.choice((("shared", self.counters), ("global", 0)))
        return [Atomic(d, space, "add", base + TICKET, 0, 1), Atomic(None, "global", "add", LEADERS, 0, d)]

    def function(self, name: str) -> Function:
        """Return a function for one thread, or for all lanes of the caller's membermask."""
        together = self.coin()
        region = _Region((), "a2" if together else None, exact=True, depth=1, whole=False, in_function=True)
        kept, self.left = self.left, self.chance.randint(1, 3)
        found: Statements = [*self.arithmetic(region), *self.body(region)]
        if not together:
            c, made = self.condition(region)
            found += [*made, Return(c), *self.private_loop(region), *self.arithmetic(region)]
        self.left = kept
        self.warp_functions += [name] if together else []
        return Function(name, tuple(found), self.chance.choice(("a0", "a1")))

    def call(self, region: _Region) -> Statements:
        name = self.chance.choice(self.functions).name
        if name in self.warp_functions and (region.mask is None or not region.exact):
            return self.arithmetic(region)
        mask = 0 if region.mask is None else region.mask
        return [Call(self.variable(), name, self.operand(), self.operand(), mask)]

    # --- lanes of a warp --------------------------------------------------------------------------

    def some_lanes(self, region: _Region) -> tuple[Operand, Statements]:
        """Return the membermask of the lane's group: the whole region, a tile, or one of two random groups."""
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

    def collective(self, region: _Region) -> Statements:
        """Return a warp instruction for a group of lanes."""
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

    def shuffle(self, region: _Region, d: str, a: Operand, mask: Operand) -> Statements:
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

    def undefined_read(self, region: _Region) -> Statements:
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
        """Return statements that compute the source lane of a shuffle, if it is in range."""
        op = {"up": "sub", "down": "add", "bfly": "xor"}.get(mode)
        if op:
            return [Let(name, op, "lane", b)]
        assert isinstance(b, int)
        return [Let(name, "and", "lane", segment), Let(name, "or", name, b & ~segment & 31)]

    def exchange_in_warp(self, region: _Region) -> Statements:
        """Exchange words through shared memory between lanes, with `bar.warp.sync` before and after the loads."""
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

    def live(self, region: _Region, mask: Operand, found: Statements) -> tuple[Operand, Statements]:
        """Return a membermask without lanes that exited or were never launched, and `found` with its computation."""
        if region.exact:
            return mask, found
        name = self.name("m")
        return name, [*found, Vote(name, "ballot", 1, mask)]

    def branch(self, region: _Region) -> Statements:
        """Return a branch of some lanes; each side has the membermask of its lanes in a register."""
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

    def noted(self, region: _Region, found: Statements) -> Statements:
        """Return the statements; if any exits, the region's membermask is no longer exact after them."""
        return [*found, _Now(replace(region, exact=False))] if _exits(found) else found

    def loop(self, region: _Region) -> Statements:
        """Return a loop that single lanes leave; its membermask loses them."""
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

    def leave_iteration(self, region: _Region) -> Statements:
        """Return a break or continue of some lanes; the others get a membermask without them."""
        c, made = self.condition(region)
        stay, mask = self.name("c"), region.mask
        assert isinstance(mask, str)
        if self.coin() and not region.continued:
            return [*made, Let(stay, "xor", c, 1), Vote(mask, "ballot", stay, mask), Break(c)]
        rest = self.name("m")
        return [
            *made, Let(stay, "xor", c, 1), Vote(rest, "ballot", stay, mask), Continue(c),
            _Now(replace(region, mask=rest, continued=True)),
        ]  # fmt: skip

    def leave_threads(self, region: _Region) -> Statements:
        """Return an exit of some lanes; lane 0 of each warp stays, so that the warp arrives at later barriers."""
        c, made = self.condition(region)
        keep = self.name("c")
        found: Statements = [*made, Let(keep, "ne", "lane", 0), Let(c, "and", c, keep)]
        self.exited = True
        if self.coin():
            return [*found, Exit(c, stores=self.coin()), _Now(replace(region, exact=False))]
        mask, stay = self.name("m"), self.name("c")
        found += [Let(stay, "xor", c, 1), Vote(mask, "ballot", stay, region.mask), Exit(c, stores=self.coin())]
        return [*found, _Now(replace(region, mask=mask, exact=True, continued=True))]

    # --- CTAs -------------------------------------------------------------------------------------

    def count(self) -> int | None:
        """Return the thread count of a CTA barrier, None for all threads."""
        if not self.exited and self.coin():
            return None
        return WARP * -(-self.threads // WARP)

    def sync(self) -> Statement:
        return Sync(self.chance.choice(FORMS), self.barriers[0] if self.coin() else self.barriers[1], self.count())

    def exchange(self, region: _Region) -> Statements:
        """Exchange words between any threads of the CTA, with barriers before and after the loads."""
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

    def diverged(self, region: _Region) -> Statements:
        return self.private_branch(region) if self.coin() else []

    def reduction(self, c: Operand) -> tuple[str, str, Operand, int | None, Operand]:
        form, op = self.chance.choice(REDUCING), self.chance.choice(("or", "and", "popc"))
        return form, op, self.barriers[2], self.count(), c

    def reduced(self, region: _Region) -> Statements:
        """Return a barrier with a reduction after other statements, such as a branch or a loop."""
        c, made = self.condition(region)
        before = self.chance.choice((self.private_branch, self.private_branch, self.private_loop, self.arithmetic))
        found = [*made, *before(region), SyncReduce(self.variable(), *self.reduction(c))]
        return found if isinstance(found[-1], SyncReduce) else []

    def two_barriers(self, region: _Region) -> Statements:
        """Return a non-aligned barrier at which lanes of a warp arrive by two instructions."""
        c, made = self.condition(region)
        count, name = self.count(), self.barriers[3]
        sides = ((*self.private(region), Sync("barrier.sync", name, count), *self.private(region)) for _ in range(2))
        then, other = sides
        return [*made, If(c, then, other), self.sync()]

    def phase(self, region: _Region) -> Statements:
        """Exchange words through a phase of an mbarrier; diverged lanes may arrive by two instructions."""
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

    def warps_apart(self, region: _Region) -> Statements:
        """Return a branch of whole warps; each side has its own barriers."""
        split = self.chance.randrange(1, len(region.warps))
        c = self.name("c")
        deeper = replace(region, depth=region.depth + 1, all_warps=False)
        then = self.body(replace(deeper, warps=region.warps[:split]))
        other = self.body(replace(deeper, warps=region.warps[split:]))
        found: Statements = [Let(c, "lt", "warp", region.warps[split]), If(c, tuple(then), tuple(other))]
        return self.noted(region, found)

    def exchange_among_warps(self, region: _Region) -> Statements:
        """Exchange words among the warps of one side of a branch."""
        base, at, low = 2 * self.threads, self.name("c"), WARP * region.warps[0]
        size = min(self.threads, WARP * (region.warps[-1] + 1)) - low
        name, count = self.barriers[4 + region.warps[0]], WARP * len(region.warps)
        syncs = [Sync(self.chance.choice(FORMS), name, count) for _ in range(2)]
        where: Statements = [Let(at, "rem", self.operand(), size), Let(at, "add", at, low)]
        store = Store("shared", base, "tid", self.operand())
        load = Load(self.variable(), "shared", base, at)
        return [*where, store, *self.diverged(region), syncs[0], load, syncs[1]]

    def producers(self, region: _Region) -> Statements:
        """Return a barrier at which some warps arrive, and the others wait and load the words that those stored."""
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

    def block_loop(self, region: _Region) -> Statements:
        """Return a loop of the whole CTA; a barrier with a reduction may end it."""
        counter = self.name("i")
        inner = replace(region, depth=region.depth + 1, loops=1)
        before, outer = self.exited, self.left
        # After the first iteration, the membermask may be inexact and threads may have exited.
        self.exited, self.left = True, min(outer, self.chance.randint(1, 4))
        body = self.body(replace(inner, exact=False))
        self.left = outer - 2
        self.exited = before or _exits(body)
        if self.coin():
            d, c = self.name("c"), self.name("c")
            shown = Let(c, "lt", self.operand(), self.chance.getrandbits(32))
            body += [shown, SyncReduce(d, *self.reduction(c)), Break(d)]
        found: Statements = [Loop(counter, self.chance.randint(2, 3), tuple(body), rotated=self.coin())]
        return self.noted(region, found)

    def message(self, _: _Region) -> Statements:
        """Return a word that a thread of one CTA stores and publishes by a flag, and threads of other CTAs load."""
        flag, value, here = self.flags, self.chance.randrange(1, 99), self.chance.randrange(self.ctas)
        self.flags += 1
        c, one, first = self.name("c"), self.name("c"), self.name("c")
        publish = (Store("global", DATA + flag, 0, self.operand()), Publish(FLAGS + flag, value))
        poll = (Poll(FLAGS + flag, value), Load(self.variable(), "global", DATA + flag, 0))
        return [
            Let(c, "eq", "cta", here), Let(one, "eq", "tid", 0),
            If(c, (If(one, publish),), poll), Let(first, "mov", 0),
        ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Now:
    """End of statements after which the region differs."""

    region: _Region


def _exits(body: Statements) -> bool:
    return any(isinstance(each, Exit) for each in statements(tuple(body)))
