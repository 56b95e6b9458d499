"""Litmus programs as kernels on the simulator, in global memory; programs of one CTA also in shared memory."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from pyptx_sim import run
from pyptx_sim.happens_before.reference.axioms import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyptx_sim import Finding
    from pyptx_sim.happens_before.reference.programs import Operation, Program

Memory: TypeAlias = Literal["global", "shared"]

_STRIDE = 16  # distance in words of the memory locations of a litmus test, so that no two are adjacent
_HEAD = """\
.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 memory, .param .u64 seen)
{
.reg .pred %p<40>;
.reg .b32 %r<40>, %v<40>;
.reg .b64 %rd<4>;
ld.param.u64 %rd1, [memory];
ld.param.u64 %rd2, [seen];
cvta.to.global.u64 %rd1, %rd1;
cvta.to.global.u64 %rd2, %rd2;
mov.u32 %r1, %laneid;
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %tid.x;
shr.u32 %r3, %r3, 5;
shl.b32 %r2, %r2, 3;
add.u32 %r2, %r2, %r3;
setp.eq.u32 %p1, %r1, 0;
"""
_REGISTERS_BEFORE = 4
_PREDICATES_BEFORE = 4
_MASK = "%r38"


@dataclass(frozen=True, slots=True)
class Run:
    """Outcome and findings of a run of a litmus program."""

    outcome: Outcome
    findings: tuple[Finding, ...]

    @property
    def racy(self) -> bool:
        """Whether the run has a finding, that is, a data race."""
        return bool(self.findings)


def executed(program: Program, *, seed: int, delay_async: bool = False, memory: Memory = "global") -> Run:
    """Run a program under a schedule; only data races in its memory and between lanes are checked."""
    words = np.zeros(len(program.locations) * _STRIDE, np.uint32)
    seen = np.zeros(max(1, len(_results(program))), np.uint32)
    clusters = 1 + max(place.cluster for place in program.places)
    blocks = 1 + max(place.block for place in program.places)
    warps = 1 + max(place.warp for place in program.places)
    result = run(
        text_of(program, memory),
        grid=clusters * blocks,
        block=32 * warps,
        cluster=(blocks, 1, 1),
        args=[words, seen],
        checks=(f"{memory}-race", "lane-race"),
        seed=seed,
        delay_async=delay_async,
    )
    read = tuple(map(int, seen[: len(_results(program))]))
    return Run(Outcome(read, tuple(map(int, words[::_STRIDE]))), result.findings)


def _results(program: Program) -> tuple[Operation, ...]:
    return tuple(each for each in program.operations if each.name in ("ld", "poll", "atom"))


def text_of(program: Program, memory: Memory = "global") -> str:
    """Return the kernel: one lane executes each thread of the program, and stores the values that it read at the end.

    Equal operations at the same position in several lanes of a warp are one instruction.
    """
    body = _body(program, memory)
    if memory == "shared":
        body = _around(body, 4 * _STRIDE * len(program.locations))
    return _HEAD + "\n".join(body) + "\nret;\n}\n"


def _around(body: Iterable[str], size: int) -> Iterator[str]:
    """Yield PTX that zeroes `size` bytes of shared memory, then `body`, then a copy of the bytes to global memory."""
    places = range(0, size, 4 * _STRIDE)
    yield f".shared .b32 words[{size // 4}];"
    yield from (f"st.shared.u32 [words+{at}], 0;" for at in places)
    yield "bar.sync 1;"
    yield from body
    yield "bar.sync 1;"
    for at in places:
        yield f"ld.shared.u32 %r4, [words+{at}];"
        yield f"st.global.u32 [%rd1+{at}], %r4;"


def _body(program: Program, memory: Memory) -> Iterator[str]:
    blocks = 1 + max(place.block for place in program.places)

    def number(thread: int) -> int:
        place = program.places[thread]
        return (place.cluster * blocks + place.block) * 8 + place.warp

    for warp, threads in itertools.groupby(range(len(program.places)), number):
        yield f"setp.ne.u32 %p2, %r2, {warp};"
        yield f"@%p2 bra after_{warp};"
        yield from _of_warp(program, list(threads), memory)
        yield "bra END;" if memory == "shared" else "ret;"
        yield f"after_{warp}:"
    if memory == "shared":
        yield "END:"


def _of_warp(program: Program, threads: list[int], memory: Memory) -> Iterator[str]:
    """Yield PTX: the computation of lane predicates, the operations of all lanes, and the stores of loaded values."""
    results = _results(program)
    lane = {each.number: program.places[each.thread].lane for each in program.operations}
    rows = itertools.zip_longest(*(program.thread(thread) for thread in threads))
    operations, read = list[str](), list[str]()
    for count, row in enumerate(rows):
        alike: dict[str, list[Operation]] = {}
        for operation in filter(None, row):
            alike.setdefault(str(operation), []).append(operation)
        for together in alike.values():
            register, guard, value = f"%r{_REGISTERS_BEFORE + count}", "%p1", str(together[0].bit)
            if len(threads) > 1:
                number = together[0].number
                guard = f"%p{_PREDICATES_BEFORE + number}"
                yield from _chosen(guard, f"%v{number}", {lane[each.number]: each.bit for each in together})
                value = f"%v{number}" if len(together) > 1 else value
            operations.append(_spelt(program, together[0], guard, register, value, memory))
            for each in together:
                if each in results:
                    read += _chosen("%p1", "", {lane[each.number]: 0}) if len(threads) > 1 else ()
                    read.append(f"@%p1 st.global.u32 [%rd2+{4 * results.index(each)}], {register};")
    yield from operations
    yield from read


def _chosen(guard: str, value: str, bits: dict[int, int]) -> Iterator[str]:
    """Yield PTX that computes a predicate for some lanes, and each lane's value if the values differ."""
    yield f"shr.u32 {_MASK}, {sum(1 << lane for lane in bits)}, %r1;"
    yield f"and.b32 {_MASK}, {_MASK}, 1;"
    yield f"setp.ne.u32 {guard}, {_MASK}, 0;"
    for lane, bit in bits.items() if len(bits) > 1 else ():
        yield f"setp.eq.u32 %p2, %r1, {lane};"
        yield f"@%p2 mov.u32 {value}, {bit};"


def _spelt(program: Program, operation: Operation, guard: str, register: str, value: str, memory: Memory) -> str:
    if operation.name in ("bar", "bar.warp"):
        return "bar.sync 0;" if operation.name == "bar" else "bar.warp.sync 0xffffffff;"
    words = [operation.semantics, operation.scope] if operation.semantics != "weak" else []
    if operation.name == "fence":
        return f"@{guard} " + ".".join(["fence", *words]) + ";"
    base = "%rd1" if memory == "global" else "words"
    at = f"[{base}+{4 * _STRIDE * program.locations.index(operation.where)}]"
    name = ".".join([operation.name, *words, memory])
    match operation.name:
        case "poll":
            load = f"@{guard} {name.replace('poll', 'ld')}.u32 {register}, {at};"
            again = f"setp.eq.and.u32 %p3, {register}, 0, {guard}; @%p3 bra POLL_{operation.number};"
            return f"POLL_{operation.number}:\n{load}\n{again}"
        case "ld":
            return f"@{guard} {name}.u32 {register}, {at};"
        case "st":
            return f"@{guard} {name}.u32 {at}, {value};"
        case "atom":
            return f"@{guard} {name}.add.u32 {register}, {at}, {value};"
        case _:
            return f"@{guard} {name}.add.u32 {at}, {value};"
