"""Clusters: distributed shared memory, mbarriers of other CTAs, and st.async."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx_sim import run
from pyptx_sim.errors import LaunchError

from .ptx_text import execute
from .test_async_copy import each_schedule

pytestmark = pytest.mark.hopper

BEFORE = ".shared .align 16 .b8 box[1024];\n.shared .align 8 .b64 bar;"
SYNC = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;"
# %r1: rank; %r2: rank of the next CTA; %r3: its &box[tid]; %r4: own &box[tid]; %r5: its bar; %rd2: &out[rank][tid].
HEAD = f"""
mov.u32 %r1, %cluster_ctarank;
mov.u32 %r10, %cluster_nctarank;
add.u32 %r2, %r1, 1;
rem.u32 %r2, %r2, %r10;
mov.u32 %r11, box;
mad.lo.u32 %r4, %r0, 4, %r11;
mapa.shared::cluster.u32 %r3, %r4, %r2;
mov.u32 %r12, bar;
mapa.shared::cluster.u32 %r5, %r12, %r2;
mad.lo.u32 %r13, %r1, 32, %r0;
mad.wide.u32 %rd2, %r13, 4, %rd0;
setp.eq.u32 %p0, %r0, 0;
@%p0 mbarrier.init.shared.b64 [bar], 1;
fence.mbarrier_init.release.cluster;
{SYNC}
"""
WAIT = """
WAIT:
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [bar], 0;
@!%p1 bra WAIT;
ld.shared.u32 %r20, [%r4];
st.global.u32 [%rd2], %r20;
"""


def ring(body: str, cluster: int = 4, **options: Any) -> np.ndarray[Any, Any]:
    """Run a kernel body in `cluster` CTAs of one warp, assert no finding, and return one row of words per CTA."""
    out = np.zeros((2 * cluster, 32), np.uint32)
    result = execute(HEAD + body + SYNC, out[:cluster], grid=cluster, cluster=(cluster, 1, 1), before=BEFORE, **options)
    assert [str(finding) for finding in result.findings] == []
    return out[:cluster]


def expected(cluster: int, scale: int = 1) -> np.ndarray[Any, Any]:
    """Return the words that each CTA receives from the preceding one: its rank times 100, plus the thread index."""
    ranks = (np.arange(cluster) - 1) % cluster
    return (ranks[:, None] * 100 + np.arange(32)) * scale


VALUE = "mad.lo.u32 %r21, %r1, 100, %r0;\n"
SENDS = {
    "a store, then an mbarrier arrival": "st.shared::cluster.u32 [%r3], %r21;\nbar.warp.sync -1;\n"
    "@%p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];\n",
    "st.async": "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;\n"
    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r3], %r21, [%r5];\n",
    "st.async without a space": "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;\n"
    "cvt.u64.u32 %rd8, %r3;\ncvta.shared.u64 %rd8, %rd8;\ncvt.u64.u32 %rd9, %r5;\ncvta.shared.u64 %rd9, %rd9;\n"
    "st.async.mbarrier::complete_tx::bytes.u32 [%rd8], %r21, [%rd9];\n",
}


@each_schedule
@pytest.mark.parametrize("send", SENDS.values(), ids=list(SENDS))
@pytest.mark.parametrize("cluster", [2, 4])
def test_a_block_sends_to_the_next_one(schedule: dict[str, Any], send: str, cluster: int) -> None:
    assert (ring(VALUE + send + WAIT, cluster, **schedule) == expected(cluster)).all()


@each_schedule
def test_vectors_are_sent_whole(schedule: dict[str, Any]) -> None:
    body = f"""
    {VALUE}
    @%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 512;
    mad.lo.u32 %r22, %r0, 16, %r11;
    mapa.shared::cluster.u32 %r23, %r22, %r2;
    add.u32 %r24, %r21, 1000;
    st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r23], {{%r21, %r24, %r21, %r24}}, [%r5];
    """
    wait = WAIT.replace("ld.shared.u32 %r20, [%r4]", "ld.shared.u32 %r20, [%r22+12]")
    assert (ring(body + wait, **schedule) == expected(4) + 1000).all()


@each_schedule
def test_updates_are_combined(schedule: dict[str, Any]) -> None:
    body = f"""
    {VALUE}
    mov.u32 %r22, 7;
    st.shared.u32 [%r4], %r22;
    {SYNC}
    @%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
    red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r3], %r21, [%r5];
    """
    assert (ring(body + WAIT, **schedule) == expected(4) + 7).all()


@each_schedule
def test_another_blocks_memory_is_read_and_updated(schedule: dict[str, Any]) -> None:
    body = f"""
    {VALUE}
    st.shared.u32 [%r4], %r21;
    {SYNC}
    atom.shared::cluster.add.u32 %r20, [%r3], 5;
    {SYNC}
    ld.shared.u32 %r22, [%r4];
    sub.u32 %r20, %r20, %r22;
    ld.shared::cluster.u32 %r20, [%r3];
    st.global.u32 [%rd2], %r20;
    """
    ranks = (np.arange(4) + 1) % 4
    assert (ring(body, **schedule) == ranks[:, None] * 100 + np.arange(32) + 5).all()


def test_a_relaxed_arrival_orders_nothing() -> None:
    body = VALUE + "st.shared::cluster.u32 [%r3], %r21;\n" + "{sync}" + "ld.shared.u32 %r20, [%r4];\n"
    for arrive, rules in (("arrive", set[str]()), ("arrive.relaxed", {"shared-race"})):
        text = body.replace("{sync}", f"barrier.cluster.{arrive}.aligned;\nbarrier.cluster.wait.aligned;\n")
        result = execute(HEAD + text + SYNC, np.zeros(64, np.uint32), grid=2, cluster=(2, 1, 1), before=BEFORE)
        assert {finding.rule for finding in result.findings} == rules


def test_an_address_knows_its_rank() -> None:
    body = "getctarank.shared::cluster.u32 %r20, %r3;\nst.global.u32 [%rd2], %r20;\n"
    assert (ring(body) == ((np.arange(4) + 1) % 4)[:, None]).all()


FOREIGN = {
    "store": "st.shared.u32 [%r3], %r21;",
    "load": "ld.shared::cta.u32 %r20, [%r3];",
    "atomic": "atom.shared.add.u32 %r20, [%r3], 1;",
    "initialization": "@%p0 mbarrier.inval.shared.b64 [bar];\n" + SYNC + "\n@%p0 mbarrier.init.shared.b64 [%r5], 1;",
    "wait": "@%p0 mbarrier.arrive.shared.b64 _, [bar];\n"
    "W: mbarrier.try_wait.parity.shared.b64 %p1, [%r5], 0;\n@!%p1 bra W;",
    "arrival with a state": "@%p0 mbarrier.arrive.shared.b64 %rd9, [%r5];",
}


@pytest.mark.parametrize("text", FOREIGN.values(), ids=list(FOREIGN))
def test_an_instruction_for_the_own_block_finds_no_other(text: str) -> None:
    body = HEAD + VALUE + "st.shared.u32 [%r4], %r21;\n" + SYNC + "\n" + text + "\n" + SYNC
    result = execute(body, np.zeros(64, np.uint32), grid=2, cluster=2, before=BEFORE)
    assert {finding.rule for finding in result.findings} == {"out-of-bounds"}
    assert all("shared::cta" in finding.message for finding in result.findings)


def test_a_generic_address_is_taken_for_one() -> None:
    body = "mov.u64 %rd2, box;\ncvta.shared.u64 %rd2, %rd2;\nst.shared.u32 [%rd2], %r0;"
    (finding,) = execute(body, np.zeros(64, np.uint32), block=1, before=BEFORE).findings
    assert "a generic address?" in finding.message


def test_a_block_that_the_cluster_does_not_have_is_named() -> None:
    body = HEAD + "mapa.shared::cluster.u32 %r3, %r4, 5;\nst.shared::cluster.u32 [%r3], %r0;\n" + SYNC
    (finding,) = execute(body, np.zeros(64, np.uint32), grid=2, cluster=2, before=BEFORE).findings
    assert finding.rule == "out-of-bounds"
    assert "CTA 5 of a cluster of 2" in finding.message


RANKS = """
.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) DIRECTIVES
{
.reg .b32 %r<6>; .reg .b64 %d<3>;
ld.param.u64 %d1, [out];
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, %cluster_nctaid.y; mov.u32 %r4, %nctaid.x;
mov.u32 %r5, %ctaid.y; mad.lo.u32 %r1, %r5, %r4, %r1;
mul.wide.u32 %d2, %r1, 16; add.u64 %d1, %d1, %d2;
st.global.v4.u32 [%d1], {%r2, %r3, %r4, %r5};
ret;
}
"""


@pytest.mark.parametrize(
    ("directives", "grid", "cluster"),
    [
        (".explicitcluster .reqnctapercluster 2, 2, 1", (4, 2), (1, 1, 1)),
        (".reqnctapercluster 2, 2", (4, 2), (2, 2, 1)),
        (".blocksareclusters .reqnctapercluster 2, 2 .reqntid 1", (2, 1), (1, 1, 1)),
    ],
)
def test_a_cluster_is_that_of_the_entry(directives: str, grid: tuple[int, int], cluster: tuple[int, int, int]) -> None:
    out = np.zeros((8, 4), np.uint32)
    text = RANKS.replace("DIRECTIVES", directives)
    assert run(text, grid=grid, block=1, cluster=cluster, args=[out]).findings == ()
    assert out[:, 0].tolist() == [0, 1, 0, 1, 2, 3, 2, 3]
    assert set(out[:, 1]) == {2}
    assert set(out[:, 2]) == {4}


@pytest.mark.parametrize(
    ("directives", "cluster", "message"),
    [
        (".reqnctapercluster 2, 1, 1", (1, 2, 1), r"requires clusters of \(2, 1, 1\) CTAs"),
        (".maxclusterrank 2", (4, 1, 1), "allows at most 2 CTAs per cluster"),
        (".maxntid 1", (2, 1, 1), "sm_86 supports 1"),
    ],
)
def test_another_cluster_than_the_entry_allows_is_an_error(
    directives: str, cluster: tuple[int, int, int], message: str
) -> None:
    text = RANKS.replace("sm_90", "sm_86") if "sm_86" in message else RANKS
    with pytest.raises(LaunchError, match=message):
        run(text.replace("DIRECTIVES", directives), grid=(4, 2), block=1, cluster=cluster, args=[np.zeros(32)])


@pytest.mark.parametrize("seed", range(1, 9))
def test_lanes_that_wait_for_different_phases_of_the_cluster_go_on(seed: int) -> None:
    body = """
    ld.relaxed.gpu.global.u32 %r20, [%rd0];
    mov.u32 %r21, 0;
    AGAIN:
    barrier.cluster.arrive;
    barrier.cluster.wait;
    red.global.add.u32 [%rd0], 1;
    add.u32 %r21, %r21, 1;
    setp.lt.u32 %p0, %r21, 12;
    @%p0 bra AGAIN;
    """
    out = np.zeros(32, np.uint32)
    result = execute(body, out, seed=seed)
    assert [str(finding) for finding in result.findings] == []
    assert out[0] == 32 * 12
