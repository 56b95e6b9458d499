"""Findings for threads that share tensor memory: fences, CTA pairs, deallocation, collector buffers.

`tests/mutations` covers faults injected by a single change; these tests need more than one change.
"""

from __future__ import annotations

from typing import Any

import pytest

from pyptx_sim import Finding, run

SCHEDULES: tuple[dict[str, Any], ...] = ({}, {"delay_async": True}, {"seed": 1}, {"seed": 2})
schedules = pytest.mark.parametrize("schedule", SCHEDULES, ids=str)

# The MMA's operands are zeros, 64 by 16 and 16 by 16. %r20: tensor memory address; %p0 selects thread 0, %p1 thread 32.
KERNEL = """
.version 8.8
.target sm_100a
.address_size 64
.visible .entry k()
{{
.reg .pred %p<8>;
.reg .b32 %r<30>;
.reg .b64 %rd<20>;
.shared .align 1024 .b8 factors[4096];
.shared .align 8 .b64 ready;
.shared .align 8 .b64 done;
.shared .align 4 .b32 columns;
mov.u32 %r1, %tid.x;
setp.eq.u32 %p0, %r1, 0;
setp.eq.u32 %p1, %r1, 32;
setp.lt.u32 %p2, %r1, 32;
setp.ne.u32 %p3, 0, 0;
@%p0 mbarrier.init.shared::cta.b64 [ready], 1;
@%p0 mbarrier.init.shared::cta.b64 [done], 1;
@%p0 fence.mbarrier_init.release.cluster;
mov.u32 %r9, factors;
mad.lo.u32 %r10, %r1, 64, %r9;
mov.u32 %r11, 0;
st.shared.v4.u32 [%r10], {{%r11, %r11, %r11, %r11}};
st.shared.v4.u32 [%r10+16], {{%r11, %r11, %r11, %r11}};
st.shared.v4.u32 [%r10+32], {{%r11, %r11, %r11, %r11}};
st.shared.v4.u32 [%r10+48], {{%r11, %r11, %r11, %r11}};
fence.proxy.async.shared::cta;
@%p2 tcgen05.alloc.cta_group::{blocks}.sync.aligned.shared::cta.b32 [columns], 32;
bar.sync 0;
ld.shared.u32 %r20, [columns];
shr.u32 %r9, %r9, 4;
cvt.u64.u32 %rd10, %r9;
or.b64 %rd10, %rd10, 0x0000401000080000;
add.u64 %rd11, %rd10, 128;
mov.u32 %r21, {product:#x};
{body}
}}
"""
PRODUCT = 0x04040490  # instruction descriptor: D f32, A and B bf16, M = 64, N = 16
MULTIPLY = "tcgen05.mma.cta_group::1.kind::f16{collector} [%r20], %rd10, {b}, %r21, {adds};"
COMMIT = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];"
FREE = "@%p2 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r20, 32;"
BEFORE, AFTER = (f"tcgen05.fence::{order}_thread_sync;" for order in ("before", "after"))


def wait(barrier: str) -> str:
    return (
        f"W{barrier}: mbarrier.try_wait.parity.shared::cta.b64 %p4, [{barrier}], 0;\n"
        f"@%p4 bra D{barrier};\nbra W{barrier};\nD{barrier}:"
    )


def multiply(adds: str = "%p3", *, collector: str = "", b: str = "%rd11") -> str:
    return MULTIPLY.format(adds=adds, collector=collector and f".collector::a::{collector}", b=b)


def found(*body: str, blocks: int = 1, product: int = PRODUCT, **options: Any) -> tuple[Finding, ...]:
    text = KERNEL.format(body="\n".join((*body, "ret;")), blocks=blocks, product=product)
    return run(text, **{"grid": 1, "block": 64, "args": [], "checks": "all", **options}).findings


def relay(*, before: bool, after: bool, commit: bool = False) -> tuple[str, ...]:
    """Return PTX in which thread 0 issues an MMA and thread 32 the next MMA of the same pipeline."""
    return (
        "@!%p0 bra SECOND;",
        multiply(),
        BEFORE if before else "",
        COMMIT.replace("[done]", "[ready]") if commit else "mbarrier.arrive.shared::cta.b64 _, [ready];",
        "SECOND:",
        "@!%p1 bra LAST;",
        wait("ready"),
        AFTER if after else "",
        multiply("!%p3"),
        COMMIT,
        "LAST:",
        wait("done"),
        "bar.sync 0;",
        FREE,
    )


