"""Unordered uses of a named barrier have a finding under every schedule; ordered uses have none."""

from __future__ import annotations

import numpy as np
import pytest

from .ptx_text import execute

SCHEDULES = [(0, False), (0, True), *((seed, False) for seed in range(1, 7))]
WARP = "shr.u32 %r1, %r0, 5; setp.eq.u32 %p0, %r1, 0; setp.eq.u32 %p1, %r1, 1; setp.eq.u32 %p2, %r1, 2;\n"
HALVES = "setp.lt.u32 %p3, %r0, 64;\n"
LOOP = "mov.u32 %r2, 0;\nagain:\n{body}\nadd.u32 %r2, %r2, 1; setp.lt.u32 %p4, %r2, 3; @%p4 bra again;"
SHARED = ".shared .align 4 .b8 s[4]; mov.u32 %r5, s;\n"

# Wrong use of a barrier -> threads per CTA, and a kernel body that contains it.
WRONG = {
    "two pairs of warps use one barrier": (128, "bar.sync 1, 64;"),
    "two pairs of warps use one barrier in a loop": (128, LOOP.format(body="bar.sync 1, 64;")),
    "a second pair of warps is not ordered after the first pair": (96, "@!%p2 bar.sync 1, 64; @!%p0 bar.sync 1, 64;"),
    "the producer arrives for the next phase before the consumer waits": (
        64,
        LOOP.format(body="@%p0 bar.arrive 1, 64; @%p1 bar.sync 1, 64;"),
    ),
    "the producer does not wait in one iteration": (
        64,
        LOOP.format(
            body="@%p0 bar.arrive 1, 64; @%p1 bar.sync 1, 64; @%p1 bar.arrive 2, 64; setp.ne.u32 %p5, %r2, 1;\n"
            "and.pred %p5, %p5, %p0; @%p5 bar.sync 2, 64;"
        ),
    ),
    "arrivals alone complete a phase": (96, "@%p2 bra end; bar.arrive 1, 64; end:"),
    "a relaxed flag": (
        96,
        SHARED + "@%p0 st.volatile.shared.u32 [%r5], 0; bar.sync 0; @%p2 bra third; bar.sync 1, 64;\n"
        "@!%p0 bra end; st.relaxed.cta.shared.u32 [%r5], 1; bra end;\n"
        "third: ld.relaxed.cta.shared.u32 %r6, [%r5]; setp.eq.u32 %p6, %r6, 0; @%p6 bra third;\n"
        "bar.arrive 1, 64; end:",
    ),
}
RIGHT = {
    "each pair of warps has its own barrier": (128, HALVES + "@%p3 bar.sync 1, 64; @!%p3 bar.sync 2, 64;"),
    "one pair of warps uses a barrier in a loop": (64, LOOP.format(body="bar.sync 1, 64;")),
    "a second pair of warps, ordered by a CTA barrier": (96, "@!%p2 bar.sync 1, 64; bar.sync 0; @!%p0 bar.sync 1, 64;"),
    "a third warp is ordered by a second barrier": (
        96,
        "@!%p2 bar.sync 1, 64; @%p1 bar.arrive 2, 64; @%p2 bar.sync 2, 64; @!%p0 bar.sync 1, 64;",
    ),
    "producer and consumer": (
        64,
        LOOP.format(body="@%p0 bar.arrive 1, 64; @%p1 bar.sync 1, 64; @%p1 bar.arrive 2, 64; @%p0 bar.sync 2, 64;"),
    ),
    "two warps alternate": (
        64,
        "@%p1 bar.arrive 1, 64;\n"
        + LOOP.format(
            body="@%p0 bar.sync 1, 64; @%p1 bar.sync 2, 64; @%p0 bar.arrive 2, 64;\n"
            "setp.lt.u32 %p5, %r2, 2; and.pred %p5, %p5, %p1; @%p5 bar.arrive 1, 64;"
        ),
    ),
    "a flag of one thread orders a third warp": (
        96,
        SHARED + "@%p0 st.volatile.shared.u32 [%r5], 0; bar.sync 0; @%p2 bra third; bar.sync 1, 64;\n"
        "setp.ne.u32 %p5, %r0, 0; @%p5 bra last; st.release.cta.shared.u32 [%r5], 1; bra last;\n"
        "third: ld.acquire.cta.shared.u32 %r6, [%r5]; setp.eq.u32 %p6, %r6, 0; @%p6 bra third;\n"
        "bar.warp.sync -1; bar.arrive 1, 64; bra end;\n"
        "last: bar.warp.sync -1; @%p1 bar.sync 1, 64; end:",
    ),
    "some threads exit before a barrier": (100, "setp.ge.u32 %p3, %r0, 70; @%p3 exit; bar.sync 1, 96; bar.sync 1, 96;"),
    "diverged lanes": (
        100,
        "and.b32 %r3, %r0, 5; setp.eq.u32 %p3, %r3, 4;\n"
        + LOOP.format(body="@%p3 bra joined; add.u32 %r4, %r3, %r3; joined: barrier.sync 3, 128;"),
    ),
}


def found(threads: int, body: str) -> list[set[str]]:
    results = []
    for seed, delay_async in SCHEDULES:
        result = execute(f"{WARP}{body}", np.zeros(1, np.uint32), block=threads, seed=seed, delay_async=delay_async)
        results.append({each.rule for each in result.findings})
    return results


@pytest.mark.parametrize("name", WRONG)
def test_a_barrier_that_is_used_out_of_order_is_found_under_every_schedule(name: str) -> None:
    rules = found(*WRONG[name])
    assert all(each & {"barrier-phase", "deadlock"} for each in rules)  # wrongly paired threads may deadlock
    assert "barrier-phase" in rules[0]


@pytest.mark.parametrize("name", RIGHT)
def test_a_barrier_that_is_used_in_order_is_clean(name: str) -> None:
    assert found(*RIGHT[name]) == [set()] * len(SCHEDULES)
