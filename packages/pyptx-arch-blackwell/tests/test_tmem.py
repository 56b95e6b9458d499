"""`ptx.tmem.alloc`: PTX that its `with` block emits, the position of the instructions, and names of subregions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg, smem
from pyptx_dsl.errors import AllocationError, ControlFlowError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import b32, u32

if TYPE_CHECKING:
    from collections.abc import Callable


def traced(body: Callable[[], object], cluster: int = 1) -> list[str]:
    """Return the instructions of a kernel, without indentation."""

    def k() -> None:
        body()
        ptx.ret()

    text = kernel(k, arch="sm_100a", version=(8, 8), block=(128, 1, 1), cluster=cluster).ptx()
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line.endswith(";") and not line.startswith(".")]


ALLOC = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [tmem_0], 64;"
LOAD = "ld.shared.b32 %r{}, [tmem_0];"
DEALLOC = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r{}, 64;"


def test_whoever_stands_there_allocates_and_frees() -> None:
    def body() -> None:
        with ptx.tmem.alloc(64) as t:
            ptx.tcgen05.wait_ld()
            assert t.columns == 64

    assert traced(body) == [ALLOC, LOAD.format(0), "tcgen05.wait::ld.sync.aligned;", DEALLOC.format(0), "ret;"]


def test_one_warp_allocates_for_a_block_that_meets_before_it_is_freed() -> None:
    def body() -> None:
        with ptx.tmem.alloc(64, when=reg.scalar(u32, 0) == 0, relinquish=True):
            pass

    relinquish = "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"
    before, after = (f"tcgen05.fence::{word}_thread_sync;" for word in ("before", "after"))
    assert traced(body)[2:] == [
        f"@%p0 {ALLOC}", f"@%p0 {relinquish}", "bar.sync 0;", LOAD.format(1),
        before, "bar.sync 0;", after, f"@%p0 {DEALLOC.format(1)}", "ret;",
    ]  # fmt: skip


def test_a_pair_meets_as_a_cluster() -> None:
    def body() -> None:
        with ptx.tmem.alloc(64, cta_group=2, when=reg.scalar(u32, 0) == 0):
            pass

    lines = traced(body, cluster=2)
    assert [line for line in lines if "barrier" in line] == ["barrier.cluster.arrive;", "barrier.cluster.wait;"]
    assert sum("cta_group::2" in line for line in lines) == 2


def test_each_allocation_has_a_word_of_its_own() -> None:
    def body() -> None:
        with ptx.tmem.alloc(64), ptx.tmem.alloc(32):
            pass

    lines = traced(body)
    assert [line.split("[")[1].split("]")[0] for line in lines if "alloc.cta" in line and "[" in line] == [
        "tmem_0", "tmem_1",
    ]  # fmt: skip


def test_parts_are_constants_added_to_the_address() -> None:
    def body() -> None:
        t = ptx.tmem.at(reg.scalar(b32))
        ptx.tcgen05.shift(t[32:64, 8:][:, 16:32])
        ptx.tcgen05.shift(t.quarter(5))
        ptx.tcgen05.shift(t.quarter(reg.scalar(u32))[:, 4:])
        ptx.tcgen05.shift(t[:, 0:128].advance(128, times=reg.scalar(u32)))

    assert traced(body) == [
        f"tcgen05.shift.cta_group::1.down [%r0+{32 << 16 | 24}];",
        f"tcgen05.shift.cta_group::1.down [%r0+{32 << 16}];",
        "and.b32 %r2, %r1, 3;",
        f"mad.lo.u32 %r3, %r2, {32 << 16}, %r0;",
        "tcgen05.shift.cta_group::1.down [%r3+4];",
        "mad.lo.u32 %r5, %r4, 128, %r0;",
        "tcgen05.shift.cta_group::1.down [%r5];",
        "ret;",
    ]


def leak_by_ret() -> None:
    with ptx.tmem.alloc(64), ptx.if_(reg.scalar(u32, 0) == 0), ptx.scope():
        ptx.ret()


def leak_by_exit() -> None:
    with ptx.tmem.alloc(64):
        ptx.exit()


def leak_by_hand() -> None:
    ptx.tcgen05.alloc(smem.alloc(b32, 1), 64)


@pytest.mark.parametrize("leak", [leak_by_ret, leak_by_exit, leak_by_hand])
def test_a_leak_is_told_at_its_line(leak: Callable[[], object]) -> None:
    with pytest.raises(AllocationError) as caught:
        traced(leak)
    assert f"in {leak.__name__}" in str(caught.value)


def test_what_is_freed_in_a_branch_or_a_loop_is_freed() -> None:
    def body() -> None:
        word = smem.alloc(b32, 1)
        with ptx.if_(reg.scalar(u32, 0) == 0):
            ptx.tcgen05.alloc(word, 64)
        with ptx.if_(reg.scalar(u32, 0) == 0):
            ptx.tcgen05.dealloc(word.load(0), 64)

    assert traced(body)


def test_an_allocation_without_its_with_is_told() -> None:
    with pytest.raises(ControlFlowError, match="needs a `with` statement"):
        traced(lambda: ptx.tmem.alloc(64))


def test_an_error_inside_is_the_one_that_is_told() -> None:
    def body() -> None:
        with ptx.tmem.alloc(64):
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        traced(body)


def test_a_part_is_drawn_with_the_warps_that_reach_it() -> None:
    drawn: list[str] = []

    def body() -> None:
        drawn.append(str(ptx.tmem.at(reg.scalar(b32))[64:96, 256:]))
        ptx.tcgen05.wait_ld()

    traced(body)
    lines = drawn[0].splitlines()
    assert lines[0] == "tensor memory: lanes 64-95, columns 256-511"
    assert [line.count("#") for line in lines[1:5]] == [0, 0, 16, 0]
    assert lines[3].endswith("warp 2 of a warpgroup")
