"""mbarriers: phases, arrival counts and tx-counts, waits by state and by parity, and violated rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx_sim import run
from pyptx_sim.errors import BarrierFault, Deadlock

from .ptx_text import execute, module, words
from .test_async_copy import each_schedule

BEFORE = ".shared .align 8 .b64 bar[4];\n.shared .align 8 .b64 full;\n.shared .align 4 .b32 box[64];"
INIT = """
setp.eq.u32 %p0, %r0, 0;
@%p0 mbarrier.init.shared.b64 [bar], {count};
bar.sync 0;
"""


def meet(wait: str, phase: str, count: int = 64) -> str:
    """Return PTX: all threads of a CTA store a word, arrive, wait, and read another thread's word."""
    return f"""
    {INIT.format(count=count)}
    mov.u32 %r2, box;
    mad.lo.u32 %r3, %r0, 4, %r2;
    st.shared.u32 [%r3], %r0;
    mbarrier.arrive.shared.b64 %rd9, [bar];
    WAIT:
    mbarrier.{wait}.shared.b64 %p1, [bar], {phase};
    @!%p1 bra WAIT;
    xor.b32 %r4, %r0, 63;
    mad.lo.u32 %r4, %r4, 4, %r2;
    ld.shared.u32 %r5, [%r4];
    st.global.u32 [%rd1], %r5;
    """


@each_schedule
@pytest.mark.parametrize(
    ("wait", "phase"),
    [
        ("test_wait", "%rd9"),
        ("test_wait.acquire.cta", "%rd9"),
        ("try_wait", "%rd9"),
        ("try_wait", "%rd9, 1000"),
        ("test_wait.parity", "0"),
        ("try_wait.parity.acquire.cta", "0, 1000"),
        ("test_wait.parity", "6"),  # ptxas uses only the parity's lowest bit
    ],
)
def test_threads_meet_at_an_mbarrier(schedule: dict[str, Any], wait: str, phase: str) -> None:
    found = words(meet(wait, phase), 64, block=64, before=BEFORE, **schedule)
    assert (found == 63 - np.arange(64)).all()


@each_schedule
@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_parities_alternate(schedule: dict[str, Any], rounds: int) -> None:
    body = f"""
    {INIT.format(count=64)}
    mov.u32 %r2, box;
    mad.lo.u32 %r3, %r0, 4, %r2;
    xor.b32 %r4, %r0, 63;
    mad.lo.u32 %r4, %r4, 4, %r2;
    mov.u32 %r6, 0;
    mov.u32 %r7, 0;
    st.shared.u32 [%r3], %r0;
    LOOP:
    mbarrier.arrive.shared.b64 _, [bar];
    WAIT:
    mbarrier.try_wait.parity.shared.b64 %p1, [bar], %r6;
    @!%p1 bra WAIT;
    ld.shared.u32 %r5, [%r4];
    add.u32 %r5, %r5, 1;
    xor.b32 %r6, %r6, 1;
    mbarrier.arrive.shared.b64 %rd9, [bar];
    AGAIN:
    mbarrier.test_wait.parity.shared.b64 %p1, [bar], %r6;
    @!%p1 bra AGAIN;
    xor.b32 %r6, %r6, 1;
    st.shared.u32 [%r3], %r5;
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p2, %r7, {rounds};
    @%p2 bra LOOP;
    st.global.u32 [%rd1], %r5;
    """
    threads = np.arange(64)
    expected = (threads if rounds % 2 == 0 else 63 - threads) + rounds
    assert (words(body, 64, block=64, before=BEFORE, **schedule) == expected).all()


@each_schedule
def test_a_phase_waits_for_its_bytes(schedule: dict[str, Any]) -> None:
    body = f"""
    {INIT.format(count=1)}
    @%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 96;
    @%p0 mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 32;
    setp.ge.u32 %p2, %r0, 32;
    and.b32 %r8, %r0, 31;
    setp.eq.and.u32 %p3, %r8, 0, %p2;
    bar.sync 0;
    mov.u32 %r6, 4;
    @%p2 mbarrier.complete_tx.shared::cluster.b64 [bar], %r6;
    WAIT:
    mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
    @!%p1 bra WAIT;
    st.global.u32 [%rd1], %r6;
    """
    assert (words(body, 64, block=64, before=BEFORE, **schedule) == 4).all()


