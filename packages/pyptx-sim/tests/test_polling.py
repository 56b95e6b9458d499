"""Polling loops: their detection, and the parking of spinning warp splits until memory changes.

`PYPTX_KERNELS=all` runs every relay and every deadlock with every seed; the default is half of the pairs.
"""

from __future__ import annotations

from contextlib import contextmanager
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tools.shares import share

from pyptx_ir.syntax import parse
from pyptx_sim import run
from pyptx_sim.instructions.compiling import table
from pyptx_sim.instructions.compiling.polling import polling_loops
from pyptx_sim.program.lowering import lower

from .ptx_text import execute, module

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_sim import Result

pytestmark = pytest.mark.scaled

each_seed = pytest.mark.parametrize("seed", [0, 1, 2])


def loops(body: str) -> list[list[str]]:
    """Return, per polling loop of a kernel body, the registers that the loop carries from one iteration to the next."""
    found = polling_loops(lower(parse(module(body))))
    each = {id(loop): loop for loop in found.values()}.values()
    return [sorted(register.name for register in loop.carried) for loop in each]


# --- detection of polling loops -----------------------------------------------------------------

FLAG = "ld.volatile.global.u32 %r1, [%rd0]; setp.eq.u32 %p1, %r1, 0;"
OTHER = "ld.volatile.global.u32 %r2, [%rd0+4]; setp.eq.u32 %p2, %r2, 0;"

POLLS = {
    "one block": (f"again: {FLAG} @%p1 bra again;", []),
    "the exit test at the top of the loop": (f"again: {FLAG} @!%p1 bra done; nanosleep.u32 20; bra again; done:", []),
    "a loop entered in the middle": (f"bra test; again: nanosleep.u32 20; test: {FLAG} @%p1 bra again;", []),
    "a fence in the loop": (f"again: {FLAG} fence.acq_rel.gpu; @%p1 bra again;", []),
    "two flags": (f"again: {FLAG} @%p1 bra again; {OTHER} @%p2 bra again;", []),
    "a loop in a loop": (f"outer: add.u32 %r5, %r5, 1; inner: {FLAG} @%p1 bra inner; {OTHER} @%p2 bra outer;", []),
    "a sum on one of two paths to the poll": (
        f"again: {FLAG} @%p1 bra again; add.u32 %r5, %r5, %r1; {OTHER} @%p2 bra again;",
        ["%r5"],
    ),
    "a guarded write": (f"again: {FLAG} @%p1 add.u32 %r5, %r5, 1; @%p1 bra again;", ["%r5"]),
    "a conditional write": (f"again: {FLAG} selp.u32 %r5, 7, %r5, %p1; @%p1 bra again;", ["%r5"]),
    "read behind a guarded write": (
        f"again: {FLAG} @%p1 mov.u32 %r5, 1; add.u32 %r6, %r5, 1; @%p1 bra again;",
        ["%r5"],
    ),
    "a lock": ("again: atom.global.cas.b32 %r1, [%rd0], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra again;", []),
    "a vote": (f"again: {FLAG} vote.sync.any.pred %p2, %p1, -1; @%p2 bra again;", []),
    "brx.idx with a list of labels": (
        "ways: .branchtargets again, done; again: ld.volatile.global.u32 %r1, [%rd0]; brx.idx %r1, ways; done:",
        [],
    ),
}


@pytest.mark.parametrize("name", POLLS)
def test_a_loop_that_changes_registers_only_polls(name: str) -> None:
    body, carried = POLLS[name]
    assert loops(body) == [carried]


