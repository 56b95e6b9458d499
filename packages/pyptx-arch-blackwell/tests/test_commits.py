"""mbarrier arrivals by tcgen05.commit of a thread. Manual: "tcgen05.commit", "Asynchronous Operations"."""

from __future__ import annotations

from typing import Any

import pytest

from pyptx_sim import run

KERNEL = """
.version 9.0
.target sm_100a
.address_size 64
.visible .entry k() {
.reg .b32 %thread, %tensor;
.reg .pred %leads, %done;
.shared .align 4 .b32 slot;
.shared .align 8 .b64 first;
.shared .align 8 .b64 second;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
mov.u32 %thread, %tid.x;
setp.eq.u32 %leads, %thread, 0;
@%leads mbarrier.init.shared.b64 [first], 1;
@%leads mbarrier.init.shared.b64 [second], 1;
fence.mbarrier_init.release.cluster;
bar.sync 0;
@%leads tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [first];
@%leads tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [second];
WAIT:
mbarrier.try_wait.parity.shared.b64 %done, [AWAITED], 0;
@!%done bra WAIT;
bar.sync 0;
@%leads mbarrier.inval.shared.b64 [ENDED];
ld.shared.b32 %tensor, [slot];
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tensor, 32;
ret;
}
"""


def found(awaited: str, ended: str, schedule: dict[str, Any]) -> set[str]:
    text = KERNEL.replace("AWAITED", awaited).replace("ENDED", ended)
    return {
        each.rule
        for each in run(text, entry="k", args=[], grid=1, block=32, **schedule).findings
        if each.severity != "note"
    }


@pytest.mark.parametrize(
    "schedule", [{}, {"delay_async": True}, *({"seed": seed, "delay_async": True} for seed in range(1, 5))], ids=str
)
def test_who_has_waited_for_a_commit_has_waited_for_earlier_ones_of_its_thread(schedule: dict[str, Any]) -> None:
    """`tcgen05.commit` is synchronous, so it is ordered with the thread's other synchronous instructions."""
    assert found("second", "first", schedule) == set()


def test_a_later_commit_may_still_be_to_come() -> None:
    assert found("first", "second", {"delay_async": True}) == {"mbarrier-uninitialized"}