@schedules
def test_a_pipeline_that_two_threads_feed_takes_a_fence_of_each(schedule: dict[str, Any]) -> None:
    told = {
        (before, after): [
            (each.severity, "before" in (each.help or ""))
            for each in found(*relay(before=before, after=after), **schedule)
            if each.rule == "missing-tcgen05-fence"  # without findings for thread 0's missing tcgen05.commit
        ]
        for before in (False, True)
        for after in (False, True)
    }
    assert told == {
        (True, True): [],
        (True, False): [("note", False)],
        (False, True): [("note", True)],
        (False, False): [("note", False), ("note", True)],
    }


@schedules
def test_work_that_a_commit_tells_of_takes_the_second_fence_only(schedule: dict[str, Any]) -> None:
    assert found(*relay(before=False, after=True, commit=True), **schedule) == ()
    (note,) = found(*relay(before=False, after=False, commit=True), **schedule)
    assert (note.rule, note.severity) == ("missing-tcgen05-fence", "note")
    assert note.help is not None
    assert "after_thread_sync" in note.help


@schedules
def test_a_commit_tells_its_own_mbarrier_of_its_own_work(schedule: dict[str, Any]) -> None:
    """Two threads issue MMAs and commit at the same time, each with its own columns and mbarrier."""
    chosen = (
        "or.pred %p5, %p0, %p1;",
        "selp.b32 %r12, 0, 16, %p0;\nadd.u32 %r12, %r12, %r20;",
        "mov.u32 %r13, ready;\nmov.u32 %r14, done;\nselp.b32 %r13, %r13, %r14, %p0;",
    )
    work = "@%p5 " + multiply().replace("%r20", "%r12"), "@%p5 " + COMMIT.replace("done", "%r13")
    load = AFTER, OWN, LOAD.replace("@%p2 ", ""), LOADED.replace("@%p2 ", "")
    wrong, right = wait("done"), wait("ready")
    leave = "bar.sync 0;", FREE
    assert found(*chosen, *work, right, *load, wrong, *leave, **schedule) == ()
    early = found(*chosen, *work, wrong, *load, right, *leave, **schedule)
    assert {each.rule for each in early if each.severity != "note"} == {"read-before-wait"}


@pytest.mark.parametrize(("between", "rules"), [(0, {"tcgen05-mma", "tmem-race"}), (8, {"tmem-race"}), (16, set())])
def test_two_threads_multiply_at_once_into_columns_of_their_own(between: int, rules: set[str]) -> None:
    chosen = "or.pred %p5, %p0, %p1;", f"selp.b32 %r12, 0, {between}, %p0;\nadd.u32 %r12, %r12, %r20;"
    work = "@%p5 " + multiply().replace("%r20", "%r12"), "@%p0 " + COMMIT, "@%p1 " + COMMIT.replace("done", "ready")
    findings = found(*chosen, *work, wait("done"), wait("ready"), "bar.sync 0;", FREE)
    assert {each.rule for each in findings} == rules


@schedules
def test_new_columns_need_no_fence_against_what_was_done_in_them_before(schedule: dict[str, Any]) -> None:
    again = "@%p2 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [columns], 32;"
    first = ("@%p0 " + multiply(), "@%p0 " + COMMIT, wait("done"), "bar.sync 0;", FREE, again, "bar.sync 0;")
    second = ("@%p1 " + multiply(), "@%p1 " + COMMIT.replace("done", "ready"), wait("ready"), "bar.sync 0;", FREE)
    assert found(*first, *second, **schedule) == ()


@schedules
def test_columns_that_were_given_back_are_not_used(schedule: dict[str, Any]) -> None:
    (used,) = found(FREE, "bar.sync 0;", "@%p1 " + multiply(), **schedule)
    assert used.rule == "tmem-use-after-free"
    assert used.other_line is not None
    assert "after tcgen05.dealloc" in used.message