NO_POLLS = {
    "a counter": f"again: {FLAG} add.u32 %r5, %r5, 1; @%p1 bra again;",
    "a counter on both paths of a branch": (
        f"again: {FLAG} @%p1 bra left; add.u32 %r5, %r5, 1; bra next; left: add.u32 %r5, %r5, 2; next: bra again;"
    ),
    "a list walked": "again: ld.global.u64 %rd2, [%rd2]; setp.ne.u64 %p1, %rd2, 0; @%p1 bra again;",
    "a store": f"again: {FLAG} st.global.u32 [%rd1], %r1; @%p1 bra again;",
    "a clock": f"again: {FLAG} mov.u32 %r2, %clock; setp.gt.or.u32 %p1, %r2, 9, %p1; @%p1 bra again;",
    "a nanosecond clock": f"again: {FLAG} mov.u64 %rd2, %globaltimer; @%p1 bra again;",
    "a barrier": f"again: {FLAG} bar.sync 0; @%p1 bra again;",
    "a copy": f"again: {FLAG} cp.async.commit_group; @%p1 bra again;",
    "a carry": f"again: {FLAG} addc.u32 %r2, %r1, 0; @%p1 bra again;",
    "the active lanes": f"again: {FLAG} activemask.b32 %r2; @%p1 bra again;",
    "no memory": "again: setp.eq.u32 %p1, %r1, 0; @%p1 bra again;",
    "parameters only": "again: ld.param.u64 %rd2, [out]; setp.ne.u64 %p1, %rd2, 0; @%p1 bra again;",
    "two entries": f"@%p2 bra middle; again: {FLAG} middle: @%p1 bra again;",
}


@pytest.mark.parametrize("name", NO_POLLS)
def test_any_other_loop_does_not(name: str) -> None:
    assert loops(NO_POLLS[name]) == []


# --- scans --------------------------------------------------------------------------------------

SCAN = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry scan(.param .u64 x, .param .u64 states, .param .u64 y)
{
.reg .pred %p<4>;
.reg .b32 %r<10>;
.reg .b64 %rd<10>;
ld.param.u64 %rd0, [x];
ld.param.u64 %rd1, [states];
ld.param.u64 %rd2, [y];
mov.u32 %r0, %ctaid.x;
mov.u32 %r1, %tid.x;
setp.ne.u32 %p0, %r1, 0;
@%p0 exit;
mul.wide.u32 %rd3, %r0, 4;
add.s64 %rd0, %rd0, %rd3;
ld.global.u32 %r2, [%rd0];
mul.wide.u32 %rd4, %r0, 8;
add.s64 %rd4, %rd4, %rd1;
mov.u32 %r3, 0;
setp.eq.u32 %p1, %r0, 0;
@%p1 bra PUBLISH;
AGGREGATE
mov.u64 %rd5, %rd4;
LOOK:
ld.relaxed.gpu.global.v2.u32 {%r5, %r6}, [%rd5+-8];
setp.eq.u32 %p2, %r6, 0;
@%p2 bra LOOK;
add.u32 %r3, %r3, %r5;
sub.s64 %rd5, %rd5, 8;
setp.eq.u32 %p3, %r6, 1;
@%p3 bra LOOK;
PUBLISH:
add.u32 %r7, %r3, %r2;
mov.u32 %r6, 2;
st.relaxed.gpu.global.v2.u32 [%rd4], {%r7, %r6};
add.s64 %rd2, %rd2, %rd3;
st.global.u32 [%rd2], %r7;
ret;
}
"""
# Code of the variant with look-back: CTAs work for different times before they publish their own sums.
AGGREGATE = """
mul.lo.u32 %r8, %r0, 37; and.b32 %r8, %r8, 255;
WORK: sub.u32 %r8, %r8, 1; setp.gt.s32 %p2, %r8, 0; @%p2 bra WORK;
mov.u32 %r6, 1; st.relaxed.gpu.global.v2.u32 [%rd4], {%r2, %r6};
"""


@pytest.mark.no_cover
@each_seed
@pytest.mark.parametrize("aggregate", [AGGREGATE, ""], ids=["look-back", "chained"])
def test_a_scan_over_many_blocks_takes_few_steps(aggregate: str, seed: int) -> None:
    blocks = 60 if seed else 300
    x = np.random.default_rng(1).integers(0, 1000, blocks, dtype=np.uint32)
    y, states = np.zeros(blocks, np.uint32), np.zeros((blocks, 2), np.uint32)
    result = run(SCAN.replace("AGGREGATE", aggregate), grid=blocks, block=32, args=[x, states, y], seed=seed)
    assert result.findings == ()
    assert y.tolist() == np.cumsum(x).tolist()
    assert result.statistics.steps < (4500 if seed else 1500)  # with a seed, lanes diverge: more steps


# --- parking does not change results ------------------------------------------------------------


@contextmanager
def nothing_parks() -> Iterator[None]:
    """Disable the detection of polling loops for the body of the `with` block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "polling_loops", lambda _: {})
        table.compile_program.clear()
        yield
    table.compile_program.clear()


