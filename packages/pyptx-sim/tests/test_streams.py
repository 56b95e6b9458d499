"""Several launches in one run: in stream order, and overlapping by programmatic dependent launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx_sim import Launch, Memory, run
from pyptx_sim.errors import LaunchError

HEADER = ".version 8.5\n.target sm_90a\n.address_size 64\n"
SEEDS = [{}, {"seed": 1}, {"seed": 2}, {"seed": 3}, {"late": True}]
each_schedule = pytest.mark.parametrize("schedule", SEEDS)


def entry(name: str, body: str) -> str:
    """Return an entry of two pointers in %rd1 and %rd2: to words x and y, of which %rd3 and %rd4 are the thread's."""
    return (
        f".visible .entry {name}(.param .u64 x, .param .u64 y) {{\n"
        ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n.shared .u32 s[64];\n"
        "ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];\n"
        "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r1, %r2, %r3, %r1;\n"
        "mad.wide.u32 %rd3, %r1, 4, %rd1; mad.wide.u32 %rd4, %r1, 4, %rd2;\n"
        f"{body}\nret;\n}}\n"
    )


WAIT, RELEASE = "griddepcontrol.wait;\n", "griddepcontrol.launch_dependents;\n"
WRITE = "add.u32 %r4, %r1, 100;\nst.global.u32 [%rd3], %r4;\n"
COPY = "ld.global.u32 %r5, [%rd3];\nst.global.u32 [%rd4], %r5;\n"


def chained(*bodies: str, grid: int = 8, block: int = 64, **options: Any) -> tuple[Any, Any, Any]:
    """Run entries one behind the other, all but the first dependent, on words x (from 0 up) and y."""
    names = [f"k{number}" for number in range(len(bodies))]
    text = HEADER + "".join(entry(*each) for each in zip(names, bodies, strict=True))
    x, y = np.arange(grid * block, dtype=np.uint32), np.zeros(grid * block, np.uint32)
    plain = options.pop("plain", False)
    launches = [
        Launch(entry=name, grid=grid, block=block, args=[x, y], dependent=bool(number) and not plain)
        for number, name in enumerate(names)
    ]
    return x, y, run(text, launches, **options)


def rules(result: Any) -> list[str]:
    """Return the rules of what was found."""
    return [finding.rule for finding in result.findings]


# --- stream order -------------------------------------------------------------------------------


@each_schedule
def test_a_launch_sees_what_the_ones_in_front_have_written(schedule: dict[str, Any]) -> None:
    """With no synchronisation in the kernels: the end of a launch orders everything."""
    other_block = "xor.b32 %r6, %r1, 64; mad.wide.u32 %rd3, %r6, 4, %rd1;\n"
    x, y, result = chained(WRITE, other_block + COPY, plain=True, **schedule)
    assert result.findings == ()
    assert (y == (np.arange(512) ^ 64) + 100).all()
    assert (x == np.arange(512) + 100).all()
    assert result.statistics.ctas == 16


def test_entries_share_the_variables_of_their_module() -> None:
    """Each entry reaches other functions, with variables and tables of addresses of their own."""
    text = HEADER + (
        ".visible .global .u32 count = 5;\n"
        ".func f() { .global .u32 own = 1; .reg .b32 %r<2>; atom.global.add.u32 %r1, [own], 1; ret; }\n"
        ".func g() { .global .u32 other[40] = {7}; .reg .b32 %r<2>; atom.global.add.u32 %r1, [other], 1;\n"
        "atom.global.add.u32 %r1, [count], %r1; ret; }\n"
        + entry("first", "call f, (); call g, (); mov.u64 %rd5, g; st.global.u64 [%rd1], %rd5;")
        + entry(
            "second",
            "ld.global.u64 %rd5, [%rd1]; p: .callprototype _ ();\ncall %rd5, (), p; mov.u64 %rd6, g;\n"
            "ld.global.u32 %r5, [count]; st.global.u32 [%rd2], %r5;",
        )
    )
    x, y = np.zeros(2, np.uint32), np.zeros(1, np.uint32)
    result = run(text, [Launch(entry=name, grid=1, block=1, args=[x, y]) for name in ("first", "second")])
    assert result.findings == ()
    assert y[0] == 5 + 7 + 8


def test_launches_share_a_memory_made_before() -> None:
    text = HEADER + entry("write", WRITE) + entry("copy", COPY)
    memory = Memory()
    x, y = memory.put(np.arange(64, dtype=np.uint32), "x"), memory.empty(64, np.uint32, "y")
    result = run(text, [Launch(entry=name, grid=1, block=64, args=[x, y]) for name in ("write", "copy")])
    assert result.findings == ()
    assert (y.array == np.arange(64) + 100).all()


