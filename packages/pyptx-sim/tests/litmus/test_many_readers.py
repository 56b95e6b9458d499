"""Many CTAs read words that one CTA then writes: the write must be ordered after all reads, not after some of them."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx_sim import Finding, run

pytestmark = pytest.mark.scaled(3)

READERS = 7
THREADS = 128
# Each CTA reads all words, then adds 1 to the count, except CTA `silent`. The last CTA waits, then writes all words.
TEXT = """.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 words, .param .u64 count, .param .u32 silent)
{
.reg .pred %p<4>;
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
ld.param.u64 %rd1, [words];
ld.param.u64 %rd2, [count];
ld.param.u32 %r7, [silent];
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %tid.x;
mul.wide.u32 %rd3, %r2, 4;
add.s64 %rd4, %rd1, %rd3;
setp.ne.u32 %p1, %r2, 0;
setp.eq.u32 %p2, %r1, READERS;
@%p2 bra WRITER;
READ %r3, [%rd4];
bar.sync 0;
setp.eq.or.u32 %p3, %r1, %r7, %p1;
@!%p3 red.release.gpu.global.add.u32 [%rd2], 1;
ret;
WRITER:
@%p1 bra MET;
WAIT:
ld.acquire.gpu.global.u32 %r4, [%rd2];
setp.lt.u32 %p3, %r4, TOLD;
@%p3 bra WAIT;
MET:
bar.sync 0;
st.global.u32 [%rd4], %r2;
ret;
}
"""
READS = ("ld.global.u32", "ld.relaxed.gpu.global.u32")


def found(read: str, silent: int, seed: int) -> tuple[Finding, ...]:
    told = READERS - (silent < READERS)
    text = TEXT.replace("READERS", str(READERS)).replace("TOLD", str(told)).replace("READ ", f"{read} ")
    words, count = np.zeros(THREADS, np.uint32), np.zeros(1, np.uint32)
    return run(text, grid=READERS + 1, block=THREADS, args=[words, count, silent], seed=seed).findings


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("read", READS)
def test_a_thread_ordered_after_all_readers_may_write(read: str, seed: int) -> None:
    assert not found(read, READERS, seed)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("silent", range(READERS))
def test_a_reader_that_keeps_silent_is_found(read: str, silent: int, seed: int) -> None:
    assert {finding.rule for finding in found(read, silent, seed)} == {"global-race"}
