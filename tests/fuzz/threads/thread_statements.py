"""Random statements that do not synchronize with other threads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from .choices import LEADERS, TICKET, UPDATES, WORDS, Choices
from .programs import BINARY, COMPARISONS, LOCAL, UNARY, Atomic, Break, Continue, Flow, If, Let, Load, Loop, Store

if TYPE_CHECKING:
    from .choices import Region, Statements
    from .programs import Body

# Random operations exclude `rem`, which is undefined for divisor 0, and `mov`, which computes nothing.
ARITHMETIC: Final = tuple(op for op in (*BINARY, *COMPARISONS) if op != "rem")
OF_ONE: Final = tuple(op for op in UNARY if op != "mov")


class ThreadStatements(Choices):
    """Generator of statements that a thread executes without other threads."""

    def arithmetic(self, region: Region) -> Statements:
        found: Statements = []
        for _ in range(self.chance.randint(1, 3)):
            d, a = self.target(region), self.operand(region)
            if self.chance.random() < 0.2:
                found.append(Let(d, self.chance.choice(OF_ONE), a))
            else:
                found.append(Let(d, self.chance.choice(ARITHMETIC), a, self.operand(region)))
        return found

    def private(self, region: Region, *, loops: int = 0) -> Body:
        """Return random statements that do not synchronize with other threads."""
        found: Statements = []
        for _ in range(self.chance.randint(1, 2)):
            makers = [self.arithmetic, self.arithmetic, self.update, self.own_memory]
            makers += [self.private_branch] * (region.depth < 3)
            found += self.chance.choice(makers)(replace(region, depth=region.depth + 1))
            if loops and self.chance.random() < 0.4:
                c, made = self.condition(region)
                found += [*made, self.chance.choice((Break, Continue))(c)]
        return tuple(found)

    def private_branch(self, region: Region) -> Statements:
        c, made = self.condition(region)
        other = self.private(region) if self.coin() else ()
        return [*made, If(c, self.private(region), other, guarded=self.chance.random() < 0.3)]

    def private_loop(self, region: Region) -> Statements:
        counter, count = self.name("i"), self.name("c")
        times = Let(count, "and", self.operand(region), self.chance.choice((1, 3, 3, 7)))
        body = self.private(replace(region, depth=region.depth + 1), loops=1)
        return [times, Loop(counter, count, body, rotated=self.coin())]

    def own_memory(self, region: Region) -> Statements:
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

    def flow(self, region: Region) -> Statements:
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

    def update(self, region: Region) -> Statements:
        if region.in_function:
            return self.arithmetic(region)
        at = self.chance.randrange(6)
        space, base = self.chance.choice((("shared", self.counters), ("global", 0)))
        d = self.name("u") if self.chance.random() < 0.3 else None  # the atomic's old value depends on the schedule
        return [Atomic(d, space, UPDATES[at], base + at, 0, self.operand(region))]

    def ticket(self, region: Region) -> Statements:
        """Return an atomic counter, whose values depend on the schedule, and the sum of the values, which does not."""
        if region.in_function:
            return self.arithmetic(region)
        d = self.name("u")
        space, base = self.chance.choice((("shared", self.counters), ("global", 0)))
        return [Atomic(d, space, "add", base + TICKET, 0, 1), Atomic(None, "global", "add", LEADERS, 0, d)]
