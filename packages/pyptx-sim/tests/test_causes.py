"""Findings with one cause are merged; each has a count, a severity, notes and a help text."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from pyptx_sim import explore

from .ptx_text import execute, module
from .test_async_copy import each_schedule

BARRIER = """
.shared .align 8 .b64 bar[3];
.shared .align 128 .b8 s[1024];
setp.eq.u32 %p0, %r0, 0;
mov.u32 %r1, s; mov.u32 %r2, bar; shl.b32 %r3, %r0, 2; add.u32 %r3, %r3, %r1;
@!%p0 bra made;
mbarrier.init.shared.b64 [bar], 1; mbarrier.init.shared.b64 [bar+8], 1; mbarrier.init.shared.b64 [bar+16], 1;
FENCE
made: bar.sync 0;
"""
COPIES = """
@!%p0 bra issued;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 256, [%r2];
mbarrier.arrive.expect_tx.shared.b64 _, [bar+8], 256;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+256], [%rd0], 256, [%r2+8];
issued:
"""
LOAD = """
@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;
@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 128, [%r2];
w0: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra w0;
"""
REPEATED = {
    "store": """
cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r1], 64;
cp.async.bulk.global.shared::cta.bulk_group [%rd0+64], [%r1+64], 64;
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
""",
    "load": """
