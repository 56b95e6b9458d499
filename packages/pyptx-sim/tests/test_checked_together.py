"""Asynchronous operations that one instruction issues are checked together, with the findings of separate checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from pyptx_sim import run
from pyptx_sim.observer import AsyncAccess, AsyncOperations, Observer
from pyptx_sim.rules.batches import Batch, batches
from pyptx_sim.rules.races import RaceChecker

if TYPE_CHECKING:
    from pyptx_sim.findings import Finding

BLOCKS = 6

# Thread 0 of each CTA bulk-copies 64 bytes to global memory. Destinations of consecutive CTAs are `step` bytes apart.
STORES = """
.version 8.3
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p_out, .param .u32 p_step)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    .shared .align 128 .b8 buffer[64];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, buffer;
    shl.b32 %r2, %r0, 2;
    add.u32 %r2, %r1, %r2;
    setp.lt.u32 %p, %r0, 16;
    @%p st.shared.u32 [%r2], %r0;
    FENCE
    bar.sync 0;
    setp.ne.u32 %p, %r0, 0;
    @%p bra DONE;
    ld.param.u64 %rd0, [p_out];
    cvta.to.global.u64 %rd0, %rd0;
    ld.param.u32 %r3, [p_step];
    mov.u32 %r4, %ctaid.x;
    mul.wide.u32 %rd1, %r3, %r4;
    add.u64 %rd0, %rd0, %rd1;
    cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r1], 64;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
DONE:
    ret;
}
"""


def findings(step: int, *, fenced: bool) -> list[Finding]:
    text = STORES.replace("FENCE", "fence.proxy.async;" if fenced else "")
    out = np.zeros(BLOCKS * 16, np.int32)
    result = run(text, grid=BLOCKS, block=32, args=[out, np.uint32(step)], checks="all")
    return [finding for finding in result.findings if finding.rule != "uninitialized-output"]


@pytest.mark.hopper
@pytest.mark.parametrize("fenced", [True, False])
@pytest.mark.parametrize("step", [64, 48, 32, 16, 0])
def test_the_same_is_found_as_of_each_copy_by_itself(
    step: int, *, fenced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = findings(step, fenced=fenced)
    monkeypatch.setattr(RaceChecker, "issued_together", Observer.issued_together)
    assert together == findings(step, fenced=fenced)
    rules = {finding.rule for finding in together}
    assert ("global-race" in rules or "early-reuse" in rules or "read-before-wait" in rules) == (step < 64)
    assert ("missing-proxy-fence" in rules) == (not fenced)


def work(warp: int, *touches: AsyncAccess, lane: int = 0) -> AsyncOperations:
    return AsyncOperations(warp, 7, None, None, np.array([warp]), np.array([lane]), np.zeros(1, np.int64), touches)


def touch(first: int, *, writes: bool, stride: int = 16, pieces: int = 4, atomic: bool = False) -> AsyncAccess:
    offsets = first + stride * np.arange(pieces)
    return AsyncAccess("global", writes, offsets, 16, np.zeros(pieces, np.int64), atomic=atomic)


def sizes(*works: AsyncOperations) -> list[int]:
    return [len(each.works) if isinstance(each, Batch) else -len(each) for each in batches(works)]


def test_what_meets_is_not_judged_together() -> None:
    assert sizes(*(work(warp, touch(64 * warp, writes=True)) for warp in range(5))) == [5]
    assert sizes(*(work(warp, touch(48 * warp, writes=True)) for warp in range(5))) == [-5]
    interleaved = (work(warp, touch(16 * warp, writes=True, stride=64)) for warp in range(4))
    assert sizes(*interleaved) == [4]
    assert sizes(*(work(warp, touch(0, writes=False), touch(1024 + 64 * warp, writes=True)) for warp in range(3))) == [
        3
    ]
    assert sizes(*(work(warp, touch(0, writes=False), touch(64 * warp, writes=True)) for warp in range(3))) == [-3]
    assert sizes(*(work(warp, touch(0, writes=True, atomic=True)) for warp in range(3))) == [3]


def test_only_works_that_are_alike_and_of_different_threads_are_judged_together() -> None:
    assert sizes(work(0, touch(0, writes=True))) == [-1]
    assert sizes(work(3, touch(0, writes=True)), work(3, touch(64, writes=True))) == [-2]
    assert sizes(work(3, touch(0, writes=True)), work(3, touch(64, writes=True), lane=1)) == [2]
    assert sizes(work(0, touch(0, writes=True)), work(1, touch(64, writes=False))) == [-1, -1]


def test_a_batch_keeps_what_each_operation_touches() -> None:
    works = [work(warp, touch(256 * warp, writes=True, pieces=1 + warp)) for warp in range(4)]
    (batch,) = batches(works)
    assert isinstance(batch, Batch)
    assert batch.item_ids.tolist() == [0, 1, 2, 3]
    (merged,) = batch.work.touches
    for number, each in enumerate(works):
        assert merged.offsets[merged.owners == number].tolist() == each.touches[0].offsets.tolist()