@pytest.mark.parametrize("name", ["arrive", "arrive_drop"])
def test_a_state_holds_the_pending_count_before_it(name: str) -> None:
    body = f"""
    {INIT.format(count=100)}
    mbarrier.{name}.noComplete.shared.b64 %rd9, [bar], 2;
    mbarrier.pending_count.b64 %r5, %rd9;
    st.global.u32 [%rd1], %r5;
    """
    assert sorted(words(body, 32, before=BEFORE).tolist()) == list(range(38, 101, 2))


def test_dropping_lowers_the_next_phase() -> None:
    body = f"""
    {INIT.format(count=32)}
    setp.ge.u32 %p2, %r0, 8;
    @%p2 mbarrier.arrive_drop.shared.b64 _, [bar];
    @!%p2 mbarrier.arrive.shared.b64 _, [bar];
    WAIT:
    mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
    @!%p1 bra WAIT;
    @!%p2 mbarrier.arrive.shared.b64 _, [bar];
    NEXT:
    mbarrier.try_wait.parity.shared.b64 %p1, [bar], 1;
    @!%p1 bra NEXT;
    st.global.u32 [%rd1], %r0;
    """
    assert (words(body, before=BEFORE) == np.arange(32)).all()


def test_a_barrier_can_be_made_anew() -> None:
    body = f"""
    {INIT.format(count=32)}
    mbarrier.arrive.shared.b64 %rd9, [bar];
    WAIT:
    mbarrier.test_wait.shared.b64 %p1, [bar], %rd9;
    @!%p1 bra WAIT;
    bar.warp.sync -1;
    @%p0 mbarrier.inval.shared.b64 [bar];
    @%p0 mbarrier.init.shared.b64 [bar], 1;
    bar.warp.sync -1;
    mbarrier.test_wait.parity.shared.b64 %p1, [bar], 1;
    selp.u32 %r5, 1, 0, %p1;
    st.global.u32 [%rd1], %r5;
    """
    assert (words(body, before=BEFORE) == 1).all()


def test_a_poll_of_two_barriers_is_told_not_yet() -> None:
    """A poll of mbarrier 0 returns False: its phase completes only after the polling thread has observed mbarrier 1."""
    body = """
    setp.eq.u32 %p0, %r0, 0;
    @%p0 mbarrier.init.shared.b64 [bar], 1;
    @%p0 mbarrier.init.shared.b64 [bar+8], 1;
    bar.sync 0;
    setp.eq.u32 %p3, %r0, 32;
    @%p3 bra OTHER;
    @!%p0 bra END;
    POLL:
    mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;
    @%p1 bra DONE;
    mbarrier.test_wait.parity.shared.b64 %p2, [bar+8], 0;
    @!%p2 bra POLL;
    mov.u32 %r5, 1;
    st.volatile.shared.u32 [box], %r5;
    bra POLL;
    OTHER:
    mbarrier.arrive.shared.b64 _, [bar+8];
    SPIN:
    ld.volatile.shared.u32 %r6, [box];
    setp.ne.u32 %p4, %r6, 1;
    @%p4 bra SPIN;
    mbarrier.arrive.shared.b64 _, [bar];
    bra END;
    DONE:
    st.global.u32 [%rd1], %r5;
    END:
    """
    out = np.zeros(64, np.uint32)
    for seed in range(3):
        execute(body.replace("bar.sync 0;", "st.shared.u32 [box], 0;\nbar.sync 0;"), out, block=64, before=BEFORE,
                seed=seed, checks="none")  # fmt: skip
        assert out[0] == 1


# --- violated rules -----------------------------------------------------------------------------

BROKEN = {
    "mbarrier-uninitialized": "mbarrier.arrive.shared.b64 _, [bar];",
    "mbarrier-reinit": f"{INIT.format(count=1)}\n@%p0 mbarrier.init.shared.b64 [bar], 2;",
    "mbarrier-arrival-count": f"{INIT.format(count=1)}\nmbarrier.expect_tx.shared.b64 [bar], 4;\n"
    "mbarrier.arrive.shared.b64 _, [bar], 2;",
    "mbarrier-tx-count": f"{INIT.format(count=64)}\nmbarrier.expect_tx.shared.b64 [bar], 1000000;",
    "mbarrier-phase": f"{INIT.format(count=1)}\n@%p0 mbarrier.arrive.shared.b64 _, [bar];\n"
    "@%p0 mbarrier.arrive.shared.b64 _, [bar];",
    "misaligned": "mbarrier.init.shared.b64 [bar+4], 1;",
}


