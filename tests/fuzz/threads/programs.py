"""Syntax tree of multithreaded programs: statements on 32-bit registers of a thread, and launch dimensions.

A program is a frozen tree whose `repr` is Python source text for it. An operand is the name of a register or a number.
A thread starts with `tid`, `lane`, `warp`, `cta`, `gid` (its index in the grid) and its words of the input in `v0` to
`v5`. It stores `v0` to `v5` before it exits.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

Operand: TypeAlias = "str | int"

VARIABLES: Final = tuple(f"v{number}" for number in range(6))
SPECIALS: Final = ("tid", "lane", "warp", "cta", "gid")
PARAMETERS: Final = ("a0", "a1", "a2")  # parameters of generated functions; a2 is the membermask of the calling lanes
WARP: Final = 32
LOCAL: Final = 4  # 32-bit words of local memory of each thread
FULL: Final = 0xFFFFFFFF
# PTX opcodes of `Let` operations: with two operands, with a predicate as the result, with one operand.
BINARY: Final = {
    "add": "add.u32", "sub": "sub.u32", "mul": "mul.lo.u32", "and": "and.b32", "or": "or.b32", "xor": "xor.b32",
    "shl": "shl.b32", "shr": "shr.u32", "min": "min.u32", "max": "max.u32", "rem": "rem.u32",
}  # fmt: skip
COMPARISONS: Final = {"eq": "setp.eq.u32", "ne": "setp.ne.u32", "lt": "setp.lt.u32", "ge": "setp.ge.u32"}
UNARY: Final = {"clz": "clz.b32", "brev": "brev.b32", "popc": "popc.b32", "mov": "mov.u32"}


@dataclass(frozen=True, slots=True)
class Statement:
    """Base class of all statements of a program."""


Body: TypeAlias = "tuple[Statement, ...]"


# --- private to a thread --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Let(Statement):
    """`d = a op b`, unsigned and modulo 2**32; comparisons return 0 or 1."""

    d: str
    op: str
    a: Operand
    b: Operand = 0


@dataclass(frozen=True, slots=True)
class Select(Statement):
    """`d = a if c else b`; `d` is defined if the selected operand is."""

    d: str
    c: Operand
    a: Operand
    b: Operand


@dataclass(frozen=True, slots=True)
class If(Statement):
    """A branch; `guarded` bodies are predicated, unless a statement in them needs several basic blocks."""

    condition: Operand
    then: Body
    other: Body = ()
    guarded: bool = False


@dataclass(frozen=True, slots=True)
class Loop(Statement):
    """`for (counter = 0; counter < count; ++counter)`; the test is at its head, if `rotated` also at its end."""

    counter: str
    count: Operand
    body: Body
    rotated: bool = False


@dataclass(frozen=True, slots=True)
class Flow(Statement):
    """Basic blocks with arbitrary jumps; they end after the last block, or after `fuel` blocks.

    A jump with one target is taken if its operand is not zero. The operand modulo 4 selects one of four targets.
    """

    counter: str
    fuel: int
    blocks: tuple[Body, ...]
    jumps: tuple[tuple[Operand, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class Jump(Statement):
    """Base class of jumps that are taken if the condition holds."""

    condition: Operand


@dataclass(frozen=True, slots=True)
class Break(Jump):
    """Jump that leaves the innermost loop (`break`)."""


@dataclass(frozen=True, slots=True)
class Continue(Jump):
    """Jump to the next iteration of the innermost loop (`continue`)."""


@dataclass(frozen=True, slots=True)
class Return(Jump):
    """Jump that returns from a function."""


@dataclass(frozen=True, slots=True)
class Exit(Jump):
    """Exit of the thread; if `stores`, the thread stores its results first."""

    stores: bool


@dataclass(frozen=True, slots=True)
class Call(Statement):
    """Call of a `.func`: `d = function(a, b, mask)`."""

    d: str
    function: str
    a: Operand
    b: Operand
    mask: Operand


# --- warps ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shuffle(Statement):
    """`shfl.sync`: `d` is `a` of the source lane; `p`, if any, is whether that lane was in range."""

    d: str
    p: str | None
    mode: str
    a: Operand
    b: Operand
    c: int
    mask: Operand


@dataclass(frozen=True, slots=True)
class Vote(Statement):
    """`vote.sync` of all, any, uni or ballot."""

    d: str
    mode: str
    a: Operand
    mask: Operand


@dataclass(frozen=True, slots=True)
class Match(Statement):
    """`match.any.sync` or `match.all.sync`; the latter may also write a predicate."""

    d: str
    p: str | None
    mode: str
    a: Operand
    mask: Operand


@dataclass(frozen=True, slots=True)
class Reduce(Statement):
    """Warp reduction: `redux.sync`."""

    d: str
    op: str
    a: Operand
    mask: Operand


@dataclass(frozen=True, slots=True)
class Elect(Statement):
    """`elect.sync`, whose leader adds one to a word of global memory, so that the result is the same for any leader."""

    base: int
    mask: Operand


@dataclass(frozen=True, slots=True)
class WarpSync(Statement):
    """Warp barrier: `bar.warp.sync`."""

    mask: Operand


# --- CTAs -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sync(Statement):
    """A CTA barrier; `form` is `bar.sync`, `barrier.sync` or `barrier.sync.aligned`."""

    form: str
    name: Operand
    count: int | None


@dataclass(frozen=True, slots=True)
class Arrive(Statement):
    """An arrival at a CTA barrier without a wait: `bar.arrive`, `barrier.arrive` or `barrier.arrive.aligned`."""

    form: str
    name: Operand
    count: int


@dataclass(frozen=True, slots=True)
class SyncReduce(Statement):
    """A barrier with a reduction of predicates: `or`, `and`, `popc`."""

    d: str
    form: str
    op: str
    name: Operand
    count: int | None
    a: Operand


@dataclass(frozen=True, slots=True)
class Initialize(Statement):
    """`mbarrier.init` of mbarrier `bar` with expected count `count`."""

    bar: int
    count: int


@dataclass(frozen=True, slots=True)
class Signal(Statement):
    """Arrival at an mbarrier: `mbarrier.arrive`."""

    bar: int


@dataclass(frozen=True, slots=True)
class Await(Statement):
    """Poll an mbarrier with `form` (`test_wait`, `try_wait`) until phase `phase` (0, 1, …) is complete."""

    bar: int
    phase: Operand
    form: str


# --- memory ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Load(Statement):
    """`d = space[base + index]`, in words; the space is `global`, `shared` or `local`."""

    d: str
    space: str
    base: int
    index: Operand


@dataclass(frozen=True, slots=True)
class Store(Statement):
    """`space[base + index] = a`, in words."""

    space: str
    base: int
    index: Operand
    a: Operand


@dataclass(frozen=True, slots=True)
class Atomic(Statement):
    """`atom` (`red` without `d`) on `space[base + index]`; `acq_rel`: with `.acq_rel.gpu`."""

    d: str | None
    space: str
    op: str
    base: int
    index: Operand
    a: Operand
    acq_rel: bool = False


@dataclass(frozen=True, slots=True)
class Publish(Statement):
    """`st.release.gpu` of a flag in global memory."""

    base: int
    a: int


@dataclass(frozen=True, slots=True)
class Poll(Statement):
    """Poll a flag in global memory with `ld.acquire.gpu` until it equals `a`."""

    base: int
    a: int


# --- programs -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Function:
    """A `.func` with parameters `PARAMETERS` that returns one register."""

    name: str
    body: Body
    result: str


@dataclass(frozen=True, slots=True)
class Program:
    """Statements for every thread of a grid.

    `data` is the seed of the input. `shared` and `memory` are sizes of shared and global memory in words. Shared memory
    is not initialized.
    """

    ctas: int
    threads: int
    data: int
    shared: int
    memory: int
    body: Body
    functions: tuple[Function, ...] = ()

    def inputs(self) -> list[list[int]]:
        """Return the input words of each thread; each word is below 4, below 40, or arbitrary."""
        chance = Random(self.data)
        draws = (lambda: chance.getrandbits(32), lambda: chance.randrange(4), lambda: chance.randrange(40))
        return [[chance.choice(draws)() for _ in VARIABLES] for _ in range(self.ctas * self.threads)]


def statements(body: Body) -> Iterator[Statement]:
    """Yield the statements of a body, nested ones included."""
    for statement in body:
        yield statement
        for inner in bodies(statement):
            yield from statements(inner)


def bodies(statement: Statement) -> tuple[Body, ...]:
    """Return the nested statement lists of a statement."""
    match statement:
        case If():
            return statement.then, statement.other
        case Loop():
            return (statement.body,)
        case Flow():
            return statement.blocks
    return ()


def with_bodies(statement: Statement, inner: tuple[Body, ...]) -> Statement:
    """Return the statement with `bodies` in place of its nested bodies."""
    match statement:
        case If():
            return replace(statement, then=inner[0], other=inner[1])
        case Loop():
            return replace(statement, body=inner[0])
        case Flow():
            return replace(statement, blocks=inner)
    return statement


def registers(statement: Statement) -> Iterator[str]:
    """Yield the names of the registers of a statement, without the registers of its nested bodies."""
    skipped = {"op", "mode", "form", "space", "function"}
    assert is_dataclass(statement)
    for field in fields(statement):
        value = getattr(statement, field.name)
        if isinstance(value, str) and field.name not in skipped:
            yield value
    for operand, _ in statement.jumps if isinstance(statement, Flow) else ():
        if isinstance(operand, str):
            yield operand
