"""Random programs of jumps, calls and guards, run by the simulator and, thread by thread, by a short interpreter.

Every jump burns fuel, so that each program ends. `PYPTX_KERNELS=all` asks for more programs.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from tools.shares import full

from .ptx_text import execute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.scaled

PROGRAMS = full(300, default=24)
LENGTH, FUEL, THREADS, WORDS = 24, 40, 96, 4
MASK = 0xFFFFFFFF
REGISTERS = range(2, 8)  # %r2 to %r7 hold values, %r10 the fuel

ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "add.u32": lambda a, b: a + b,
    "sub.u32": lambda a, b: a - b,
    "xor.b32": lambda a, b: a ^ b,
    "and.b32": lambda a, b: a & b,
    "mul.lo.u32": lambda a, b: a * b,
    "shr.u32": lambda a, b: a >> min(b, 32),
}
COMPARE: dict[str, Callable[[int, int], bool]] = {
    "lt": lambda a, b: a < b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}
MIX = """
.func (.reg .u32 y) mix(.reg .u32 a, .reg .u32 b)
{
.reg .pred %p; setp.gt.u32 %p, a, b; @%p bra other;
add.u32 y, a, 7; xor.b32 y, y, b; ret;
other: mul.lo.u32 y, a, 3; add.u32 y, y, b; ret;
}
"""


class Line(NamedTuple):
    """One statement: what it does, the registers it names, a number, the guard it has, and where it jumps to."""

    kind: str
    d: int
    a: int
    b: int
    number: int
    guard: str
    targets: tuple[int, ...]


def program(chance: random.Random) -> list[Line]:
    kinds = [*ARITHMETIC] * 2 + [*COMPARE, "call", "local", "end", "bra", "bra", "bra", "brx"]
    return [
        Line(
            chance.choice(kinds),
            *(chance.choice(REGISTERS) for _ in range(3)),
            chance.choice((chance.getrandbits(32), chance.randrange(8), 128)),
            chance.choice(("", "", "@%p1 ", "@!%p1 ")),
            tuple(chance.randrange(LENGTH + 1) for _ in range(4)),
        )
        for _ in range(LENGTH)
    ]


def statements(lines: list[Line]) -> Iterator[str]:
    for index, line in enumerate(lines):
        yield f"L{index}:"
        d, a, b = (f"%r{number}" for number in (line.d, line.a, line.b))
        if line.kind in ARITHMETIC:
            yield f"{line.guard}{line.kind} {d}, {a}, {b if line.number == 128 else line.number};"
        elif line.kind in COMPARE:
            yield f"and.b32 %r11, {a}, 255; setp.{line.kind}.u32 %p1, %r11, {line.number & 255};"
        elif line.kind == "call":
            yield f"{line.guard}call ({d}), mix, ({a}, {b});"
        elif line.kind == "local":
            yield f"and.b32 %r11, {a}, {4 * WORDS - 4}; mov.u32 %r12, words; add.u32 %r12, %r12, %r11;"
            yield f"ld.local.u32 %r11, [%r12]; st.local.u32 [%r12], {b}; mov.u32 {d}, %r11;"
        elif line.kind == "end":
            yield f"{line.guard or '@%p1 '}bra FIN;"
        else:
            yield "sub.u32 %r10, %r10, 1; setp.eq.u32 %p2, %r10, 0; @%p2 bra FIN;"
            if line.kind == "bra":
                yield f"{line.guard}bra L{line.targets[0]};"
            else:
                names = ", ".join(f"L{target}" for target in line.targets)
                yield f"and.b32 %r11, {a}, 3; T{index}: .branchtargets {names}; brx.idx %r11, T{index};"


def body_of(lines: list[Line]) -> str:
    start = [
        f"mad.lo.u32 %r{i}, %r0, {2654435761 * i & MASK}, {77 * i * i}; shr.u32 %r{i}, %r{i}, {i};" for i in REGISTERS
    ]
    zeros = [f"st.local.u32 [words+{4 * word}], 0;" for word in range(WORDS)]
    stores = [f"st.global.u32 [%rd2+{4 * place}], %r{i};" for place, i in enumerate(REGISTERS)]
    return "\n".join([
        f".local .align 4 .b32 words[{WORDS}]; mov.u32 %r10, {FUEL}; setp.eq.u32 %p1, %r0, 5;",
        *start, *zeros, *statements(lines), f"L{LENGTH}:\nFIN:",
        f"mul.wide.u32 %rd2, %r0, {4 * len(REGISTERS)}; add.u64 %rd2, %rd0, %rd2;", *stores,
    ])  # fmt: skip


def interpreted(lines: list[Line], thread: int) -> list[int]:
    """Return the registers of one thread at the end."""
    r = {i: ((thread * (2654435761 * i & MASK) + 77 * i * i) & MASK) >> i for i in REGISTERS}
    words, truth, fuel, at = [0] * WORDS, thread == 5, FUEL, 0
    while at < LENGTH:
        line = lines[at]
        at += 1
        holds = truth != (line.guard == "@!%p1 ") if line.guard else True
        if line.kind in ARITHMETIC:
            second = r[line.b] if line.number == 128 else line.number
            r[line.d] = ARITHMETIC[line.kind](r[line.a], second) & MASK if holds else r[line.d]
        elif line.kind in COMPARE:
            truth = COMPARE[line.kind](r[line.a] & 255, line.number & 255)
        elif line.kind == "call":
            a, b = r[line.a], r[line.b]
            r[line.d] = (a * 3 + b if a > b else (a + 7 & MASK) ^ b) & MASK if holds else r[line.d]
        elif line.kind == "local":
            place = r[line.a] // 4 % WORDS
            words[place], r[line.d] = r[line.b], words[place]
        elif line.kind == "end":
            if holds and (line.guard or truth):
                break
        else:
            fuel -= 1
            if fuel == 0:
                break
            if line.kind == "brx" or holds:
                at = line.targets[r[line.a] & 3 if line.kind == "brx" else 0]
    return [r[i] for i in REGISTERS]


@pytest.mark.parametrize("number", range(PROGRAMS))
def test_threads_go_their_own_ways(number: int) -> None:
    lines = program(random.Random(number))
    out = np.zeros((THREADS, len(REGISTERS)), np.uint32)
    checks = ("all", "none")[number % 2]
    result = execute(body_of(lines), out, block=THREADS, before=MIX, seed=number % 3, checks=checks)
    assert result.findings == ()
    assert out.tolist() == [interpreted(lines, thread) for thread in range(THREADS)]


def test_the_programs_part_their_threads() -> None:
    """Of a few programs at least, the threads of one warp end differently, and not all at once."""
    ends = [len({tuple(interpreted(program(random.Random(number)), t)) for t in range(32)}) for number in range(8)]
    assert sum(count > 4 for count in ends) >= 4