@pytest.mark.parametrize("rule", list(BROKEN))
def test_a_broken_rule_is_a_finding(rule: str) -> None:
    result = execute(BROKEN[rule], np.zeros(32, np.uint32), before=BEFORE)
    assert {finding.rule for finding in result.findings} == {rule}


@pytest.mark.parametrize("rule", [rule for rule in BROKEN if rule.startswith("mbarrier") and rule != "mbarrier-phase"])
def test_without_checks_it_is_an_error(rule: str) -> None:
    with pytest.raises(BarrierFault, match=rule):
        run(module(BROKEN[rule], before=BEFORE), grid=1, block=32, args=[np.zeros(32, np.uint32)], checks="none")


def test_a_state_two_phases_old_is_a_finding() -> None:
    body = f"""
    {INIT.format(count=32)}
    mbarrier.arrive.shared.b64 %rd9, [bar];
    mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;
    selp.u32 %r20, 1, 0, %p1;
    mbarrier.arrive.shared.b64 %rd10, [bar];
    mbarrier.test_wait.parity.shared.b64 %p1, [bar], 1;
    selp.u32 %r20, 1, 0, %p1;
    mbarrier.test_wait.shared.b64 %p1, [bar], %rd9;
    selp.u32 %r20, 1, 0, %p1;
    """
    (finding,) = execute(body, np.zeros(32, np.uint32), before=BEFORE).findings
    assert finding.rule == "mbarrier-phase"
    assert finding.message == "wait with a stale state: phase 0 of mbarrier bar+0, now in phase 2"


STUCK = """
setp.eq.u32 %p0, %r0, 0;
@%p0 mbarrier.init.shared.b64 [full], 2;
bar.sync 0;
@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [full], 128;
setp.eq.u32 %p2, %r0, 99;
@%p2 mbarrier.arrive.shared.b64 _, [bar];
WAIT:
mbarrier.try_wait.parity.shared.b64 %p1, [full], 0;
@!%p1 bra WAIT;
"""


@each_schedule
def test_the_report_of_a_deadlock_names_what_is_missing(schedule: dict[str, Any]) -> None:
    (finding,) = execute(STUCK, np.zeros(64, np.uint32), block=64, before=BEFORE, **schedule).findings
    assert finding.rule == "deadlock"
    line = module(STUCK, before=BEFORE).splitlines().index("mbarrier.try_wait.parity.shared.b64 %p1, [full], 0;") + 1
    assert finding.line == line
    for part in (
        "warps 0-1 of CTA (0, 0, 0) at ",
        f"PTX line {line}",
        "waiting for phase 0 (parity 0) of mbarrier full+0, now in phase 0: 1 of 2 arrivals, tx-count 128",
        f"arrived so far: mbarrier.arrive.expect_tx.shared.b64 (line {line - 4}, 1×)",
    ):
        assert finding.notes[0].count(part) == 1


def test_a_deadlock_without_checks_is_an_error() -> None:
    with pytest.raises(Deadlock, match="1 of 2 arrivals, tx-count 128"):
        run(module(STUCK, before=BEFORE), grid=1, block=64, args=[np.zeros(64, np.uint32)], checks="none")


IGNORED = """
{INIT}
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 0;
WAIT:
mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
{LOOK}
"""


@pytest.mark.parametrize(
    ("look", "rules"),
    [
        ("@!%p1 bra WAIT;", []),
        ("selp.u32 %r20, 1, 0, %p1;", []),
        ("bra OVER;\nOVER:\n@%p1 mov.u32 %r20, 1;", []),
        ("", ["unchecked-mbarrier-wait"]),
        ("mov.pred %p1, 0;\n@!%p1 bra OVER;\nOVER:", ["unchecked-mbarrier-wait"]),
    ],
    ids=["a loop", "a value", "a guard behind a branch", "nobody", "another value"],
)
def test_a_wait_whose_answer_nobody_reads_is_a_finding(look: str, rules: list[str]) -> None:
    body = IGNORED.replace("{INIT}", INIT.format(count=32)).replace("{LOOK}", look)
    found = execute(body, np.zeros(32, np.uint32), before=BEFORE).findings
    assert [finding.rule for finding in found] == rules
