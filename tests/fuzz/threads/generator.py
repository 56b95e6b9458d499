"""Random programs whose results the manual defines under every schedule.

The generator tracks which threads execute a body: all threads of a CTA, some whole warps, or lanes whose membermask is
in a register. This determines the legal statements. The membermask of diverged lanes comes from a ballot before the
branch, or from the lane indices. A lane shuffles from lanes of its membermask, or discards the result. An exchange
through memory is between two barriers of the participating threads. The reference checks all of these.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from random import Random
from typing import TYPE_CHECKING

from .choices import UPDATES, WORDS, Now, Region
from .cta_statements import CtaStatements
from .programs import (
    FULL,
    LOCAL,
    PARAMETERS,
    WARP,
    Atomic,
    Call,
    Function,
    If,
    Initialize,
    Let,
    Load,
    Program,
    Return,
    Select,
    Signal,
    Store,
    Vote,
    statements,
)
from .reference import outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from .choices import Statements
    from .programs import Operand


def program(seed: int) -> Program:
    """Return the program that a seed generates."""
    return _Generator(Random(seed)).program()


def with_undefined_read(seed: int) -> Program:
    """Return a seed's program with an added shuffle that writes an undefined value, which the program stores."""
    for attempt in count():
        made = _Generator(Random(f"undefined {seed} {attempt}"), undefined=True).program()
        if not outcome(made).defined:
            return made
    raise AssertionError


class _Generator(CtaStatements):
    def __init__(self, chance: Random, *, undefined: bool = False) -> None:
        super().__init__(chance, undefined=undefined)
        self.functions: list[Function] = []
        self.warp_functions: list[str] = []

    # --- the program ------------------------------------------------------------------------------

    def program(self) -> Program:
        for _ in range(self.chance.choice((0, 0, 1, 2))):
            self.functions.append(self.function(f"f{len(self.functions)}"))
        region = Region(tuple(range(-(-self.threads // WARP))), None, exact=False)
        mask, start = self.first_mask()
        inner = replace(region, mask=mask, exact=isinstance(mask, str) or self.threads % WARP == 0)
        together = self.sync()
        body = [*start, *self.body(inner), *self.epilogue()]
        body = [*self.prologue(body), together, *body]
        words = WORDS + 2 * self.ctas * self.threads + (2 + self.ctas * self.threads) * self.last
        shared = 3 * self.threads + len(UPDATES)
        return Program(
            *(self.ctas, self.threads, self.chance.getrandbits(32), shared, words), tuple(body), tuple(self.functions)
        )

    def prologue(self, body: Statements) -> Statements:
        """Return the initialization of shared memory and mbarriers used by `body`; the caller appends a CTA barrier."""
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
        """Return a CTA barrier, followed by loads of the reduction results in shared memory."""
        if self.exited or self.chance.random() < 0.3:  # accesses of exited threads are not ordered before these loads
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

    # --- bodies -----------------------------------------------------------------------------------

    def body(self, region: Region) -> Statements:
        """Return random statements for the threads of a `Region`."""
        found: Statements = []
        while self.left > 0:
            self.left -= 1
            found += self.group(region)
            region = self.after(region, found)
            if region.depth and self.chance.random() < 0.3:
                break
        return found

    def after(self, region: Region, found: Statements) -> Region:
        """Return the `Region` (threads) that executes code after `found`; remove a final marker `Now` from `found`."""
        if found and isinstance(found[-1], Now):
            now = found.pop()
            assert isinstance(now, Now)
            return now.region
        return region

    def group(self, region: Region) -> Statements:
        kinds: list[tuple[float, Callable[[Region], Statements]]] = [
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
            kinds += [] if self.exited or region.loops or self.last else [(1, self.last_arrival)]
            kinds += [(1, self.message)] if self.ctas > 1 and not region.loops and self.flags < 4 else []
        elif region.whole and not region.in_function:
            kinds += [(3, self.exchange_among_warps)]
        weights, makers = zip(*kinds, strict=True)
        return self.chance.choices(makers, weights)[0](region)

    # --- functions --------------------------------------------------------------------------------

    def function(self, name: str) -> Function:
        """Return a `.func` for one thread, or for all lanes of the caller's membermask."""
        together = self.coin()
        region = Region((), PARAMETERS[2] if together else None, exact=True, depth=1, whole=False, in_function=True)
        kept, self.left = self.left, self.chance.randint(1, 3)
        found: Statements = [*self.arithmetic(region), *self.body(region)]
        if not together:
            c, made = self.condition(region)
            found += [*made, Return(c), *self.private_loop(region), *self.arithmetic(region)]
        self.left = kept
        self.warp_functions += [name] if together else []
        return Function(name, tuple(found), self.chance.choice(PARAMETERS[:2]))

    def call(self, region: Region) -> Statements:
        name = self.chance.choice(self.functions).name
        if name in self.warp_functions and (region.mask is None or not region.exact):
            return self.arithmetic(region)
        mask = 0 if region.mask is None else region.mask
        return [Call(self.variable(), name, self.operand(), self.operand(), mask)]
