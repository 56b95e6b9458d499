"""The simulator reports accesses to registers of outstanding wgmma.mma_async; delayed completion shows their effect.

The severity depends on the waits that ptxas inserts, which the last test verifies. Manual: "wgmma.fence",
"wgmma.wait_group".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from tools.shares import full

from pyptx_ir.syntax import parse
from pyptx_ir.toolchain import assemble, disassemble
from pyptx_sim import run

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pyptx_ir.syntax.nodes import Module

    Array = NDArray[Any]

pytestmark = [pytest.mark.hopper, pytest.mark.scaled]

SCHEDULES: list[dict[str, Any]] = full([*({"seed": seed} for seed in range(8)), {"delay_async": True}],
                                      default=[{}, {"seed": 1}, {"delay_async": True}])  # fmt: skip
ITERATIONS = 3

KERNEL = """\
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in, .param .u64 columns, .param .u32 turns)
.maxntid 128
{
.reg .b32 %r<16>;
.reg .b32 %a<16>;
.reg .b64 %rd<16>;
.reg .f32 %f<8>;
.reg .pred %p<4>;
.shared .align 1024 .b8 tile[2048];
ld.param.u64 %rd1, [out];
ld.param.u64 %rd2, [in];
ld.param.u64 %rd4, [columns];
ld.param.u32 %r2, [turns];
cvta.to.global.u64 %rd1, %rd1;
cvta.to.global.u64 %rd2, %rd2;
cvta.to.global.u64 %rd4, %rd4;
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd3, %r1, 16;
add.u64 %rd1, %rd1, %rd3;
add.u64 %rd2, %rd2, %rd3;
add.u64 %rd4, %rd4, %rd3;
mov.u32 %r9, tile;
mad.lo.u32 %r10, %r1, 16, %r9;
ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd4];
st.shared.v4.u32 [%r10], {%r4, %r5, %r6, %r7};
fence.proxy.async.shared::cta;
bar.sync 0;
bfe.u32 %r9, %r9, 4, 14;
cvt.u64.u32 %rd10, %r9;
or.b64 %rd11, %rd10, 0x0000001000080000;
mov.f32 %f0, 0f00000000;
mov.f32 %f1, %f0;
mov.f32 %f2, %f0;
mov.f32 %f3, %f0;
mov.u32 %r8, 0;
BODY
st.global.v4.f32 [%rd1], {%f0, %f1, %f2, %f3};
ret;
}
"""
FIRST, SECOND = (tuple(f"%a{i}" for i in range(at, at + 4)) for at in (0, 4))
FENCE, COMMIT = "wgmma.fence.sync.aligned;", "wgmma.commit_group.sync.aligned;"
ACCUMULATORS = tuple(f"%f{i}" for i in range(4))


def load(registers: tuple[str, ...] = FIRST, iteration: int = 0) -> str:
    return f"ld.global.v4.u32 {{{', '.join(registers)}}}, [%rd2+{2048 * iteration}];"


def mma(a: tuple[str, ...] = FIRST, accumulators: tuple[str, ...] = ACCUMULATORS) -> str:
    return (
        f"{FENCE}\nwgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
        f"{{{', '.join(accumulators)}}}, {{{', '.join(a)}}}, %rd11, 1, 1, 1, 0;"
    )


def whole(accumulators: tuple[str, ...], a: tuple[str, ...]) -> str:
    """Return an integer MMA whose accumulators can be operand A of another MMA."""
    words = "wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.u8"
    return f"{FENCE}\n{words} {{{', '.join(accumulators)}}}, {{{', '.join(a)}}}, %rd11, 0;\n{COMMIT}"


def wait(groups: int = 0) -> str:
    return f"wgmma.wait_group.sync.aligned {groups};"


def loop(*body: str, before: str = "") -> str:
    step = "add.u64 %rd2, %rd2, 2048;\nadd.u32 %r8, %r8, 1;\nsetp.lt.u32 %p1, %r8, %r2;\n@%p1 bra LOOP;"
    return "\n".join((before, 'LOOP:\n.pragma "nounroll";', *body, step, wait()))


def line(*body: str) -> str:
    return "\n".join(body)


def moved(registers: tuple[str, ...]) -> str:
    return "".join(f"mov.b32 {f}, {a};" for f, a in zip(ACCUMULATORS, registers, strict=True))


def dealt(words: Array, *, whole: bool = False) -> Array:
    """Return the accumulators of each thread of A times B, `[128, 4]`: element (k, n) of B is n + 1, for every k."""
    elements = words.astype("<u4").view(np.uint8 if whole else ml_dtypes.bfloat16).astype(np.float64)
    registers = elements.reshape(32, 4, 4, -1).sum(axis=(1, 3))  # sum of each A row over K, which four threads hold
    rows = registers[:, :2] + registers[:, 2:]
    columns = np.arange(1, 9).reshape(4, 1, 2)
    return (rows[:, None, :, None] * columns).reshape(128, 4)


@dataclass(frozen=True)
class Inputs:
    """Register fragments of A and of the accumulators by iteration, `[iterations, 128, 4]` words each."""

    a: Array
    c: Array

    def sum(self, *iterations: int) -> Array:
        """Return the accumulators of A times B, summed over iterations."""
        return np.sum([dealt(self.a[each]) for each in iterations], axis=0)


def inputs() -> Inputs:
    rng = np.random.default_rng(1)
    a = rng.integers(-8, 8, (2 * ITERATIONS, 128, 8)).astype(ml_dtypes.bfloat16).view("<u4")
    return Inputs(a, rng.integers(1, 99, a.shape).astype(np.float32).view("<u4"))


def third(given: Inputs) -> Array:
    accumulators = given.sum(0)
    accumulators[:, 1] = 3
    return accumulators


@dataclass(frozen=True)
class Case:
    """A faulty kernel body that accesses a register too early, a correct body, and the expected accumulators.

    `waits`: the number of waits that ptxas inserts in the faulty body; None if ptxas renames registers, or if ptxas
    releases differ in the number. `delay_async`: delayed completion gives the wrong result.
    """

    name: str
    faulty: str
    right: str
    expected: Callable[[Inputs], Array] = lambda given: given.sum(*range(ITERATIONS))
    severity: str = "error"
    waits: int | None = 0
    delay_async: bool = True
    whole: bool = False


NEXT, COPIED = load(FIRST, 1), "".join(f"mov.b32 {a}, {b};" for a, b in zip(FIRST, SECOND, strict=True))
SOME = f"and.b32 %r3, %r1, 1;\nsetp.ne.u32 %p2, %r3, 0;\n@%p2 {NEXT}"
FLIPPED = "".join(f"xor.b32 {each}, {each}, 0x00400040;" for each in FIRST)
LOADED = f"ld.global.v4.f32 {{{', '.join(ACCUMULATORS)}}}, [%rd2+{2048 * 2 * ITERATIONS}];"
SET, DOUBLED = "mov.f32 %f1, 0f40400000;", "add.f32 %f1, %f1, %f1;"
READ, READ_A = "st.global.f32 [%rd1+2048], %f1;", "st.global.u32 [%rd1+2048], %a0;"
X, Y = (tuple(f"%a{i}" for i in range(at, at + 4)) for at in (8, 12))
CASES = (
    Case("operand A is loaded over the back edge",
         loop(load(), mma(), COMMIT), loop(load(), mma(), COMMIT, wait())),
    Case("the wait follows the load of operand A",
         loop(load(), wait(), mma(), COMMIT), loop(wait(), load(), mma(), COMMIT)),
    Case("a wait leaves the MMA that reads operand A outstanding",
         loop(load(), mma(), COMMIT, wait(1)), loop(load(), mma(), COMMIT, wait(0))),
    Case("two sets of registers and three groups in flight",
         loop(load(), mma(), COMMIT, wait(2), load(SECOND), mma(SECOND), COMMIT, wait(2)),
         loop(load(), mma(), COMMIT, wait(1), load(SECOND), mma(SECOND), COMMIT, wait(1)),
         lambda given: given.sum(*range(ITERATIONS), *range(ITERATIONS))),
    Case("the wgmma group is never committed",
         loop(load(), mma(), wait()), loop(load(), mma(), COMMIT, wait()), waits=None),
    Case("operand A of the next iteration is loaded before the wait",
         loop(mma(), COMMIT, NEXT, wait(), before=load()), loop(mma(), COMMIT, wait(), NEXT, before=load()),
         waits=None),
    Case("operand A is copied from other registers before the wait",
         loop(mma(), COMMIT, load(SECOND, 1), COPIED, wait(), before=load()),
         loop(mma(), COMMIT, load(SECOND, 1), wait(), COPIED, before=load()), waits=None),
    Case("some threads load operand A before the wait",
         loop(load(), mma(), COMMIT, SOME, wait()), loop(load(), mma(), COMMIT, wait(), SOME), waits=None),
    Case("operand A is computed in straight-line code",
         line(load(), mma(), COMMIT, FLIPPED, wait()), line(load(), mma(), COMMIT, wait(), FLIPPED),
         lambda given: given.sum(0), waits=None),
    Case("an accumulator is loaded over the back edge",
         loop(LOADED, wait(), load(), mma(), COMMIT), loop(wait(), LOADED, load(), mma(), COMMIT),
         lambda given: given.c[ITERATIONS - 1].view(np.float32) + given.sum(ITERATIONS - 1)),
    Case("an accumulator is set in straight-line code",
         line(load(), mma(), COMMIT, SET, wait()), line(load(), mma(), COMMIT, wait(), SET), third, waits=None),
    Case("operand A of an MMA is the accumulator of an outstanding MMA",
         line(load(), whole(X, FIRST), whole(Y, X), wait(), moved(Y)),
         line(load(), whole(X, FIRST), wait(), whole(Y, X), wait(), moved(Y)),
         lambda given: dealt(dealt(given.a[0], whole=True), whole=True), delay_async=False, whole=True),
    Case("the accumulator of an MMA is operand A of an outstanding MMA",
         line(load(), load(SECOND, 1), whole(X, FIRST), whole(FIRST, SECOND), wait(), moved(FIRST)),
         line(load(), load(SECOND, 1), whole(X, FIRST), wait(), whole(FIRST, SECOND), wait(), moved(FIRST)),
         lambda given: dealt(given.a[1], whole=True), delay_async=False, whole=True),
    Case("an accumulator is read before the wait",
         loop(load(), mma(), COMMIT, READ, wait()), loop(load(), mma(), COMMIT, wait(), READ),
         severity="warning", waits=1, delay_async=False),
    Case("an accumulator is doubled before the wait",
         line(load(), mma(), COMMIT, DOUBLED, wait()), line(load(), mma(), COMMIT, wait(), DOUBLED),
         lambda given: given.sum(0) * [1, 2, 1, 1], severity="warning", waits=1, delay_async=False),
    Case("operand A is read before the wait",
         loop(load(), mma(), COMMIT, READ_A, wait()), loop(load(), mma(), COMMIT, wait(), READ_A),
         severity="note", delay_async=False),
)  # fmt: skip


@cache
def kernel(body: str) -> Module:
    return parse(KERNEL.replace("BODY", body))


def multiply(body: str, case: Case, given: Inputs, **options: Any) -> tuple[Array, Any]:
    """Run a kernel body; return the accumulators and the findings."""
    b = np.arange(1, 9).astype(np.uint8 if case.whole else ml_dtypes.bfloat16)
    tile = np.zeros((2, 8, 16), np.uint8)  # B is two core matrices, adjacent along K
    tile[:] = np.repeat(b, 16 // b.itemsize).view(np.uint8).reshape(8, 16)
    columns = np.zeros(2048, np.uint8)
    columns[:256] = tile.reshape(-1)
    out = np.zeros((2, 128, 4), np.uint32 if case.whole else np.float32)
    words = np.concatenate([given.a, given.c])
    result = run(kernel(body), grid=1, block=128, args=[out, words, columns, np.uint32(ITERATIONS)], **options)
    return out[0], result.findings


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_access_to_a_register_before_the_wait_is_found(case: Case, schedule: dict[str, Any]) -> None:
    given = inputs()
    right, clean = multiply(case.right, case, given, **schedule)
    np.testing.assert_array_equal(right, case.expected(given))
    assert clean == ()
    wrong, findings = multiply(case.faulty, case, given, **schedule)
    found = [each.severity for each in findings if each.rule == "wgmma-register-before-wait"]
    assert min(found, key=["error", "warning", "note"].index) == case.severity, [str(each) for each in findings]
    if case.severity != "error":
        np.testing.assert_array_equal(wrong, case.expected(given))
    elif "delay_async" in schedule and case.delay_async:
        assert (wrong != case.expected(given)).any()


@pytest.mark.ptxas
@pytest.mark.parametrize("case", [case for case in CASES if case.waits is not None], ids=lambda case: case.name)
def test_ptxas_waits_before_reads_of_accumulators_and_nowhere_else(case: Case) -> None:
    text = KERNEL.replace("BODY", case.faulty)
    code = disassemble(assemble(text, "sm_90a").cubin)
    waits = len(re.findall(r"WARPGROUP\.DEPBAR", code)) - text.count("wgmma.wait_group")
    assert waits == case.waits