@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], EXPECTED;
bar.sync 0;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 64, [%r2];
w0: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra w0;
""",
}
FILL = "st.shared.u32 [%r3], %r0; fence.proxy.async.shared::cta;\n"


@each_schedule
@pytest.mark.hopper
@pytest.mark.parametrize("block", [32, 64])
@pytest.mark.parametrize("kind", REPEATED)
def test_a_copy_that_all_threads_issue_is_one_finding(kind: str, block: int, schedule: dict[str, Any]) -> None:
    """One thread must issue a copy. Overlapping writes and completions without a wait have that cause."""
    text = BARRIER.replace("made:", f"made: {FILL}").replace("FENCE", FENCE) + REPEATED[kind]
    (found,) = findings(text.replace("EXPECTED", str(64 * block)), block=block, **schedule)
    assert found.severity == "error"
    assert re.match(r"(32 lanes of warp .|64 threads of a CTA).* issue the same copy, to ", found.message)
    assert "elect.sync" in (found.help or "")
    assert len(found.also) == (kind == "store")
    one = text.replace("\ncp.async.bulk.", "\n@%p0 cp.async.bulk.").replace("EXPECTED", "64")
    assert findings(one, block=block, **schedule) == []


@pytest.mark.hopper
def test_a_completion_that_only_repeated_copies_cause_is_no_finding_of_its_own() -> None:
    """The copies of 31 lanes complete further phases, for which no thread waits."""
    text = BARRIER.replace("made:", f"made: {FILL}").replace("FENCE", FENCE) + REPEATED["load"].replace(
        "EXPECTED", "64"
    )
    assert [each.rule for each in findings(text)] == ["lane-race"]


@pytest.mark.hopper
def test_copies_of_several_threads_to_their_own_bytes_are_clean() -> None:
    each = "shl.b32 %r4, %r0, 2; add.u32 %r5, %r1, %r4; cvt.u64.u32 %rd3, %r4; add.u64 %rd3, %rd3, %rd0;\n"
    some = "and.b32 %r6, %r0, 3; setp.ne.u32 %p2, %r6, 0; @%p2 exit;\n"
    copy = "cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r5], 16;\n"
    wait = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n"
    text = BARRIER.replace("made:", f"made: {FILL}").replace("FENCE", FENCE)
    assert findings(text + each + some + copy + wait) == []


OUT_OF_BOUNDS = {
    "source of a bulk copy": LOAD.replace("[%rd0]", "[%rd0+65536]"),
    "misaligned source of a bulk copy": LOAD.replace("[%rd0]", "[%rd0+4]"),
    "destination of a bulk copy": LOAD.replace("[%r1]", "[%r1+65536]"),
    "source of cp.async": "cp.async.ca.shared.global [%r3], [%rd1+65536], 4; cp.async.wait_all;\n",
    "undefined address": "st.global.u32 [%rd5], %r0;\n",
}


@each_schedule
@pytest.mark.hopper
@pytest.mark.parametrize("case", OUT_OF_BOUNDS)
def test_an_invalid_access_has_no_consequences_that_are_findings(case: str, schedule: dict[str, Any]) -> None:
    """After the finding, no thread waits forever for the copy, and its destination has defined values."""
    use = "ld.shared.u32 %r7, [%r3]; st.global.u32 [%rd1], %r7;\n" if "source" in case else ""
    (found,) = findings(BARRIER.replace("FENCE", FENCE) + OUT_OF_BOUNDS[case] + use, **schedule)
    assert found.rule == {"m": "misaligned", "u": "uninitialized-register"}.get(case[0], "out-of-bounds")


ONE_PLACE = "st.global.u32 [%rd0], %r0;\n"


@each_schedule
def test_a_race_of_all_threads_is_one_finding_for_each_pair_of_instructions(schedule: dict[str, Any]) -> None:
    (found,) = findings(ONE_PLACE, block=64, **schedule)
    assert (found.rule, found.notes[:1]) == ("global-race", ("lane-race of the same accesses, too",))
    assert [each.rule for each in findings(ONE_PLACE, block=32, **schedule)] == ["lane-race"]


BOTH_WAYS = """
mov.u32 %r1, 0;
again:
ld.global.u32 %r2, [%rd0];
add.u32 %r2, %r2, 1;
setp.eq.u32 %p1, %r0, 0;
@%p1 st.global.u32 [%rd0], %r2;
add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 4; @%p2 bra again;
"""


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.long
def test_a_race_in_both_orders_is_one_finding(seed: int) -> None:
    """The write follows the read, and in a loop also precedes it."""
    found = findings(BOTH_WAYS, block=33, grid=2, seed=seed)
    pairs = [frozenset((each.line, each.other_line)) for each in found]
    assert len(pairs) == len(set(pairs)) == 2
    explored = explore(module(BOTH_WAYS), grid=2, block=33, args=[np.ones(256, np.uint32)], seeds=range(4))
    assert len(explored.findings) == 2


@pytest.mark.hopper
def test_uses_of_an_mbarrier_that_one_init_does_not_precede_are_one_finding() -> None:
    body = """
    .shared .b64 bar;
    setp.eq.u32 %p0, %r0, 0;
    @%p0 mbarrier.init.shared.b64 [bar], 64;
    mbarrier.arrive.shared.b64 _, [bar];
    w0: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra w0;
    """
    assert [each.rule for each in findings(body, block=64)].count("mbarrier-init-race") == 1
    assert findings(body.replace("mbarrier.arrive", "bar.sync 0; mbarrier.arrive"), block=64) == []


@pytest.mark.hopper
def test_a_deadlock_names_the_error_before_it() -> None:
    body = BARRIER.replace("FENCE", FENCE) + "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;\n"
    wait = "w0: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra w0;\n"
    stray, deadlock = findings(body + "ld.global.u32 %r7, [%rd0+65536];\n" + wait)
    assert (stray.rule, deadlock.rule, deadlock.severity) == ("out-of-bounds", "deadlock", "error")
    assert deadlock.notes[-1] == "error[out-of-bounds] was found before; the deadlock may be its consequence"
    assert "found before" not in str(findings(body + wait)[0])


WAIT = """
w0: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra w0;
w1: mbarrier.try_wait.parity.shared.b64 %p1, [bar+8], 0; @!%p1 bra w1;
"""
FENCE = "fence.mbarrier_init.release.cluster;"


def findings(body: str, *arrays: Any, **options: Any) -> list[Any]:
    return list(execute(body, *(arrays or (np.ones(256, np.uint32),)), **options).findings)


@pytest.mark.hopper
def test_reads_that_miss_one_wait_are_one_finding() -> None:
    loads = "".join(f"ld.shared.u32 %r{4 + part}, [%r3+{64 * part}];\n" for part in range(3))
    text = BARRIER.replace("FENCE", FENCE) + COPIES + loads + WAIT
    (found,) = [each for each in findings(text) if each.rule == "read-before-wait"]
    assert len(found.also) == 2
    assert "also at PTX lines" in str(found)
    assert findings(BARRIER.replace("FENCE", FENCE) + COPIES + WAIT + loads) == []


# One bulk copy refills a buffer of 4096 bytes; 16 load instructions have read 256 bytes each.
PARTS = range(0, 4096, 256)
REFILL = (
    "".join(f"st.shared.u32 [%r3+{part}], %r0;\n" for part in PARTS)
    + "fence.proxy.async.shared::cta;\nbar.sync 0;\n"
    + "".join(f"ld.shared.u32 %r4, [%r3+{part}];\n" for part in PARTS)
    + """MEET