def test_what_launches_of_one_entry_have_in_common_is_found_once() -> None:
    racy = "st.global.u32 [%rd1], %r1;"
    _, _, once = chained(racy)
    text = HEADER + entry("k0", racy)
    x = np.zeros(512, np.uint32)
    twice = run(text, [Launch(grid=8, block=64, args=[x, x])] * 2)
    assert rules(twice) == rules(once)
    assert [each.count for each in twice.findings] == [2 * each.count for each in once.findings]


def test_fields_beside_several_launches_are_refused() -> None:
    launch = Launch(grid=1, block=1, args=[np.zeros(1, np.uint32)] * 2)
    with pytest.raises(LaunchError, match="several launches"):
        run(HEADER + entry("k", ""), [launch, launch], grid=2)
    with pytest.raises(LaunchError, match="timeline of several launches"):
        run(HEADER + entry("k", ""), [launch, launch], trace="run.json")
    with pytest.raises(LaunchError, match="no launch"):
        run(HEADER + entry("k", ""), [])


# --- dependent launches -------------------------------------------------------------------------


@each_schedule
def test_what_waits_sees_all_that_the_launch_in_front_does(schedule: dict[str, Any]) -> None:
    _, y, result = chained(RELEASE + WRITE, "xor.b32 %r6, %r1, 65;\n" + WAIT + COPY, **schedule)
    assert result.findings == ()
    assert (y == np.arange(512) + 100).all()


# Sets a word, and waits a while before it does: threads of the dependent launch run meanwhile.
SLOW = "mov.u32 %r6, 0;\nagain: add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 20; @%p1 bra again;\n"


@each_schedule
def test_a_read_without_a_wait_is_a_race_in_every_schedule(schedule: dict[str, Any]) -> None:
    _, _, result = chained(RELEASE + SLOW + WRITE, COPY, **schedule)
    (finding,) = result.findings
    assert finding.rule == "global-race"
    assert finding.count == 512 * 4
    assert "reads argument 0 'x' +0 without knowing that the launch in front is complete" in finding.message
    assert "griddepcontrol.wait" in str(finding.hint)
    lines = (HEADER + entry("k0", RELEASE + SLOW + WRITE) + entry("k1", COPY)).splitlines()
    assert "ld.global.u32" in lines[(finding.line or 0) - 1]
    assert any(f"line {number}" in finding.message for number, line in enumerate(lines, 1) if "st.global" in line)


def test_schedules_overlap_the_launches() -> None:
    """What is read too early is sometimes old, sometimes new, and both at once in some schedule."""
    seen: set[int] = set()
    mixed = False
    for seed in range(1, 20):
        _, y, _ = chained(RELEASE + SLOW + WRITE, COPY, seed=seed, checks="none")
        new = y == np.arange(512) + 100
        assert (new | (y == np.arange(512))).all()
        seen |= {int(each) for each in np.unique(new)}
        mixed |= 0 < np.count_nonzero(new) < 512
    assert seen == {0, 1}
    assert mixed
    _, y, _ = chained(RELEASE + SLOW + WRITE, COPY, late=True, checks="none")
    assert (y == np.arange(512)).all()


def test_without_a_release_the_launch_in_front_ends_first() -> None:
    """The read is right by luck alone: nothing says that the writes are visible."""
    _, y, result = chained(SLOW + WRITE, COPY, late=True)
    assert (y == np.arange(512) + 100).all()
    assert rules(result) == ["global-race"]


@pytest.mark.parametrize(("own", "front"), [(WRITE, "ld.global.u32 %r5, [%rd3];\n"), (WRITE, WRITE)])
def test_a_write_without_a_wait_races_with_reads_and_writes(own: str, front: str) -> None:
    assert "global-race" in rules(chained(RELEASE + front, own)[2])


def test_reads_of_both_are_no_race() -> None:
    read = "ld.global.u32 %r5, [%rd3];\n"
    assert rules(chained(RELEASE + read, read)[2]) == []


def test_strong_accesses_of_both_are_no_race() -> None:
    """A counter that both launches increase by atomic updates, waiting or not."""
    count = "red.relaxed.gpu.global.add.u32 [%rd2], 1;\n"
    _, y, result = chained(RELEASE + count, count, seed=3)
    assert rules(result) == []
    assert y[0] == 1024
    assert rules(chained(RELEASE + "st.global.u32 [%rd4], 1;\n", count)[2]) == ["global-race"]


