"""Message passing between waves (CTAs that run concurrently): happens-before edges from warps of earlier waves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx_sim import run

from ..test_async_copy import each_schedule

# Number of CTAs: more than the simulator runs together in one wave.
BLOCKS = 1200
HEAD = """.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 memory)
{
.reg .pred %p<3>;
.reg .b32 %r<9>;
.reg .b64 %rd<3>;
ld.param.u64 %rd1, [memory];
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %tid.x;
setp.eq.u32 %p1, %r2, 0;
"""
X, F, G = (f"[%rd1+{64 * place}]" for place in range(3))
WRITE = f"st.global.u32 {X}, 1;"
READ = f"ld.global.u32 %r3, {X};"


def tell(flag: str) -> str:
    return f"st.release.gpu.global.u32 {flag}, 1;"


def hear(flag: str) -> str:
    return f"ld.acquire.gpu.global.u32 %r4, {flag};"


def rules_of(body: str, block: int = 32, **schedule: Any) -> set[str]:
    """Return the rules of the findings of a program."""
    memory, text = np.zeros(64, np.uint32), f"{HEAD}{body}ret;\n}}\n"
    found = run(text, grid=BLOCKS, block=block, args=[memory], checks=("global-race", "lane-race"), **schedule)
    assert found.statistics.waves > 1
    return {finding.rule for finding in found.findings}


def rules(threads: dict[int, tuple[str, ...]]) -> set[str]:
    """Return the rules of the findings if thread 0 of each CTA in `threads` executes its instructions."""
    body = ""
    for block, lines in threads.items():
        steps = "".join(f"@%p1 {line}\n" for line in lines)
        body += f"setp.ne.u32 %p2, %r1, {block};\n@%p2 bra after{block};\n{steps}ret;\nafter{block}:\n"
    return rules_of(body)


FIRST, SECOND, LATE, LATER = 0, 1, BLOCKS - 2, BLOCKS - 1
CLEAN = {
    "released to a later wave": {FIRST: (WRITE, tell(F)), LATE: (hear(F), READ)},
    "a CTA of a later wave acquires and releases the write again": {
        FIRST: (WRITE, tell(F)),
        LATE: (hear(F), tell(G)),
        LATER: (hear(G), READ),
    },
    "a CTA of the first wave acquires and releases the write again": {
        FIRST: (WRITE, tell(F)),
        SECOND: (hear(F), tell(G)),
        LATE: (hear(G), READ),
    },
    "the write is released by an atomic update of the flag": {
        FIRST: (WRITE, f"atom.release.gpu.global.add.u32 %r5, {F}, 1;"),
        LATE: (hear(F), READ),
    },
    "released by a fence": {
        FIRST: (WRITE, "fence.acq_rel.gpu;", f"st.relaxed.gpu.global.u32 {F}, 1;"),
        LATE: (f"ld.relaxed.gpu.global.u32 %r4, {F};", "fence.acq_rel.gpu;", READ),
    },
}
RACY = {
    "not released": {FIRST: (WRITE,), LATE: (READ,)},
    "the flag is released before the write": {FIRST: (tell(F), WRITE), LATE: (hear(F), READ)},
    "the flag is released by another CTA, not ordered after the write": {
        FIRST: (WRITE,),
        SECOND: (tell(F),),
        LATE: (hear(F), READ),
    },
    "the flag is acquired by a third CTA": {FIRST: (WRITE, tell(F)), LATE: (hear(F),), LATER: (READ,)},
    "released at CTA scope": {
        FIRST: (WRITE, f"st.release.cta.global.u32 {F}, 1;"),
        LATE: (hear(F), READ),
    },
    "not acquired": {FIRST: (WRITE, tell(F)), LATE: (f"ld.relaxed.gpu.global.u32 %r4, {F};", READ)},
}


@pytest.mark.parametrize("threads", CLEAN.values(), ids=list(CLEAN))
def test_what_was_told_in_an_earlier_wave_is_known(threads: dict[int, tuple[str, ...]]) -> None:
    assert rules(threads) == set()


@pytest.mark.parametrize("threads", RACY.values(), ids=list(RACY))
def test_what_was_not_told_in_an_earlier_wave_is_a_race(threads: dict[int, tuple[str, ...]]) -> None:
    assert rules(threads) == {"global-race"}


# Kernel: thread 0 of a CTA acquires a write of a CTA that has exited. Another warp of the acquiring CTA reads it.
AMONG_WARPS = f"""
.shared .align 8 .b64 bar;
setp.eq.u32 %p2, %r1, {FIRST};
@%p2 bra FIRST;
setp.ne.u32 %p2, %r1, {LATE};
@%p2 exit;
@%p1 mbarrier.init.shared.b64 [bar], 1;
bar.sync 0;
setp.ge.u32 %p2, %r2, 32;
@%p2 bra OTHER;
@!%p1 exit;
SPIN:
{hear(F)}
setp.eq.u32 %p2, %r4, 0;
@%p2 bra SPIN;
mbarrier.arrive.shared.b64 _, [bar];
exit;
OTHER:
WAIT
{READ}
exit;
FIRST:
@!%p1 exit;
{WRITE}
{tell(F)}
"""
WAIT = "mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra OTHER;"


@each_schedule
@pytest.mark.parametrize(("wait", "found"), [(WAIT, set()), ("", {"global-race"})], ids=["waits", "does not wait"])
def test_what_a_thread_hears_of_an_earlier_wave_reaches_who_waits_for_it(
    schedule: dict[str, Any], wait: str, found: set[str]
) -> None:
    assert rules_of(AMONG_WARPS.replace("WAIT", wait), block=64, **schedule) == found
