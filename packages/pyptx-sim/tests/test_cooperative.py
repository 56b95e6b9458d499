"""Cooperative grids: all CTAs are resident; `%envreg1` and `%envreg2` hold the address of a workspace.

`PYPTX_KERNELS=all` runs the large grid under a second seed, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tools.shares import full

from pyptx_sim import run
from pyptx_sim.errors import KernelTrap, LaunchError

from .ptx_text import execute, module, rules_found, words

pytestmark = pytest.mark.scaled

SCHEDULES: list[dict[str, Any]] = [{}, {"delay_async": True}, {"seed": 1}, {"seed": 2}]

# Grid barrier on the second word of the workspace: every CTA but CTA 0 adds 1, and CTA 0 adds 0x80000001 - CTAs,
# so that bit 31 of the word flips when all CTAs have arrived.
SYNC = """
bar.sync 0;
@%p1 bra skipped_N;
atom.add.release.gpu.u32 %r6, [%rd5+4], %r5;
again_N:
ld.acquire.gpu.u32 %r7, [%rd5+4];
xor.b32 %r7, %r7, %r6;
setp.ge.s32 %p3, %r7, 0;
@%p3 bra again_N;
skipped_N:
bar.sync 0;
"""
PROLOGUE = """
mov.u32 %r10, %envreg1; mov.u32 %r11, %envreg2; mov.b64 %rd5, {%r11, %r10};
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; mov.u32 %r3, %ntid.x;
setp.ne.u32 %p1, %r0, 0; setp.eq.u32 %p2, %r1, 0;
sub.u32 %r4, 0x80000001, %r2; selp.u32 %r5, %r4, 1, %p2;
mad.lo.u32 %r12, %r1, %r3, %r0; mul.lo.u32 %r13, %r2, %r3;
mad.wide.u32 %rd6, %r12, 4, %rd0;
"""
# In each round, thread i reads the word that thread i + ROUND wrote before the grid barrier.
ROUND = """
add.u32 %r14, %r12, ROUND; rem.u32 %r14, %r14, %r13; mad.wide.u32 %rd7, %r14, 4, %rd0;
ld.global.u32 %r15, [%rd7]; add.u32 %r16, %r16, %r15;
"""


def rounds(blocks: int, *, last_sync: bool = True, **options: Any) -> tuple[Any, Any]:
    """Run two rounds of writes, grid barriers and reads; return the sum of each thread's reads, and the result."""
    threads = blocks * 64
    out = np.zeros(2 * threads, np.uint32)
    end = "mad.wide.u32 %rd8, %r13, 4, %rd6; st.global.u32 [%rd8], %r16;"
    body = [PROLOGUE, "mul.lo.u32 %r16, %r12, 7; st.global.u32 [%rd6], %r16; mov.u32 %r16, 0;"]
    body += [SYNC.replace("N", "0"), ROUND.replace("ROUND", "1"), SYNC.replace("N", "1") if last_sync else ""]
    body += ["mul.lo.u32 %r17, %r12, 1000; st.global.u32 [%rd6], %r17;", SYNC.replace("N", "2")]
    body += [ROUND.replace("ROUND", "65"), end]
    result = execute("".join(body), out, grid=blocks, block=64, **options)
    return out[threads:], result


@pytest.mark.no_cover
@pytest.mark.parametrize("schedule", full(SCHEDULES, default=SCHEDULES[:3]))
@pytest.mark.long
def test_blocks_wait_for_each_other(schedule: dict[str, Any]) -> None:
    """All 150 CTAs run together, more than in other grids: each thread reads words that other CTAs wrote."""
    blocks = 150
    sums, result = rounds(blocks, cooperative=True, **schedule)
    number = np.arange(blocks * 64)
    assert (sums == np.roll(number, -1) * 7 + np.roll(number, -65) * 1000).all()
    assert result.findings == ()
    assert result.statistics.waves == 1


