"""`clusterlaunchcontrol`: correct and faulty kernels whose clusters cancel pending launches and do their work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx_sim import Result, run
from pyptx_sim.errors import StepLimitExceeded

pytestmark = pytest.mark.scaled(3)

SCHEDULES: list[dict[str, Any]] = [{}, {"delay_async": True}, *({"seed": seed} for seed in range(1, 7))]
ASK = "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
QUERY = "clusterlaunchcontrol.query_cancel"
RELEASE = "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;"
ACQUIRE = "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;"
BETWEEN = "barrier.cluster.arrive;\nbarrier.cluster.wait;"
TOGETHER = f"@%p1 {ASK}.multicast::cluster::all.b128 [answer], [bar];"
WAIT = """
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [bar], %r9;
@!%p2 bra WAIT;
"""
REGISTERS = ".reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .b128 %q<3>;"


def module(body: str, target: str = "sm_100a") -> str:
    return (
        f".version 8.8\n.target {target}\n.address_size 64\n"
        ".shared .align 16 .b8 answer[16];\n.shared .align 8 .b64 bar;\n"
        f".visible .entry k(.param .u64 out)\n{{\n{REGISTERS}\nld.param.u64 %rd0, [out];\n{body}\nret;\n}}\n"
    )


# Each cluster adds 1 to the counters of its CTAs and of the CTAs of each cluster whose work it takes over. %r1 is the
# index of the CTA whose counter is incremented, %r2 this CTA's rank in its cluster. Thread 0 of each CTA arrives at the
# mbarrier `bar`, thread 0 of rank 0 executes try_cancel, and all threads wait for the response and read it.
PERSISTENT = f"""
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %cluster_ctarank;
mov.u32 %r3, %tid.x;
mov.u32 %r9, 0;
setp.eq.u32 %p0, %r3, 0;
@%p0 mbarrier.init.shared.b64 [bar], 1;
fence.mbarrier_init.release.cluster;
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
WORK:
@!%p0 bra DO;
mbarrier.arrive.expect_tx.relaxed.cluster.shared::cta.b64 %rd2, [bar], 16;
setp.eq.u32 %p1, %r2, 0;
{TOGETHER}
DO:
mul.wide.u32 %rd3, %r1, 4;
add.u64 %rd3, %rd0, %rd3;
red.global.add.u32 [%rd3], 1;
WAIT:
{WAIT}
ld.shared.b128 %q0, [answer];
{QUERY}.is_canceled.pred.b128 %p3, %q0;
@!%p3 bra DONE;
{QUERY}.get_first_ctaid.v4.b32.b128 {{%r1, _, _, _}}, %q0;
add.u32 %r1, %r1, %r2;
xor.b32 %r9, %r9, 1;
{RELEASE}
barrier.cluster.arrive;
barrier.cluster.wait;
{ACQUIRE}
bra WORK;
DONE:
barrier.cluster.arrive;
barrier.cluster.wait;
"""


def launch(body: str, *, blocks: int = 24, cluster: int = 2, **options: Any) -> tuple[Result, np.ndarray[Any, Any]]:
    out = np.zeros(blocks, np.uint32)
    where: dict[str, Any] = {"grid": blocks, "block": 32, "cluster": cluster, "args": [out]}
    return run(module(body), **where, **options), out


@pytest.mark.parametrize("options", SCHEDULES, ids=str)
@pytest.mark.parametrize("cluster", [1, 2, 4])
def test_each_cluster_is_worked_on_once(options: dict[str, Any], cluster: int) -> None:
    result, out = launch(PERSISTENT, cluster=cluster, **options)
    assert [str(finding) for finding in result.findings] == []
    np.testing.assert_array_equal(out, np.full(24, 32))


@pytest.mark.long
def test_how_many_waves_there_are_depends_on_the_schedule() -> None:
    waves = {launch(PERSISTENT, seed=seed)[0].statistics.waves for seed in range(1, 12)}
    assert 1 in waves, waves
    assert len(waves) > 1, waves
    assert launch(PERSISTENT)[0].statistics.waves == 1


# For each CTA index, the index of the CTA that executed this CTA's work.
SIGNED = PERSISTENT.replace("red.global.add.u32 [%rd3], 1;", "mov.u32 %r8, %ctaid.x;\nst.global.u32 [%rd3], %r8;")


@pytest.mark.parametrize(("room", "running"), [(None, 6), (1, 1), (5, 5), (23, 23)])
def test_a_cluster_that_is_taken_over_does_not_run(room: int | None, running: int) -> None:
    """Of 24 clusters, a quarter, or as many as fit on the device, run and take over the other clusters."""
    result, out = launch(SIGNED, cluster=1, resident_blocks=room)
    assert result.findings == ()
    assert set(out) == set(range(running))


@pytest.mark.parametrize("options", SCHEDULES, ids=str)
@pytest.mark.parametrize("room", [24, 100])
def test_where_all_have_room_nothing_is_taken_over(room: int, options: dict[str, Any]) -> None:
    result, out = launch(SIGNED, resident_blocks=room, **options)
    assert result.findings == ()
    np.testing.assert_array_equal(out, np.arange(24))


@pytest.mark.parametrize("options", SCHEDULES, ids=str)
@pytest.mark.parametrize(("cluster", "room"), [(1, 5), (2, 5), (4, 4)])
def test_clusters_without_room_are_worked_on_once(cluster: int, room: int, options: dict[str, Any]) -> None:
    result, out = launch(PERSISTENT, cluster=cluster, resident_blocks=room, **options)
    assert [str(finding) for finding in result.findings] == []
    np.testing.assert_array_equal(out, np.full(24, 32))


@pytest.mark.long
def test_a_schedule_refuses_requests_though_the_room_is_known() -> None:
    waves = {launch(PERSISTENT, seed=seed, resident_blocks=4)[0].statistics.waves for seed in range(1, 12)}
    assert len(waves) > 1, waves
    assert max(waves) <= 6, waves


def test_the_first_block_is_told_along_each_axis() -> None:
    """In a grid of 4 x 3 x 2, each CTA records the coordinates of the first CTA of the cluster that it takes over."""
    body = PERSISTENT.replace("mov.u32 %r1, %ctaid.x;", "mov.u32 %r1, 0xffff;").replace(
        f"{QUERY}.get_first_ctaid.v4.b32.b128 {{%r1, _, _, _}}, %q0;\nadd.u32 %r1, %r1, %r2;",
        f"""
        {QUERY}.get_first_ctaid::x.b32.b128 %r4, %q0;
        {QUERY}.get_first_ctaid::y.b32.b128 %r5, %q0;
        {QUERY}.get_first_ctaid::z.b32.b128 %r6, %q0;
        {QUERY}.get_first_ctaid.v4.b32.b128 {{_, %r7, _, _}}, %q0;
        mad.lo.u32 %r1, %r6, 3, %r7;
        mad.lo.u32 %r1, %r1, 4, %r4;
        """,
    )
    body = body.replace("DO:\n", "DO:\nsetp.eq.u32 %p5, %r1, 0xffff;\n@%p5 bra WAIT;\n")
    out = np.zeros(24, np.uint32)
    result = run(module(body), grid=(4, 3, 2), block=32, args=[out])
    assert [str(finding) for finding in result.findings] == []
    np.testing.assert_array_equal(out, [0] * 6 + [32] * 18)


# --- faults -----------------------------------------------------------------------------------------

AGAIN = f"""
@!%p3 bra AGAIN;
bra ON;
AGAIN:
@%p0 {ASK}.b128 [answer], [bar];
bra DONE;
ON:
"""
FIRST = f"{QUERY}.get_first_ctaid.v4.b32.b128 {{%r1, _, _, _}}, %q0;"
# For each injected fault: a text replacement in the kernel, and rules of which at least one must report the fault.
FAULTS = {
    "the response is read before it is written": (
        (WAIT, ""),
        ("read-before-wait", "uninitialized-memory"),
    ),
    "the CTA index of a failed request is used": (
        (
            f"@!%p3 bra DONE;\n{FIRST}",
            f"{FIRST}\n@!%p3 st.global.u32 [%rd3], %r1;\n@!%p3 bra DONE;",
        ),
        ("cancel-response",),
    ),
    "a CTA requests again after a failure": (("@!%p3 bra DONE;", AGAIN), ("cancel-after-failure",)),
    "two requests write the same bytes": ((TOGETHER, f"{TOGETHER}\n{TOGETHER}"), ("read-before-wait",)),
    "a response may overwrite a response that is not read yet": (
        (f"{RELEASE}\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n{ACQUIRE}", ""),
        ("early-reuse",),
    ),
    "no proxy fence follows the read of a response": (
        (f"{RELEASE}\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n{ACQUIRE}", BETWEEN),
        ("missing-proxy-fence",),
    ),
    "the query operand is not a response": (
        ("ld.shared.b128 %q0, [answer];", "mov.b128 %q0, {%rd0, %rd0};"),
        ("cancel-response",),
    ),
}


@pytest.mark.parametrize("options", SCHEDULES[:4], ids=str)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_in_every_schedule(name: str, options: dict[str, Any]) -> None:
    (old, new), rules = FAULTS[name]
    assert old in PERSISTENT
    try:
        findings = launch(PERSISTENT.replace(old, new), step_limit=5_000, **options)[0].findings
    except StepLimitExceeded as stopped:
        assert not new  # without the mbarrier wait, CTAs may read an old try_cancel response forever
        findings = stopped.findings
    assert {finding.rule for finding in findings} & set(rules), findings


@pytest.mark.parametrize("options", SCHEDULES[:4], ids=str)
def test_a_block_that_waits_in_vain_behind_the_first_cluster_that_it_takes_is_found(options: dict[str, Any]) -> None:
    """With all clusters resident the kernel terminates: the first try_cancel fails, and no thread waits again."""
    body = PERSISTENT.replace(TOGETHER, f"setp.eq.and.u32 %p1, %r9, 0, %p1;\n{TOGETHER}")
    assert body != PERSISTENT
    result, _ = launch(body, **options)
    assert {finding.rule for finding in result.findings} == {"deadlock"}, result
    assert launch(body, resident_blocks=24, **options)[0].findings == ()


@pytest.mark.parametrize("options", SCHEDULES[:4], ids=str)
def test_the_block_may_be_read_before_it_is_known_that_there_is_one(options: dict[str, Any]) -> None:
    """The CTA index of a failed try_cancel may be read, as in compiled code, if the kernel does not use the index."""
    body = PERSISTENT.replace(f"@!%p3 bra DONE;\n{FIRST}", f"{FIRST}\n@!%p3 bra DONE;")
    assert body != PERSISTENT
    assert launch(body, **options)[0].findings == ()


# Each CTA reads the response and arrives at an mbarrier of the leading CTA, which then sends the next request.
HANDED_OVER = """
FENCE
bar.warp.sync -1;
@!%p0 bra WORK;
mapa.shared::cluster.u32 %r12, %r11, 0;
mbarrier.arriveRELEASE.shared::cluster.b64 _, [%r12];
setp.ne.u32 %p4, %r2, 0;
@%p4 bra WORK;
FREE:
mbarrier.try_wait.parityACQUIRE.shared::cta.b64 %p5, [free], %r10;
@!%p5 bra FREE;
xor.b32 %r10, %r10, 1;
bra WORK;
"""
IN_SCOPE = {"FENCE": "fence.proxy.async.shared::cta;", "RELEASE": ".release.cluster", "ACQUIRE": ".acquire.cluster"}


def handed_over(words: dict[str, str]) -> str:
    """Return the body of a kernel that hands the response over with an mbarrier; `words` replace parts of it."""
    ready = "@%p0 mbarrier.init.shared.b64 [bar], 1;"
    free = "@%p0 mbarrier.init.shared.b64 [free], 2;\nmov.u32 %r10, 0;\nmov.u32 %r11, free;"
    between = f"{RELEASE}\n{BETWEEN}\n{ACQUIRE}\nbra WORK;"
    assert between in PERSISTENT
    body = PERSISTENT.replace(ready, f"{ready}\n{free}").replace(between, HANDED_OVER)
    for part, word in words.items():
        body = body.replace(part, word)
    return f".shared .align 8 .b64 free;\n{body}"


@pytest.mark.parametrize("options", SCHEDULES[:4], ids=str)
def test_a_fence_that_only_lacks_the_scope_of_the_cluster_has_its_own_help(options: dict[str, Any]) -> None:
    assert launch(handed_over(IN_SCOPE), **options)[0].findings == ()
    for narrow in ({"RELEASE": "", "ACQUIRE": ""}, {"ACQUIRE": ""}, {"RELEASE": ""}):
        (found,) = launch(handed_over(IN_SCOPE | narrow), **options)[0].findings
        assert found.rule == "missing-proxy-fence"
        assert "not ordered after the proxy fence that follows the generic read" in found.message
        assert "scope .cta" in found.notes[0]
        assert "mbarrier.arrive.release.cluster and mbarrier.try_wait.acquire.cluster" in (found.help or "")
    (missing,) = launch(handed_over(IN_SCOPE | {"FENCE": ""}), **options)[0].findings
    assert (missing.rule, missing.notes) == ("missing-proxy-fence", ())
    assert "put fence.proxy.async" in (missing.help or "")


@pytest.mark.parametrize("fence", [f"{BETWEEN}\n{ACQUIRE}", f"fence.proxy.async.shared::cta;\n{BETWEEN}"])
def test_one_fence_on_either_side_is_enough(fence: str) -> None:
    body = PERSISTENT.replace(f"{RELEASE}\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n{ACQUIRE}", fence)
    assert body != PERSISTENT
    assert launch(body)[0].findings == ()