@schedules
def test_who_gives_columns_back_knows_that_loads_are_over(schedule: dict[str, Any]) -> None:
    own = "shl.b32 %r12, %r1, 16;\nand.b32 %r12, %r12, 0x00200000;\nadd.u32 %r12, %r12, %r20;"
    load, waits = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r13}, [%r12];", "tcgen05.wait::ld.sync.aligned;"
    assert found(own, load, waits, "bar.sync 0;", FREE, **schedule) == ()
    early = [
        each for each in found(own, load, "bar.sync 0;", FREE, waits, **schedule) if each.rule == "tmem-use-after-free"
    ]
    (freed,) = early
    assert "tcgen05.dealloc of tmem lane" in freed.message
    assert freed.help is not None
    assert "tcgen05.wait::ld" in freed.help


@schedules
def test_a_pair_of_which_one_block_does_not_free_is_named_as_the_cause(schedule: dict[str, Any]) -> None:
    free = FREE.replace("::1", "::2").replace("%p2", "%p5")
    body = ("mov.u32 %r12, %cluster_ctarank;", "setp.eq.and.u32 %p5, %r12, 0, %p2;", free)
    leave = ("barrier.cluster.arrive;", "barrier.cluster.wait;")
    findings = {each.rule: each for each in found(*body, *leave, blocks=2, grid=2, cluster=2, **schedule)}
    first, *_ = findings["deadlock"].notes
    assert "waiting for the peer CTA of the pair, CTA (1, 0, 0)" in first
    assert "execute tcgen05.alloc and .dealloc in both CTAs of the pair" in (findings["deadlock"].help or "")


def test_an_instruction_for_a_pair_is_refused_in_a_block_alone() -> None:
    assert "cta-pair" in {each.rule for each in found(FREE.replace("::1", "::2"), blocks=2)}


@pytest.mark.parametrize(
    ("uses", "b", "rules"),
    [
        (("fill", "use", "lastuse"), ("%rd11",) * 3, []),
        (("fill", "lastuse", "lastuse"), ("%rd11",) * 3, ["tcgen05-collector"]),
        (("fill", "", "use"), ("%rd11",) * 3, ["tcgen05-collector"]),
        (("fill", "use", "use"), ("%rd11", "%rd10", "%rd11"), []),  # .collector::a::use keeps A; B may change
        (("use", "", ""), ("%rd11",) * 3, ["tcgen05-collector"]),
    ],
)
def test_a_factor_is_taken_from_where_it_is_kept(uses: tuple[str, ...], b: tuple[str, ...], rules: list[str]) -> None:
    products = ["@%p0 " + multiply(collector=use, b=each) for use, each in zip(uses, b, strict=True)]
    findings = found(*products, "@%p0 " + COMMIT, wait("done"), "bar.sync 0;", FREE)
    assert [each.rule for each in findings] == rules


def test_two_copies_to_the_same_cells_at_once_race() -> None:
    copy = "@%p5 tcgen05.cp.cta_group::1.32x128b.warpx4 [%r20], %rd12;"
    commits = ("@%p0 " + COMMIT, "@%p1 " + COMMIT.replace("done", "ready"), wait("done"), wait("ready"))
    chosen = ("or.pred %p5, %p0, %p1;", "selp.b64 %rd12, %rd10, %rd11, %p0;")
    (race,) = found(*chosen, copy, *commits, "bar.sync 0;", FREE)
    assert race.rule == "tmem-race"


def test_what_is_no_product_is_not_waited_for() -> None:
    findings = found("@%p0 " + multiply(), FREE, product=0x02040490)
    assert [each.rule for each in findings] == ["tcgen05-mma"]


ARRIVE = "mbarrier.arrive.relaxed.cluster.shared::cta.b64 _, [ready];"
OWN = "shl.b32 %r12, %r1, 16;\nand.b32 %r12, %r12, 0x00200000;\nadd.u32 %r12, %r12, %r20;"
LOAD, LOADED = "@%p2 tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r13}, [%r12];", "@%p2 tcgen05.wait::ld.sync.aligned;"


def relaxed(barrier: str) -> str:
    return wait(barrier).replace(".parity", ".parity.relaxed.cluster")