@each_schedule
def test_a_barrier_brings_the_wait_of_one_thread_to_all(schedule: dict[str, Any]) -> None:
    """As in kernels with roles: one warp waits, the others hear of it."""
    one = "setp.eq.u32 %p2, %r1, %r1; mov.u32 %r7, %tid.x; setp.eq.u32 %p2, %r7, 0;\n@%p2 griddepcontrol.wait;\n"
    _, y, result = chained(RELEASE + WRITE, one + "bar.sync 0;\n" + COPY, **schedule)
    assert rules(result) == []
    assert (y == np.arange(512) + 100).all()
    assert rules(chained(RELEASE + WRITE, one + COPY)[2]) == ["global-race"]


def test_blocks_of_later_waves_must_wait_too() -> None:
    """More blocks than run together: whether one has waited is known to it alone."""
    first = "setp.eq.u32 %p2, %r2, 0;\n@%p2 griddepcontrol.wait;\n"
    assert rules(chained(RELEASE + WRITE, first + COPY, grid=300)[2]) == ["global-race"]
    assert rules(chained(RELEASE + WRITE, WAIT + COPY, grid=300, seed=5)[2]) == []


def test_a_dependent_launch_starts_when_the_last_block_lets_it() -> None:
    """Block 0 of the first launch spins until the second one writes a flag, which needs all blocks to have released."""
    spin = "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra out;\nagain: ld.acquire.gpu.u32 %r6, [%rd2]; setp.eq.u32 %p1, %r6, 0;\n"
    spin += "@%p1 bra again;\nout:\n"
    for schedule in SEEDS:
        _, y, result = chained(RELEASE + spin, "st.release.gpu.u32 [%rd2], 1;\n", **schedule)
        assert rules(result) == []
        assert y[0] == 1
    _, _, result = chained(spin + RELEASE, "st.release.gpu.u32 [%rd2], 1;\n")
    assert rules(result) == ["deadlock"]


@each_schedule
def test_a_chain_of_dependent_launches(schedule: dict[str, Any]) -> None:
    """The third sees what the first has written, for a launch is complete only when those in front are."""
    first = RELEASE + SLOW + WRITE
    second = RELEASE + WAIT + "ld.global.u32 %r5, [%rd3]; add.u32 %r5, %r5, 1000; st.global.u32 [%rd4], %r5;\n"
    third = (
        WAIT
        + "ld.global.u32 %r5, [%rd3]; ld.global.u32 %r6, [%rd4]; add.u32 %r5, %r5, %r6; st.global.u32 [%rd4], %r5;\n"
    )
    _, y, result = chained(first, second, third, **schedule)
    assert rules(result) == []
    assert (y == 2 * (np.arange(512) + 100) + 1000).all()


def test_a_launch_that_does_not_wait_lets_the_next_one_race_with_the_one_in_front() -> None:
    """Of three: unless all blocks of the second wait before they release, the first may still write."""
    early = "ld.global.u32 %r5, [%rd3];\n"
    assert rules(chained(RELEASE + WRITE, RELEASE + WAIT, early)[2]) == ["global-race"]
    assert rules(chained(RELEASE + WRITE, WAIT + RELEASE, early)[2]) == []


# --- asynchronous work --------------------------------------------------------------------------

STORE_BULK = """
mov.u32 %r5, s; mov.u32 %r6, %tid.x; setp.ne.u32 %p1, %r6, 0; mad.lo.u32 %r7, %r6, 4, %r5; st.shared.u32 [%r7], 77;
fence.proxy.async.shared::cta; bar.sync 0; @%p1 bra out;
cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r5], 256;
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
out:
"""
COPY_ASYNC = """
mov.u32 %r5, s; mov.u32 %r6, %tid.x; mad.lo.u32 %r7, %r6, 4, %r5;
cp.async.ca.shared.global [%r7], [%rd3], 4; cp.async.wait_all;
ld.shared.u32 %r5, [%r7]; st.global.u32 [%rd4], %r5;
"""


@pytest.mark.hopper
@each_schedule
def test_copies_know_what_the_threads_that_issue_them_know(schedule: dict[str, Any]) -> None:
    """A bulk store of the first launch, and a copy of the second one, with a wait in front and without."""
    _, y, result = chained(RELEASE + STORE_BULK, WAIT + COPY_ASYNC, grid=1, **schedule)
    assert rules(result) == []
    assert (y == 77).all()
    _, _, result = chained(RELEASE + STORE_BULK, COPY_ASYNC, grid=1, **schedule)
    assert rules(result) == ["global-race"]
