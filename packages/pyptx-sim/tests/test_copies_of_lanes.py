"""`cp.async`: each thread waits for its own copies; other threads synchronize with it after that wait."""

from __future__ import annotations

import numpy as np
import pytest

from .ptx_text import execute

SCHEDULES = [(0, False), (0, True), *((seed, False) for seed in range(1, 6))]
COPY = """
.shared .align 16 .b8 s[1024]; mov.u32 %r1, s; mad.lo.u32 %r2, %r0, 4, %r1;
mad.wide.u32 %rd5, %r0, 4, %rd0;
and.b32 %r7, %r0, 30; mov.u32 %r8, 3; shl.b32 %r9, %r8, %r7;  // the membermask of a pair of lanes
cp.async.ca.shared.global [%r2], [%rd5], 4; cp.async.commit_group;
"""
OTHER = "cp.async.ca.shared.global [%r2+512], [%rd5], 4; cp.async.commit_group;"
READ = "mad.lo.u32 %r5, %r4, 4, %r1; ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd1+512], %r6;"

# Cases: instructions between cp.async and the read; distance: thread tid reads the word copied by tid ^ distance.
WRONG = {
    "no synchronization within the warp": ("cp.async.wait_group 0;", 1),
    "no synchronization between warps": ("cp.async.wait_group 0; bar.warp.sync -1;", 33),
    "a warp barrier of two lanes, and a read from another lane": ("cp.async.wait_group 0; bar.warp.sync %r9;", 2),
    "a wait that leaves the group outstanding": ("cp.async.wait_group 1; bar.sync 0;", 1),
    "a synchronization before the wait": ("bar.sync 0; cp.async.wait_group 0;", 1),
}
RIGHT = {
    "the thread's own word": ("cp.async.wait_group 0;", 0),
    "the thread's own word, with another group outstanding": (f"{OTHER} cp.async.wait_group 1;", 0),
    "a warp barrier": ("cp.async.wait_group 0; bar.warp.sync -1;", 1),
    "a warp barrier of the two lanes": ("cp.async.wait_group 0; bar.warp.sync %r9;", 1),
    "a CTA barrier": ("cp.async.wait_group 0; bar.sync 0;", 33),
    "a divergent wait": (
        (
            "setp.eq.u32 %p1, %r7, 4; @%p1 bra odd; cp.async.wait_group 0; bra joined; odd: cp.async.wait_all;\n"
            "joined: bar.sync 0;"
        ),
        33,
    ),
}


def found(between: str, distance: int) -> list[set[str]]:
    body = f"{COPY}{between}\nxor.b32 %r4, %r0, {distance};{READ}\ncp.async.wait_all;"
    memory = [np.arange(256, dtype=np.uint32) for _ in SCHEDULES]
    results = [
        execute(body, words, block=64, seed=seed, delay_async=delay_async)
        for words, (seed, delay_async) in zip(memory, SCHEDULES, strict=True)
    ]
    for words, result in zip(memory, results, strict=True):
        assert result.findings or (words[128:192] == np.arange(64) ^ distance).all()
    return [{each.rule for each in result.findings} for result in results]


@pytest.mark.parametrize("case", WRONG)
def test_a_read_that_no_wait_is_ordered_before_is_found_under_every_schedule(case: str) -> None:
    assert all("read-before-wait" in rules for rules in found(*WRONG[case]))


@pytest.mark.parametrize("case", RIGHT)
def test_a_read_after_the_wait_of_its_copier_is_clean(case: str) -> None:
    assert found(*RIGHT[case]) == [set()] * len(SCHEDULES)


def test_an_mbarrier_orders_copies_before_the_wait_of_their_threads() -> None:
    body = f"""
    .shared .align 8 .b64 bar;
    mov.u32 %r11, bar; setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [%r11], 64; bar.sync 0;
    {COPY}
    cp.async.mbarrier.arrive.noinc.shared.b64 [%r11];
    wait: mbarrier.try_wait.parity.shared.b64 %p2, [%r11], 0; @!%p2 bra wait;
    cp.async.wait_all;
    xor.b32 %r4, %r0, 33; {READ}
    """
    for seed, delay_async in SCHEDULES:
        assert (
            execute(body, np.arange(256, dtype=np.uint32), block=64, seed=seed, delay_async=delay_async).findings == ()
        )
