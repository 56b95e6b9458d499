"""The checker records arrivals of many threads by one instruction together, with the findings of separate records."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pyptx_sim import run
from pyptx_sim.happens_before.clocks import WarpClocks
from pyptx_sim.observer import Observer
from pyptx_sim.rules.races import RaceChecker

if TYPE_CHECKING:
    from pyptx_sim.findings import Finding

# The first COUNT threads of each of two CTAs store a word and arrive at mbarriers. After the mbarriers of its own CTA
# complete, each thread reads the word of a thread of the other CTA, which has arrived at the mbarriers of CTA WHOSE.
EXCHANGE = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p_out)
.reqnctapercluster 2
{
    .reg .pred %p<3>;
    .reg .b32 %r<16>;
    .reg .b64 %rd<4>;
    .shared .align 8 .b64 barriers[4];
    .shared .align 4 .b32 stored[64];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %cluster_ctarank;
    mov.u32 %r2, barriers;
    mov.u32 %r3, stored;
    setp.ne.u32 %p0, %r0, 0;
    @%p0 bra MADE;
    mbarrier.init.shared::cta.b64 [%r2], EACH;
    mbarrier.init.shared::cta.b64 [%r2+8], EACH;
    mbarrier.init.shared::cta.b64 [%r2+16], EACH;
    mbarrier.init.shared::cta.b64 [%r2+24], EACH;
MADE:
    barrier.cluster.arrive;
    barrier.cluster.wait;
    setp.ge.u32 %p1, %r0, COUNT;
    @%p1 bra WAIT;
    shl.b32 %r4, %r0, 2;
    add.u32 %r4, %r3, %r4;
    st.shared.u32 [%r4], %r0;
    ARRIVE
WAIT:
    mov.u32 %r8, 0;
AGAIN:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r2], 0;
    @!%p2 bra AGAIN;
    add.u32 %r2, %r2, 8;
    add.u32 %r8, %r8, 1;
    setp.lt.u32 %p2, %r8, 4;
    @%p2 bra AGAIN;
    xor.b32 %r9, %r1, 1;
    and.b32 %r10, %r0, 3;
    mad.lo.u32 %r10, WHOSE, APART, %r10;
    shl.b32 %r11, %r10, 2;
    add.u32 %r11, %r3, %r11;
    mapa.shared::cluster.u32 %r11, %r11, %r9;
    ld.shared::cluster.u32 %r12, [%r11];
    ld.param.u64 %rd0, [p_out];
    mov.u32 %r13, %ctaid.x;
    mad.lo.u32 %r13, %r13, 64, %r0;
    mul.wide.u32 %rd1, %r13, 4;
    add.u64 %rd0, %rd0, %rd1;
    st.global.u32 [%rd0], %r12;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    ret;
}
"""
# Thread t arrives at mbarrier t % 4 of CTA t / 4 % 2, or at all four mbarriers of CTA t / SHARE % 2 in order.
BY_LANES = """
    and.b32 %r5, %r0, 3;
    shl.b32 %r5, %r5, 3;
    add.u32 %r5, %r2, %r5;
    shr.u32 %r6, %r0, 2;
    and.b32 %r6, %r6, 1;
    mapa.shared::cluster.u32 %r7, %r5, %r6;
    mbarrier.arrive.release.SCOPE.shared::cluster.b64 _, [%r7];
"""
TO_ALL = """
    div.u32 %r6, %r0, SHARE;
    and.b32 %r6, %r6, 1;
    mapa.shared::cluster.u32 %r7, %r2, %r6;
    mbarrier.arrive.release.SCOPE.shared::cluster.b64 _, [%r7];
    mbarrier.arrive.release.SCOPE.shared::cluster.b64 _, [%r7+8];
    mbarrier.arrive.release.SCOPE.shared::cluster.b64 _, [%r7+16];
    mbarrier.arrive.release.SCOPE.shared::cluster.b64 _, [%r7+24];
"""
WAYS: dict[str, dict[str, object]] = {
    "some lanes of a warp": {"ARRIVE": BY_LANES, "COUNT": 8, "EACH": 2, "APART": 4},
    "all lanes, at several": {"ARRIVE": BY_LANES, "COUNT": 64, "EACH": 16, "APART": 4},
    "halves of warps": {"ARRIVE": TO_ALL, "SHARE": 16, "COUNT": 64, "EACH": 64, "APART": 16},
    "whole warps": {"ARRIVE": TO_ALL, "SHARE": 32, "COUNT": 64, "EACH": 64, "APART": 32},
}
TOLD, UNTOLD = "%r1", "%r9"  # values of WHOSE: the reader's CTA, or the other CTA


def findings(way: str, scope: str, whose: str) -> tuple[list[Finding], list[int]]:
    text = EXCHANGE
    for word, meant in {**WAYS[way], "SCOPE": scope, "WHOSE": whose}.items():
        text = text.replace(word, str(meant))
    out = np.zeros(4 * 64, np.int32)
    result = run(text, grid=4, block=64, args=[out], checks="all")
    return list(result.findings), out.tolist()


@pytest.mark.hopper
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("scope", "whose", "rules"),
    [
        ("cluster", TOLD, set()),
        ("cluster", UNTOLD, {"shared-race"}),
        ("cta", TOLD, {"shared-race"}),
    ],
)
def test_the_same_is_found_as_of_each_arrival_by_itself(
    way: str, scope: str, whose: str, rules: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    together = findings(way, scope, whose)
    assert {finding.rule for finding in together[0] if finding.severity != "note"} == rules
    monkeypatch.setattr(RaceChecker, "signalled_together", Observer.signalled_together)
    assert together == findings(way, scope, whose)


@pytest.mark.parametrize("seed", range(8))
def test_what_groups_know_is_put_together_as_by_each_itself(seed: int) -> None:
    warps, random = 24, np.random.default_rng(seed)
    clocks = WarpClocks(np.ones((warps, 32), np.bool_))
    clocks.now[:] = random.integers(100, 200, warps)
    for _ in range(60):  # in each round, random lanes of two warps acquire a random vector clock
        some = random.choice(warps, 2, replace=False)
        masks = random.random((2, 32)) < random.choice([0.1, 0.5, 1.0])
        clocks.learn(some, masks, random.integers(0, 100, clocks.known.shape[1]).astype(np.int32))
    together, groups = deepcopy(clocks), np.sort(random.integers(0, 6, warps))
    masks = (random.random((warps, 32)) < random.random((warps, 1))) | (np.arange(32) == 5)
    masks[random.random(warps) < 0.3] = True
    found, told = together.told_by_each(np.arange(warps), masks, groups)
    assert found.tolist() == np.unique(groups).tolist()
    for group, known in zip(found.tolist(), told, strict=True):
        here = np.flatnonzero(groups == group)
        alone = clocks.told(here, masks[here])
        assert (known[:warps] == alone[:warps]).all()
        assert sorted(known[warps:].tolist()) == sorted([*alone[warps:].tolist(), *[0] * (len(known) - len(alone))])
    assert (together.now == clocks.now).all()
