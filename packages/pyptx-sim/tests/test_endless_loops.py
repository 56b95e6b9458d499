"""The simulator reports endless loops within a few iterations, even loops that compute a sum, but no finite loop.

`PYPTX_KERNELS=all` runs each finite loop under every schedule; the default is one or two schedules for each.
"""

from __future__ import annotations

import time
from itertools import product
from typing import Any

import numpy as np
import pytest
from tools.shares import share

from pyptx_sim.errors import Deadlock, StepLimitExceeded

from .ptx_text import execute

pytestmark = pytest.mark.scaled

# Endless loops: the condition depends on %r1 (constant, 0 to 31); each iteration adds to %r9, %f1 and %rd9.
BUSY = "add.u32 %r9, %r9, %r0; add.rn.f32 %f1, %f1, 0f3F800000; add.u64 %rd9, %rd9, 1;"
START = "mov.u32 %r9, 0; mov.f32 %f1, 0f00000000; mov.u64 %rd9, 0; mov.u32 %r1, %r0; mov.u32 %r2, 0;\n"
ENDLESS = {
    "a counter that is not increased": f"again: {BUSY} setp.lt.u32 %p1, %r1, 100; @%p1 bra again;",
    "no condition": f"again: {BUSY} bra again;",
    "a recomputed counter": f"again: {BUSY} add.u32 %r3, %r1, 1; setp.lt.u32 %p1, %r3, 100; @%p1 bra again;",
    "some lanes end": f"again: {BUSY} setp.gt.u32 %p1, %r1, 7; @%p1 bra again;",
    "a loop within": f"""
        again: mov.u32 %r4, 0;
        inner: {BUSY} add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 5; @%p2 bra inner;
        setp.lt.u32 %p1, %r1, 100; @%p1 bra again;
    """,
    "a sum of loaded words": f"again: ld.global.u32 %r5, [%rd1]; add.u32 %r6, %r6, %r5; {BUSY}"
    "setp.lt.u32 %p1, %r1, 100; @%p1 bra again;",
    "a shuffled sum": f"again: {BUSY} shfl.sync.down.b32 %r9, %r9, 1, 31, -1;"
    "setp.lt.u32 %p1, %r1, 100; @%p1 bra again;",
    "a guard that never holds": f"again: {BUSY} setp.gt.u32 %p2, %r1, 99; @%p2 add.u32 %r1, %r1, 1;"
    "setp.lt.u32 %p1, %r1, 100; @%p1 bra again;",
}
# Endless loops of two CTAs of four warps with a barrier in every iteration: thread 0 of a CTA reads a flag, which no
# thread sets, by an atomic, and passes it on through shared memory, as Triton compiles `while` over an atomic.
TELL = "setp.eq.u32 %p9, %r0, 0; @%p9 {read}; @%p9 st.shared.u32 [told], %r1; bar.sync 0; ld.shared.u32 %r2, [told];"
WITH_BARRIER = {
    "a flag": "atom.global.acquire.gpu.cas.b32 %r1, [%rd0+4000], 1, 1",
    "a lock": "atom.global.acquire.gpu.cas.b32 %r1, [%rd0+4000], 0, 1; @%p9 sub.u32 %r1, 1, %r1",
    "a count": "atom.global.acquire.gpu.add.u32 %r1, [%rd0+4000], 0",
}
ROUNDS = 2000
# Finite loops of 2000 iterations, whose counter reaches the loop condition in different ways.
ENDING = {
    "a counter": f"again: {BUSY} add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, {ROUNDS}; @%p1 bra again;",
    "a counter copied through other registers": f"again: {BUSY} add.u32 %r3, %r2, 1; mov.u32 %r4, %r3;"
    f"mov.u32 %r2, %r4; setp.lt.u32 %p1, %r4, {ROUNDS}; @%p1 bra again;",
    "a counter in memory": f"again: {BUSY} ld.global.u32 %r3, [%rd1]; add.u32 %r3, %r3, 1; st.global.u32 [%rd1], %r3;"
    f"setp.lt.u32 %p1, %r3, {ROUNDS}; @%p1 bra again;",
    "a counter in the guard of an exit": f"again: {BUSY} add.u32 %r2, %r2, 1; setp.ge.u32 %p1, %r2, {ROUNDS};"
    "@%p1 exit; bra again;",
    "a counter in one lane": f"again: {BUSY} add.u32 %r2, %r2, 1; shfl.sync.idx.b32 %r3, %r2, 5, 31, -1;"
    f"setp.lt.u32 %p1, %r3, {ROUNDS}; @%p1 bra again;",
    "a counter of an outer loop": f"""
        outer: mov.u32 %r3, 0;
        inner: {BUSY} add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 50; @%p1 bra inner;
        add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, {ROUNDS // 50}; @%p1 bra outer;
    """,
    "a sum that ends the loop": f"again: {BUSY} cvt.u32.u64 %r3, %rd9; setp.lt.u32 %p1, %r3, {ROUNDS}; @%p1 bra again;",
    "the clock": "mov.u64 %rd5, %clock64; again: mov.u64 %rd6, %clock64; sub.u64 %rd6, %rd6, %rd5;"
    "setp.lt.u64 %p1, %rd6, 5000; @%p1 bra again;",
    "an incremented address": f"mov.u64 %rd5, %rd0; again: {BUSY} add.u64 %rd5, %rd5, 4; ld.global.u32 %r3, [%rd5];"
    "setp.eq.u32 %p1, %r3, 0; @%p1 bra again;",
    "a called function": f"again: {BUSY} {{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call (b), next, (a);"
    f"ld.param.b32 %r2, [b]; }} setp.lt.u32 %p1, %r2, {ROUNDS}; @%p1 bra again;",
}
NEXT = """
.shared .b32 told;
.func (.param .b32 r) next(.param .b32 v)
{ .reg .b32 %x; ld.param.b32 %x, [v]; add.u32 %x, %x, 1; st.param.b32 [r], %x; ret; }
"""
# Warp 1 counts in a register and then sets a flag; warp 0 polls the flag. Each iteration has a barrier of both warps.
COUNTED = f"""
setp.lt.u32 %p2, %r0, 32; @%p2 bra poll;
count: {BUSY} add.u32 %r2, %r2, 1; bar.sync 0; setp.lt.u32 %p1, %r2, {ROUNDS // 5}; @%p1 bra count;
st.shared.u32 [told], 1; bar.sync 0; bra ended;
poll: ld.shared.u32 %r3, [told]; bar.sync 0; setp.eq.u32 %p1, %r3, 0; @%p1 bra poll;
ended:
"""
STEPS = 100_000  # step limit of each run: a fiftieth of the default limit
SCHEDULES = [{}, {"seed": 1}, {"delay_async": True}]


