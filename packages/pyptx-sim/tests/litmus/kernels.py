"""Litmus programs as kernels on the simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim import run

from .axioms import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_sim import Finding

    from .programs import Operation, Program

_STRIDE = 16  # words between locations: what is meant to be apart lies apart
_HEAD = """\
.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 memory, .param .u64 seen)
{
.reg .pred %p<4>;
.reg .b32 %r<40>;
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


@dataclass(frozen=True, slots=True)
class Run:
    """What a run of a litmus program shows: its outcome, and what was found."""

    outcome: Outcome
    findings: tuple[Finding, ...]

    @property
    def racy(self) -> bool:
        """Whether a race was found."""
        return bool(self.findings)


def executed(program: Program, *, seed: int) -> Run:
    """Run a program under a schedule; findings are those of races in global memory."""
    memory = np.zeros(len(program.locations) * _STRIDE, np.uint32)
    seen = np.zeros(max(1, len(_results(program))), np.uint32)
    clusters = 1 + max(place.cluster for place in program.places)
    blocks = 1 + max(place.block for place in program.places)
    warps = 1 + max(place.warp for place in program.places)
    result = run(
        text_of(program),
        grid=clusters * blocks,
        block=32 * warps,
        cluster=(blocks, 1, 1),
        args=[memory, seen],
        checks=("global-race", "lane-race"),
        seed=seed,
    )
    read = tuple(map(int, seen[: len(_results(program))]))
    return Run(Outcome(read, tuple(map(int, memory[::_STRIDE]))), result.findings)


def _results(program: Program) -> tuple[Operation, ...]:
    return tuple(each for each in program.operations if each.name in ("ld", "atom"))


def text_of(program: Program) -> str:
    """Return the kernel: lane 0 of a warp is a thread of the program; it writes down what it has read at the end."""
    return _HEAD + "\n".join(_body(program)) + "\nret;\n}\n"


def _body(program: Program) -> Iterator[str]:
    blocks = 1 + max(place.block for place in program.places)
    results = _results(program)
    for thread, place in enumerate(program.places):
        number = (place.cluster * blocks + place.block) * 8 + place.warp
        yield f"setp.ne.u32 %p2, %r2, {number};"
        yield f"@%p2 bra after_{thread};"
        for operation in program.thread(thread):
            yield _spelt(program, operation, results)
        for index, operation in enumerate(results):
            if operation.thread == thread:
                yield f"@%p1 st.global.u32 [%rd2+{4 * index}], %r{_REGISTERS_BEFORE + index};"
        yield "ret;"
        yield f"after_{thread}:"


def _spelt(program: Program, operation: Operation, results: tuple[Operation, ...]) -> str:
    if operation.name == "bar":
        return "bar.sync 0;"
    words = [operation.semantics, operation.scope] if operation.semantics != "weak" else []
    if operation.name == "fence":
        return "@%p1 " + ".".join(["fence", *words]) + ";"
    at = f"[%rd1+{4 * _STRIDE * program.locations.index(operation.where)}]"
    into = f"%r{_REGISTERS_BEFORE + results.index(operation)}" if operation in results else ""
    match operation.name:
        case "ld":
            return f"@%p1 {'.'.join(['ld', *words, 'global.u32'])} {into}, {at};"
        case "st":
            return f"@%p1 {'.'.join(['st', *words, 'global.u32'])} {at}, {operation.bit};"
        case "atom":
            return f"@%p1 {'.'.join(['atom', *words, 'global.add.u32'])} {into}, {at}, {operation.bit};"
        case _:
            return f"@%p1 {'.'.join(['red', *words, 'global.add.u32'])} {at}, {operation.bit};"