@!%p0 bra w0;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 4096;
mov.u32 %r5, 0;
again: add.u32 %r6, %r1, %r5;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r6], [%rd0], 256, [%r2];
add.u32 %r5, %r5, 256; setp.lt.u32 %p2, %r5, 4096; @%p2 bra again;
w0: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra w0;
"""
)


@each_schedule
@pytest.mark.hopper
def test_reads_that_no_refill_is_ordered_behind_are_one_finding(schedule: dict[str, Any]) -> None:
    text = BARRIER.replace("s[1024]", "s[4096]").replace("FENCE", FENCE) + REFILL
    (found,) = findings(text.replace("MEET", ""), block=64, **schedule)
    assert (found.rule, len(found.also)) == ("early-reuse", len(PARTS) - 1)
    assert findings(text.replace("MEET", "bar.sync 0;"), block=64, **schedule) == []


@pytest.mark.hopper
def test_mbarriers_that_no_fence_shows_to_copies_are_one_note() -> None:
    (found,) = findings(BARRIER.replace("FENCE", "") + COPIES + WAIT)
    assert (found.rule, found.severity, found.count) == ("missing-proxy-fence", "note", 2)
    assert found.also


@pytest.mark.hopper
def test_no_wait_behind_the_last_bulk_store_is_a_note() -> None:
    body = """
    .shared .align 128 .b8 s[128];
    shl.b32 %r1, %r0, 2; mov.u32 %r2, s; add.u32 %r1, %r1, %r2;
    st.shared.u32 [%r1], %r0; fence.proxy.async.shared::cta; bar.sync 0;
    setp.ne.u32 %p0, %r0, 0; @%p0 exit;
    cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r2], 128;
    cp.async.bulk.commit_group;
    """
    (found,) = findings(body)
    assert (found.rule, found.severity) == ("unfinished-copy", "note")


PASSED = """
mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra second;
WRITE
bra end;
second: READ
end:
"""
WRITES = {
    "release": "st.global.u32 [%rd0], 7; st.release.gpu.global.u32 [%rd0+64], 1;",
    "fence": "st.global.u32 [%rd0], 7; fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%rd0+64], 1;",
    "relaxed": "st.global.u32 [%rd0], 7; st.relaxed.gpu.global.u32 [%rd0+64], 1;",
    "block": "st.global.u32 [%rd0], 7; st.release.cta.global.u32 [%rd0+64], 1;",
}
READS = {
    "acquire": "spin: ld.acquire.gpu.global.u32 %r2, [%rd0+64];",
    "fence": "spin: ld.relaxed.gpu.global.u32 %r2, [%rd0+64]; fence.acq_rel.gpu;",
    "relaxed": "spin: ld.relaxed.gpu.global.u32 %r2, [%rd0+64];",
    "block": "spin: ld.acquire.cta.global.u32 %r2, [%rd0+64];",
}
THEN = "setp.eq.u32 %p2, %r2, 0; @%p2 bra spin; ld.global.u32 %r3, [%rd0];"
REASONS = {
    ("release", "acquire"): None,
    ("fence", "fence"): None,
    ("fence", "acquire"): None,
    ("relaxed", "acquire"): "is not a release: use st.release, or put a fence before it",
    ("release", "relaxed"): "is not an acquire: use ld.acquire, or put a fence after it",
    ("fence", "relaxed"): "is not an acquire",
    ("block", "acquire"): "has scope .cta, which does not include both threads",
    ("release", "block"): "has scope .cta, which does not include both threads",
}


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("how", list(REASONS), ids=" ".join)
def test_a_flag_that_orders_nothing_says_what_is_wrong_with_it(how: tuple[str, str], seed: int) -> None:
    body = PASSED.replace("WRITE", WRITES[how[0]]).replace("READ", READS[how[1]] + THEN)
    found = findings(body, np.zeros(64, np.uint32), grid=2, block=1, seed=seed)
    reason = REASONS[how]
    if reason is None:
        assert found == []
        return
    races = [each for each in found if each.rule == "global-race"]
    assert all(each.notes for each in races)
    assert any(reason in each.notes[0] for each in races)
    assert all(".release.gpu" in each.help for each in races)


def test_a_flag_that_another_thread_raises_names_the_thread() -> None:
    body = """
    mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra second;
    setp.eq.u32 %p3, %r0, 32; @%p3 st.global.u32 [%rd0], 7;
    setp.eq.u32 %p3, %r0, 0; @%p3 st.release.gpu.global.u32 [%rd0+64], 1;
    bra end;
    second: setp.ne.u32 %p3, %r0, 0; @%p3 bra end;
    spin: ld.acquire.gpu.global.u32 %r2, [%rd0+64]; setp.eq.u32 %p2, %r2, 0; @%p2 bra spin;
    ld.global.u32 %r3, [%rd0];
    end:
    """
    found = findings(body, np.zeros(64, np.uint32), grid=2, block=64)
    assert any("is by another thread" in note for each in found for note in each.notes)


@pytest.mark.hopper
def test_the_hint_fits_who_races() -> None:
    body = """
    .shared .align 4 .b32 s; mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, s; mapa.shared::cluster.u32 %r3, %r2, 0;
    barrier.cluster.arrive; barrier.cluster.wait;
    setp.eq.u32 %p1, %r1, 1; @%p1 st.shared::cluster.u32 [%r3], 1;
    setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [%r2], 2;
    barrier.cluster.arrive; barrier.cluster.wait;
    """
    (found,) = [each for each in findings(body, grid=2, block=1, cluster=2) if each.rule == "shared-race"]
    assert "cluster" in found.help
    assert "bar.sync" not in found.help
    body = (
        "setp.eq.u32 %p1, %r0, 0; @%p1 st.global.u32 [%rd0], 1; setp.eq.u32 %p1, %r0, 32; @%p1 st.global.u32 [%rd0], 2;"
    )
    (found,) = findings(body, block=64)
    assert (found.rule, "bar.sync" in found.help) == ("global-race", True)


def test_a_finding_names_the_cta_by_its_coordinates_in_every_wave() -> None:
    body = """
    .shared .align 4 .b8 s[4];
    mov.u32 %r2, %ctaid.x; setp.ne.u32 %p1, %r2, 2; @%p1 exit;
    st.shared.u32 [s], %r0;
    """
    result = execute(body, np.zeros(64, np.uint32), grid=3, block=64, resident_blocks=1, checks=["shared-race"])
    (finding,) = result.findings
    assert [label.partition("CTA ")[2] for label in (finding.label, finding.other_label)] == ["(2, 0, 0)"] * 2