# CTA i waits for the number i in word 0, works a while, and writes i + 1 there.
RELAY = """
mov.u32 %r2, %ctaid.x; setp.ne.u32 %p2, %r0, 0; @%p2 exit;
POLL
mov.u32 %r3, 0; work: add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 20; @%p3 bra work;
add.u32 %r4, %r2, 1; st.relaxed.gpu.global.u32 [%rd0+4], %r4; st.release.gpu.global.u32 [%rd0], %r4;
"""
RELAYS = {
    "one block": "again: ld.acquire.gpu.global.u32 %r1, [%rd0]; setp.ne.u32 %p1, %r1, %r2; @%p1 bra again;",
    "several": """
    again: ld.acquire.gpu.global.u32 %r1, [%rd0]; setp.eq.u32 %p1, %r1, %r2; @%p1 bra done;
    setp.lt.u32 %p4, %r1, 7; @%p4 bra few; nanosleep.u32 20; bra again; few: nanosleep.u32 90; bra again; done:
    """,
    "two flags": """
    again: ld.acquire.gpu.global.u32 %r1, [%rd0]; setp.ne.u32 %p1, %r1, %r2; @%p1 bra again;
    ld.relaxed.gpu.global.u32 %r5, [%rd0+4]; setp.ne.u32 %p1, %r5, %r2; @%p1 bra again;
    """,
    "two flags polled one after the other": """
    mov.u64 %rd2, %rd0; mov.u32 %r6, 0;
    next: again: ld.acquire.gpu.global.u32 %r1, [%rd2]; setp.ne.u32 %p1, %r1, %r2; @%p1 bra again;
    add.s64 %rd2, %rd2, 4; add.u32 %r6, %r6, 1; setp.lt.u32 %p4, %r6, 2; @%p4 bra next;
    """,
    "an atomic that changes nothing": """
    again: atom.acquire.gpu.global.or.b32 %r1, [%rd0], 0; setp.ne.u32 %p1, %r1, %r2; @%p1 bra again;
    """,
}


@pytest.mark.no_cover
@pytest.mark.parametrize(("name", "seed"), share(product(RELAYS, (0, 1, 2)), 2))
@pytest.mark.long
def test_blocks_that_wait_for_each_other_take_turns(name: str, seed: int) -> None:
    def steps() -> int:
        flags = np.zeros(2, np.uint32)
        result = execute(body, flags, grid=10, seed=seed)
        assert result.findings == ()
        assert flags.tolist() == [10, 10]
        return result.statistics.steps

    body = RELAY.replace("POLL", RELAYS[name])
    assert loops(body)
    parked = steps()
    with nothing_parks():
        assert 2 * parked < steps()


LOCK = """
setp.ne.u32 %p2, %r0, 0; @%p2 exit;
again: TAKE setp.ne.u32 %p1, %r1, 0; @%p1 bra again;
fence.acq_rel.gpu;
ld.relaxed.gpu.global.u32 %r2, [%rd0+4]; add.u32 %r2, %r2, 1; st.relaxed.gpu.global.u32 [%rd0+4], %r2;
fence.acq_rel.gpu;
atom.global.exch.b32 %r3, [%rd0], 0;
"""


@each_seed
@pytest.mark.parametrize("take", ["atom.global.cas.b32 %r1, [%rd0], 0, 1;", "atom.global.exch.b32 %r1, [%rd0], 1;"])
def test_a_spin_lock_lets_in_one_at_a_time(take: str, seed: int) -> None:
    body = LOCK.replace("TAKE", take)
    assert loops(body) == [[]]
    words = np.zeros(2, np.uint32)
    assert execute(body, words, grid=30, seed=seed).findings == ()
    assert words.tolist() == [0, 30]


@each_seed
def test_lanes_whose_updates_undo_each_other_have_changed_something(seed: int) -> None:
    """Each of two lanes waits for a value that only the other one stores: if both were suspended, they would hang."""
    body = """
    setp.gt.u32 %p2, %r0, 1; @%p2 exit;
    xor.b32 %r2, %r0, 1;
    again: atom.global.exch.b32 %r1, [%rd0], %r0; setp.ne.u32 %p1, %r1, %r2; @%p1 bra again;
    """
    flag = np.full(1, 7, np.uint32)
    assert execute(body, flag, seed=seed, checks="none", step_limit=10_000).statistics.steps < 1000