def run(body: str, **options: Any) -> Any:
    end = "mov.u32 %r9, 7; st.global.u32 [%rd1], %r9;"
    memory = np.zeros(ROUNDS + 40, np.uint32)
    memory[-30:] = 1
    return execute(f"{START}{body}\n{end}", memory, before=NEXT, step_limit=STEPS, **options)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("loop", list(ENDLESS))
def test_a_loop_that_never_ends_is_found_soon(loop: str, schedule: dict[str, Any]) -> None:
    (finding,) = [each for each in run(ENDLESS[loop], **schedule).findings if each.rule == "deadlock"]
    assert "livelock: 1 warp spins without any change of memory" in finding.message
    if "ld.global" not in ENDLESS[loop]:
        assert "change a register of the loop's condition" in str(finding.help)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("read", WITH_BARRIER.values(), ids=WITH_BARRIER)
def test_an_endless_loop_with_a_barrier_is_found(read: str, schedule: dict[str, Any]) -> None:
    loop = f"again: {TELL.format(read=read)} bar.sync 0; setp.eq.u32 %p1, %r2, 0; @%p1 bra again;"
    (finding,) = [each for each in run(loop, grid=2, block=128, **schedule).findings if each.rule == "deadlock"]
    assert "without any change of memory" in finding.message
    assert "make another thread write the memory that the loop polls" in str(finding.help)


@pytest.mark.parametrize(("loop", "schedule"), share(product(ENDING, SCHEDULES), 2))
def test_a_long_loop_that_ends_is_not(loop: str, schedule: dict[str, Any]) -> None:
    assert [each for each in run(ENDING[loop], **schedule).findings if each.rule == "deadlock"] == []


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.long
def test_a_long_wait_for_a_counting_warp_ends(schedule: dict[str, Any]) -> None:
    result = run("st.shared.u32 [told], 0; bar.sync 0;" + COUNTED, block=64, **schedule)
    assert [each for each in result.findings if each.rule == "deadlock"] == []


def test_without_checks_it_is_an_error_at_the_loop() -> None:
    with pytest.raises(Deadlock, match=r"(?s)again|add.*change a register of the loop's condition"):
        run(ENDLESS["a counter that is not increased"], checks="none")


@pytest.mark.long
def test_a_loop_whose_condition_changes_and_never_holds_runs_to_the_limit() -> None:
    """A changing condition is not detected as endless, because it may become true."""
    with pytest.raises(StepLimitExceeded):
        run("again: add.u32 %r2, %r2, 2; setp.ne.u32 %p1, %r2, 7; @%p1 bra again;")


def test_it_takes_less_than_a_second() -> None:
    started = time.process_time()
    run(ENDLESS["a counter that is not increased"])
    assert time.process_time() - started < 1