def handed(first: tuple[str, ...], second: tuple[str, ...], **options: Any) -> set[str]:
    """Run `first` in thread 0 or its warp, then `second` in thread 32; return the rule names of errors and warnings."""
    acts = ("@!%p1 bra LAST;", *second, "LAST:", wait("done"), "bar.sync 0;", FREE)
    return {each.rule for each in found(OWN, *first, *acts, **options) if each.severity != "note"}


@schedules
def test_a_load_comes_before_a_product_by_relaxed_synchronization_between_fences(schedule: dict[str, Any]) -> None:
    """Ordering tcgen05.ld before another thread's MMA requires wait::ld, fence and arrive, then wait and fence."""
    load, first, second = (LOAD, LOADED), ("@%p0 " + BEFORE, "@%p0 " + ARRIVE), (relaxed("ready"), AFTER)
    work = multiply(), COMMIT
    assert handed((*load, *first), (*second, *work), **schedule) == set()
    assert "early-reuse" in handed((LOAD, *first), (*second, *work, LOADED), **schedule)
    assert handed((*load, first[1]), (*second, *work), **schedule) == {"early-reuse"}
    assert handed((*load, *first[::-1]), (*second, *work), **schedule) == {"early-reuse"}
    assert handed((*load, *first), (second[0], *work), **schedule) == {"early-reuse"}
    assert handed((*load, *first), (*second[::-1], *work), **schedule) == {"early-reuse"}
    # The mbarrier wait acquires, so the finding for a missing tcgen05 fence has only severity note.
    assert handed((*load, *first), (wait("ready"), *work), **schedule) == set()
    releasing = ARRIVE.replace(".relaxed", ".release")
    assert handed((*load, "@%p0 " + releasing), (*second, *work), **schedule) == set()


@schedules
def test_a_commit_and_a_relaxed_wait_order_what_is_behind_a_fence(schedule: dict[str, Any]) -> None:
    first = "@%p0 " + multiply(), "@%p0 " + COMMIT.replace("done", "ready")
    second = relaxed("ready"), AFTER, multiply(), COMMIT
    assert handed(first, second, **schedule) == set()
    again = ("@%p0 " + multiply(), "@%p0 " + COMMIT, relaxed("done"), AFTER, OWN, LOAD, LOADED, "bar.sync 0;", FREE)
    assert {each.rule for each in found(*again, **schedule) if each.severity != "note"} == set()
    without = [each for each in again if each != AFTER]
    found_without = {each.rule for each in found(*without, **schedule) if each.severity != "note"}
    assert found_without == {"read-before-wait", "tmem-use-after-free"}


@schedules
def test_a_pipeline_goes_on_in_another_thread_behind_relaxed_synchronization(schedule: dict[str, Any]) -> None:
    """MMAs of different threads in one pipeline need both tcgen05 fences, but no wait for the first MMA."""
    first, second = ("@%p0 " + BEFORE, "@%p0 " + ARRIVE), (relaxed("ready"), AFTER, multiply("!%p3"), COMMIT)
    work = "@%p0 " + multiply()
    alone = {"unfinished-tcgen05"}  # a finding of every schedule: thread 0 executes no tcgen05.commit
    assert handed((work, *first), second, **schedule) == alone
    assert handed((work, first[1]), second, **schedule) == alone | {"read-before-wait"}
    assert handed((work, *first), (second[0], *second[2:]), **schedule) == alone | {"read-before-wait"}


@schedules
def test_fences_of_tensor_memory_order_no_other(schedule: dict[str, Any]) -> None:
    """tcgen05 fences do not order shared memory: ld.shared races with st.shared."""
    send = "bar.sync 0;\n@%p0 st.shared.u32 [columns], %r1;"
    # The branch to trap uses the loaded word: a race with an unused load would have only severity note.
    receive = "ld.shared.u32 %r13, [columns];\nsetp.eq.u32 %p5, %r13, 77;\n@%p5 trap;"
    first, second = ("@%p0 " + BEFORE, "@%p0 " + ARRIVE), (relaxed("ready"), AFTER, receive, multiply(), COMMIT)
    assert handed((send, *first), second, **schedule) == {"shared-race"}
    released = "@%p0 fence.acq_rel.cta;", "@%p0 " + ARRIVE
    acquired = relaxed("ready"), "fence.acq_rel.cta;", receive, multiply(), COMMIT
    assert handed((send, *released), acquired, **schedule) == set()