@each_seed
def test_lanes_of_a_warp_poll_flags_of_their_own(seed: int) -> None:
    """CTA 1 sets the flags from the last lane's to the first's; lanes of CTA 0 increment a count as they continue."""
    body = """
    mov.u32 %r2, %ctaid.x; setp.eq.u32 %p2, %r2, 1; @%p2 bra writer;
    again: ld.relaxed.gpu.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra again;
    atom.global.add.u32 %r4, [%rd0+128], 1; add.s64 %rd2, %rd1, 132; st.global.u32 [%rd2], %r4; exit;
    writer: setp.ne.u32 %p3, %r0, 0; @%p3 exit;
    mov.u32 %r5, 32; mad.wide.u32 %rd3, %r5, 4, %rd0;
    next: sub.u32 %r5, %r5, 1; add.s64 %rd3, %rd3, -4; st.relaxed.gpu.global.u32 [%rd3], 1;
    wait: ld.relaxed.gpu.global.u32 %r6, [%rd0+128]; add.u32 %r6, %r6, %r5; setp.ne.u32 %p4, %r6, 32; @%p4 bra wait;
    setp.ne.u32 %p5, %r5, 0; @%p5 bra next;
    """
    words = np.zeros(65, np.uint32)
    assert execute(body, words, grid=2, seed=seed).findings == ()
    assert words[33:].tolist() == list(range(31, -1, -1))


@each_seed
def test_a_warp_that_votes_waits_for_all_flags_of_its_lanes(seed: int) -> None:
    body = """
    mov.u32 %r2, %ctaid.x; setp.eq.u32 %p2, %r2, 1; @%p2 bra writer;
    again: ld.relaxed.gpu.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0;
    vote.sync.any.pred %p3, %p1, -1; @%p3 bra again;
    st.global.u32 [%rd1+128], %r1; exit;
    writer: setp.ne.u32 %p3, %r0, 0; @%p3 exit;
    mov.u32 %r5, 32; mad.wide.u32 %rd3, %r5, 4, %rd0;
    next: sub.u32 %r5, %r5, 1; add.s64 %rd3, %rd3, -4; st.relaxed.gpu.global.u32 [%rd3], 5;
    setp.ne.u32 %p5, %r5, 0; @%p5 bra next;
    """
    words = np.zeros(64, np.uint32)
    assert execute(body, words, grid=2, seed=seed).findings == ()
    assert words[32:].tolist() == [5] * 32


@each_seed
def test_lanes_that_were_parked_apart_still_meet_at_a_vote(seed: int) -> None:
    """Lane 0 arrives last, so the others wait for it at the vote. A lane that stays suspended never arrives."""
    body = """
    setp.ne.u32 %p2, %r0, 0; @%p2 bra again;
    mov.u32 %r3, 0; work: add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 90; @%p3 bra work;
    st.relaxed.gpu.global.u32 [%rd0], 1;
    again: ld.relaxed.gpu.global.u32 %r1, [%rd0]; setp.eq.u32 %p1, %r1, 0;
    vote.sync.any.pred %p3, %p1, -1; @%p3 bra again;
    st.global.u32 [%rd1+4], %r1;
    """
    words = np.zeros(33, np.uint32)
    assert execute(body, words, seed=seed).findings == ()
    assert words.tolist() == [1] * 33


@each_seed
def test_many_threads_acquire_what_was_released_at_flags_of_their_own(seed: int) -> None:
    body = """
    mov.u32 %r2, %ctaid.x; setp.eq.u32 %p2, %r2, 1; @%p2 bra again;
    setp.ne.u32 %p3, %r0, 0; @%p3 exit;
    st.global.u32 [%rd0+512], 7; mov.u32 %r5, 0; mov.u64 %rd3, %rd0;
    next: st.release.gpu.global.u32 [%rd3], 1; add.s64 %rd3, %rd3, 4;
    add.u32 %r5, %r5, 1; setp.lt.u32 %p5, %r5, 128; @%p5 bra next;
    exit;
    again: ld.acquire.gpu.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra again;
    ld.global.u32 %r4, [%rd0+512]; st.global.u32 [%rd1+516], %r4;
    """
    words = np.zeros(257, np.uint32)
    assert execute(body, words, grid=2, block=128, seed=seed).findings == ()
    assert words[129:].tolist() == [7] * 128