def test_a_missing_synchronization_is_found() -> None:
    """Threads of other CTAs may still read words that the second round overwrites."""
    _, result = rounds(4, last_sync=False, cooperative=True)
    assert rules_found(result.findings) == {"global-race", "lane-race"}


# Grid barrier without a workspace: each CTA adds 1 to a counter, waits for COUNT, and reads words of another CTA.
COUNTED = """
mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, 32, %r0; mad.wide.u32 %rd2, %r2, 4, %rd0;
st.global.u32 [%rd2+128], %r2;
bar.sync 0;
setp.ne.u32 %p1, %r0, 0; @%p1 bra MET;
atom.acq_rel.gpu.global.add.u32 %r3, [%rd0], 1;
AGAIN: ld.acquire.gpu.global.u32 %r3, [%rd0]; setp.lt.u32 %p2, %r3, COUNT; @%p2 bra AGAIN;
MET: bar.sync 0;
add.u32 %r1, %r1, 1; and.b32 %r1, %r1, 3; mad.lo.u32 %r2, %r1, 32, %r0; mad.wide.u32 %rd3, %r2, 4, %rd0;
ld.global.u32 %r4, [%rd3+128]; st.global.u32 [%rd2+1024], %r4;
"""


def counted(count: int, seed: int) -> set[str]:
    """Run four CTAs whose grid barrier waits for `count` CTAs; return the rules of the findings."""
    found = execute(COUNTED.replace("COUNT", str(count)), np.zeros(512, np.uint32), grid=4, seed=seed).findings
    return {finding.rule for finding in found}


@pytest.mark.long
def test_a_barrier_that_is_one_block_short_is_found_where_that_comes_late() -> None:
    """The barrier waits for 3 of 4 CTAs: at least half of the seeds show a race, in the others all 4 arrive in time."""
    seeds = range(1, 25)
    assert sum(counted(3, seed) == {"global-race"} for seed in seeds) >= len(seeds) / 2
    assert not any(counted(4, seed) for seed in seeds)


def test_a_plain_launch_has_no_workspace() -> None:
    both = "mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2; or.b32 %r1, %r1, %r2; st.global.u32 [%rd1], %r1;"
    assert not words(both).any()
    guarded = "mov.u32 %r1, %envreg1; setp.ne.u32 %p1, %r1, 0; @%p1 bra on; trap; on:"
    with pytest.raises(KernelTrap) as caught:
        execute(guarded, np.zeros(1, np.uint32))
    assert "cooperative=True" in str(caught.value.help)
    assert execute(guarded, np.zeros(1, np.uint32), cooperative=True).clean


def test_all_environment_registers_are_read() -> None:
    body = "".join(f"mov.b32 %r1, %envreg{number}; add.u32 %r2, %r2, %r1;" for number in (0, *range(3, 32)))
    assert not words(f"mov.u32 %r2, 0; {body} st.global.u32 [%rd1], %r2;").any()


LIMITS: dict[str, tuple[dict[str, Any], str, int]] = {
    "warps": ({"block": 1024}, "", 132 * 2),
    "CTAs per SM": ({"block": 32}, "", 132 * 32),
    "shared memory": ({"block": 32, "shared_bytes": 100 << 10}, "", 132 * 2),
    "registers": ({"block": 256}, ".maxnreg 128", 132 * 2),
}


@pytest.mark.parametrize("scarce", LIMITS)
def test_a_grid_that_is_not_resident_at_once_is_refused(scarce: str) -> None:
    """Each of an H200's 132 SMs has 64 warps, 32 CTAs, 228 KiB of shared memory and 65536 registers."""
    options, directive, most = LIMITS[scarce]
    text = module("").replace(")\n{", f")\n{directive}\n{{")
    with pytest.raises(LaunchError) as caught:
        run(text, grid=most + 1, cooperative=True, args=[np.zeros(1, np.uint32)], **options)
    assert f"only {most} are resident" in caught.value.message
    assert f"limited by {scarce})" in caught.value.message
