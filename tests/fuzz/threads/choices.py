"""Random choices of the generator: names, registers, operands and conditions, and the threads that execute a body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .programs import FULL, PARAMETERS, SPECIALS, VARIABLES, WARP, Exit, Let, statements

if TYPE_CHECKING:
    from random import Random

    from .programs import Operand, Statement

Statements = list["Statement"]

SIZES: Final = (1, 7, 32, 32, 33, 33, 36, 36, 40, 40, 48, 48, 63, 64, 64, 96, 100, 200)
# Global memory: a word for each reduction below, flags, words that flags publish, and a word per thread.
UPDATES: Final = ("add", "min", "max", "and", "or", "xor", "add", "add")
TICKET, LEADERS = 6, 7
FLAGS, DATA, WORDS = 8, 12, 16


@dataclass(frozen=True, slots=True)
class Region:
    """The threads that execute a body (statement list of the program).

    `warps` are warps of the CTA whose threads all execute it (if `whole`). `mask` is the membermask of the executing
    lanes of a warp. Unless it is `exact`, it includes lanes that have exited or were never launched.
    """

    warps: tuple[int, ...]
    mask: Operand | None
    exact: bool
    depth: int = 0
    whole: bool = True  # all threads of `warps` execute the body, except threads that have exited
    all_warps: bool = True
    loops: int = 0
    leaving: bool = False  # single lanes may leave the loop that contains the body
    continued: bool = False  # some lanes have executed `continue`, so `mask` is not the loop's membermask
    exits: bool = True  # the body may contain exits of threads
    in_function: bool = False


@dataclass(frozen=True, slots=True)
class Now:
    """Marker at the end of a statement list: the `Region` (threads) that executes the statements after the list."""

    region: Region


def exits(body: Statements) -> bool:
    return any(isinstance(each, Exit) for each in statements(tuple(body)))


class Choices:
    """State of the program generator, with its random choices of names, registers, operands and conditions."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.names = 0
        self.threads = chance.choice(SIZES)
        self.ctas = chance.choice((1, 1, 1, 2, 3)) if self.threads <= 64 else 1
        self.exited = False  # whether threads of the program may have exited
        self.left = chance.randint(1, 6)  # number of groups of statements that are still to be generated
        self.flags = 0
        self.last = False  # whether a counter of the program identifies the last thread that arrives
        self.barriers = list(range(16))
        chance.shuffle(self.barriers)
        self.mbarrier = chance.random() < 0.5
        self.local = chance.random() < 0.4

    @property
    def counters(self) -> int:
        return 3 * self.threads

    def name(self, kind: str) -> str:
        self.names += 1
        return f"{kind}{self.names}"

    def coin(self) -> bool:
        return self.chance.random() < 0.5

    def variable(self) -> str:
        return self.chance.choice(VARIABLES)

    def operand(self, region: Region | None = None) -> Operand:
        if region and region.in_function:
            return self.chance.choice((*PARAMETERS[:2], "lane", self.chance.randrange(40)))
        draw = self.chance.random()
        if draw < 0.65:
            return self.variable()
        if draw < 0.85:
            return self.chance.choice(SPECIALS)
        return self.chance.choice((0, 1, 3, 31, FULL, self.chance.getrandbits(32), self.chance.randrange(64)))

    def target(self, region: Region) -> str:
        return self.chance.choice(PARAMETERS[:2]) if region.in_function else self.variable()

    def condition(self, region: Region) -> tuple[str, Statements]:
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