@pytest.mark.parametrize("schedule", [{}, {"seed": 1}, {"delay_async": True}], ids=["in order", "seed 1", "late"])
def test_a_copy_that_lands_wakes_who_polls_for_it(schedule: dict[str, int]) -> None:
    body = """
    cvta.shared.u64 %rd3, word; mov.u32 %r2, word;
    setp.ne.u32 %p2, %r0, 0; @%p2 bra wait;
    cp.async.ca.shared.global [%r2], [%rd0], 4;
    wait: ld.volatile.shared.u32 %r1, [%r2]; setp.eq.u32 %p1, %r1, 0; @%p1 bra wait;
    st.global.u32 [%rd1+4], %r1;
    """
    words = np.array([9, *[0] * 64], np.uint32)
    execute(body, words, block=64, before=".shared .align 4 .u32 word;", checks="none", **schedule)
    assert words[1:].tolist() == [9] * 64


def test_zeros_that_are_stored_while_others_poll_are_defined() -> None:
    body = """
    cvta.shared.u64 %rd3, word; mov.u32 %r2, word; mov.u32 %r5, 0;
    setp.gt.u32 %p2, %r0, 31; @%p2 bra again;
    work: add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, 3000; @%p3 bra work;
    st.shared.u32 [%r2+4], 0; ld.shared.u32 %r4, [%r2+4]; st.global.u32 [%rd0], %r4;
    st.release.cta.global.u32 [%rd0+4], 1; exit;
    again: ld.acquire.cta.global.u32 %r1, [%rd0+4]; setp.eq.u32 %p1, %r1, 0; @%p1 bra again;
    """
    words = np.array([5, 0], np.uint32)
    result = execute(body, words, block=64, before=".shared .align 4 .u32 word[2];")
    assert [finding for finding in result.findings if finding.rule == "uninitialized-memory"] == []
    assert words.tolist() == [0, 1]


# --- deadlocks ----------------------------------------------------------------------------------

APART = "setp.gt.u32 %p2, %r0, 31; @%p2"

DEADLOCKS = {
    "one block": FLAG.join(["again: ", "@%p1 bra again;"]),
    "several blocks": f"again: {FLAG} @!%p1 bra done; nanosleep.u32 20; bra again; done:",
    "two loops": f"setp.gt.u32 %p2, %r0, 40; @%p2 bra left; right: {FLAG} @%p1 bra right; left: {FLAG} @%p1 bra left;",
    "a lock": "again: atom.global.cas.b32 %r1, [%rd0], 1, 2; setp.eq.u32 %p1, %r1, 0; @%p1 bra again;",
    "a vote": f"again: {FLAG} vote.sync.any.pred %p2, %p1, -1; @%p2 bra again;",
    "other warps compute": (
        f"{APART} bra work; again: {FLAG} @%p1 bra again; "
        "work: mov.u32 %r3, 0; more: add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 1000; @%p3 bra more;"
    ),
    "other warps wait at a barrier": f"{APART} bra done; again: {FLAG} @%p1 bra again; done: bar.sync 0;",
}


@pytest.mark.no_cover
@pytest.mark.parametrize(("seed", "name"), share(product((0, 1), DEADLOCKS), 2))
def test_a_deadlock_by_flags_is_found_as_without_parking(name: str, seed: int) -> None:
    def found() -> Result:
        return execute(DEADLOCKS[name], np.zeros(96, np.uint32), grid=2, block=96, seed=seed, checks=["deadlock"])

    assert loops(DEADLOCKS[name])
    (parked,) = found().findings
    with nothing_parks():
        (plain,) = found().findings
    assert (parked.rule, parked.count) == ("deadlock", plain.count)
    assert parked.message == plain.message
    if not seed or name not in {"several blocks", "a vote"}:  # chance decides where diverged lanes stop
        assert parked == plain
