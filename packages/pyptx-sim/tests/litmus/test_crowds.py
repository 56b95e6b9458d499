"""Message passing by many threads at once, each with its own flag, as in scans and sorts with decoupled look-back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx_sim import run

pytestmark = pytest.mark.no_cover

BLOCKS = 64
THREADS = 128
HEAD = """.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 words, .param .u64 flags)
{
.reg .pred %p<3>;
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
ld.param.u64 %rd1, [words];
ld.param.u64 %rd2, [flags];
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %tid.x;
mad.lo.u32 %r3, %r1, 128, %r2;
mul.wide.u32 %rd3, %r3, 4;
add.s64 %rd4, %rd1, %rd3;
add.s64 %rd5, %rd2, %rd3;
setp.eq.u32 %p1, %r1, 0;
"""
# Kernel: each thread waits for the thread with the same index in the preceding CTA.
BEFORE = "@%p1 bra LAST;\n"
WAIT = "WAIT:\nHEAR %r4, [%rd5-512];\nsetp.eq.u32 %p2, %r4, 0;\n@%p2 bra WAIT;\n"
HANDED_ON = "ld.global.u32 %r5, [%rd4-512];\nadd.u32 %r5, %r5, 1;\nst.global.u32 [%rd4], %r5;\n"
RELEASE, ACQUIRE = "st.release.gpu.global.u32 [%rd5], 1;\n", "ld.acquire.gpu.global.u32"
RELAXED, READ = "st.relaxed.gpu.global.u32 [%rd5], 1;\n", "ld.relaxed.gpu.global.u32"
FENCE = "fence.acq_rel.gpu;\n"


def chain(tell: str, hear: str, behind: str = "") -> str:
    wait = WAIT.replace("HEAR", hear)
    return f"{HEAD}{BEFORE}{wait}{behind}{HANDED_ON}LAST:\n{tell}ret;\n}}\n"


@pytest.mark.parametrize(
    "text",
    [
        chain(RELEASE, ACQUIRE),
        chain(FENCE + RELAXED, ACQUIRE),
        chain(RELEASE, READ, FENCE),
        chain(FENCE + RELAXED, READ, FENCE),
        chain("atom.release.gpu.global.add.u32 %r6, [%rd5], 1;\n", ACQUIRE),
    ],
)
@pytest.mark.long
def test_what_each_thread_tells_the_next_is_known(text: str) -> None:
    words, flags = np.zeros((2, BLOCKS * THREADS), np.uint32)
    assert run(text, grid=BLOCKS, block=THREADS, args=[words, flags]).clean
    np.testing.assert_array_equal(
        words.reshape(BLOCKS, -1), np.broadcast_to(np.arange(BLOCKS)[:, None], (BLOCKS, THREADS))
    )


@pytest.mark.parametrize("text", [chain(RELAXED, ACQUIRE), chain(RELEASE, READ), chain(RELAXED, READ, FENCE)])
@pytest.mark.long
def test_without_a_release_or_without_an_acquire_it_is_a_race(text: str) -> None:
    words, flags = np.zeros((2, BLOCKS * THREADS), np.uint32)
    found = run(text, grid=BLOCKS, block=THREADS, args=[words, flags]).findings
    assert {finding.rule for finding in found} == {"global-race"}


# Look-back: thread 0 of each CTA adds sums of preceding CTAs (flag 1), up to a CTA with a full prefix sum (flag 2).
LOOK_BACK = """
setp.ne.u32 %p2, %r2, 0;
@%p2 exit;
add.u32 %r5, %r1, 1;
st.global.u32 [%rd4], %r5;
mov.u64 %rd6, %rd4;
mov.u64 %rd7, %rd5;
@%p1 bra KNOWN;
st.release.gpu.global.u32 [%rd5], 1;
LOOK:
HEAR %r6, [%rd7-512];
setp.eq.u32 %p2, %r6, 0;
@%p2 bra LOOK;
setp.eq.u32 %p2, %r6, 2;
@%p2 bra ALL;
ld.global.u32 %r7, [%rd6-512];
add.u32 %r5, %r5, %r7;
sub.s64 %rd6, %rd6, 512;
sub.s64 %rd7, %rd7, 512;
bra LOOK;
ALL:
ld.global.u32 %r7, [%rd6-508];
add.u32 %r5, %r5, %r7;
KNOWN:
st.global.u32 [%rd4+4], %r5;
st.release.gpu.global.u32 [%rd5], 2;
ret;
}
"""


def looked_back(hear: str, seed: int) -> tuple[np.ndarray[Any, Any], set[str]]:
    """Return the prefix sums of 80 CTAs, of which all but the first poll at once, and the rules of the findings."""
    words, flags = np.zeros((2, 80 * THREADS), np.uint32)
    text = HEAD + LOOK_BACK.replace("HEAR", hear)
    found = run(text, grid=80, block=32, args=[words, flags], seed=seed).findings
    return words[1::THREADS], {finding.rule for finding in found}


@pytest.mark.parametrize("seed", [0, 1])
def test_a_block_may_read_what_all_before_it_have_told(seed: int) -> None:
    sums, found = looked_back(ACQUIRE, seed)
    np.testing.assert_array_equal(sums, np.cumsum(np.arange(1, 81)))
    assert found == set()


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.long
def test_a_block_that_acquires_nothing_races_with_those_before_it(seed: int) -> None:
    assert looked_back(READ, seed)[1] == {"global-race"}


@pytest.mark.long
def test_many_bins_behind_a_fence_cost_little() -> None:
    """If the checker kept a release clock per lane and histogram bin, this run would take gigabytes, and minutes."""
    body = "and.b32 %r3, %r3, 4095;\nmul.wide.u32 %rd3, %r3, 4;\nadd.s64 %rd5, %rd2, %rd3;\n"
    text = f"{HEAD}{body}{FENCE}red.relaxed.gpu.global.add.u32 [%rd5], 1;\nret;\n}}\n"
    words, flags = np.zeros((2, 256 * THREADS), np.uint32)
    assert run(text, grid=256, block=THREADS, args=[words, flags]).clean
    assert (flags[:4096] == 8).all()
