"""A `.relaxed` arrive orders accesses only with a fence before it, a `.relaxed` wait only with a fence after it.

A value goes from one thread to another through an mbarrier or the cluster barrier. Manual: "Release and Acquire
Patterns", "mbarrier.arrive", "barrier.cluster". `PYPTX_KERNELS=all` combines every arrival with every wait; the default
is every third wait.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tools.shares import share

from .ptx_text import execute
from .test_async_copy import each_schedule

if TYPE_CHECKING:
    from pyptx_sim import Finding

pytestmark = [pytest.mark.scaled(2), pytest.mark.hopper]

BEFORE = ".shared .align 16 .b8 box[1024];\n.shared .align 8 .b64 bar;\n.shared .align 8 .b64 back;"
SYNC = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;"
SCOPES = {"cta": 0, "cluster": 1, "gpu": 2}
WIDTHS = {0: "cta", 1: "cluster"}

# Thread 0 of the last CTA (%p0) sends a value to thread 32 of the first CTA (%p1).
# %r5 and %r6 are the addresses of the mbarrier and of the value in the first CTA's shared memory.
HEAD = f"""
mov.u32 %r1, %cluster_ctarank;
mov.u32 %r2, %cluster_nctarank;
sub.u32 %r2, %r2, 1;
setp.eq.u32 %p2, %r1, %r2;
setp.eq.and.u32 %p0, %r0, 0, %p2;
setp.eq.u32 %p2, %r1, 0;
setp.eq.and.u32 %p1, %r0, 32, %p2;
mov.u32 %r3, bar;
mapa.shared::cluster.u32 %r5, %r3, 0;
mov.u32 %r4, box;
mapa.shared::cluster.u32 %r6, %r4, 0;
setp.eq.u32 %p3, %r0, 0;
@%p3 mbarrier.init.shared.b64 [bar], 1;
@%p3 mbarrier.init.shared.b64 [back], 1;
fence.mbarrier_init.release.cluster;
{SYNC}
"""
SEND, RECEIVE = "@%p0 st.shared::cluster.u32 [%r6], 77;", "@%p1 ld.shared.u32 %r9, [%r4];"


def fence(scope: str | None, who: str) -> str:
    return "" if scope is None else f"@{who} fence.acq_rel.{scope};"


def arrive(sem: str, scope: str, barrier: str = "%r5") -> str:
    return f"@%p0 mbarrier.arrive.{sem}.{scope}.shared::cluster.b64 _, [{barrier}];"


def wait(sem: str, scope: str, *, who: str = "%p1", barrier: str = "bar", parity: int = 0) -> str:
    """Return PTX by which one thread waits at the mbarrier or cluster barrier."""
    label = f"{barrier}_{parity}_{who[1:]}"
    return (
        f"W{label}: @!{who} bra D{label};\n"
        f"mbarrier.try_wait.parity.{sem}.{scope}.shared::cta.b64 %p4, [{barrier}], {parity};\n"
        f"@!%p4 bra W{label};\nD{label}:"
    )


def findings(*body: str, blocks: int = 1, **options: Any) -> tuple[Finding, ...]:
    """Run PTX between the kernel's head and a final cluster barrier; return the findings."""
    text = "\n".join((HEAD, *body, SYNC))
    launch: dict[str, Any] = {"grid": blocks, "block": 64, "cluster": (blocks, 1, 1), "before": BEFORE}
    return execute(text, np.zeros(64, np.uint32), **launch, **options).findings


def rules(*body: str, **options: Any) -> set[str]:
    return {finding.rule for finding in findings(*body, **options)}


def reach(sem: str, scope: str, fenced: str | None) -> int:
    """Return the index of the widest scope at which an arrive releases or a wait acquires; -1 if it does neither."""
    by_fence = -1 if fenced is None else min(SCOPES[fenced], SCOPES[scope])
    return max(by_fence, -1 if sem == "relaxed" else SCOPES[scope])


ARRIVALS = [*product(("release", "relaxed"), WIDTHS.values(), (None, *SCOPES))]
WAITS = [*product(("acquire", "relaxed"), WIDTHS.values(), (None, *SCOPES))]


@pytest.mark.parametrize("blocks", [1, 2])
@pytest.mark.parametrize(("sem", "scope", "fenced"), ARRIVALS)
def test_a_value_arrives_if_both_sides_order_it(sem: str, scope: str, fenced: str | None, blocks: int) -> None:
    """The axioms require that the scope of each side's operation or fence includes the other thread."""
    needed, found = blocks - 1, {}
    for other, there, behind in share(WAITS, 3, turn=ARRIVALS.index((sem, scope, fenced)) + blocks):
        body = (SEND, fence(fenced, "%p0"), arrive(sem, scope), wait(other, there), fence(behind, "%p1"), RECEIVE)
        ordered = min(reach(sem, scope, fenced), reach(other, there, behind)) >= needed
        accused = "shared-race" in rules(*body, blocks=blocks)
        if accused is ordered:
            found[other, there, behind] = accused
    assert found == {}


@each_schedule
def test_schedules_agree(schedule: dict[str, Any]) -> None:
    fenced = SEND, fence("cluster", "%p0"), arrive("relaxed", "cluster"), wait("relaxed", "cluster")
    assert rules(*fenced, fence("cluster", "%p1"), RECEIVE, blocks=2, **schedule) == set()
    assert rules(*fenced, RECEIVE, blocks=2, **schedule) == {"shared-race"}


@pytest.mark.parametrize("blocks", [1, 2])
def test_a_fence_that_comes_too_early_or_too_late_orders_nothing(blocks: int) -> None:
    both = fence("cluster", "%p0"), fence("cluster", "%p1")
    early = both[0], SEND, arrive("relaxed", "cluster"), wait("acquire", "cluster"), RECEIVE
    late = SEND, arrive("release", "cluster"), wait("relaxed", "cluster"), RECEIVE, both[1]
    behind = SEND, arrive("relaxed", "cluster"), both[0], wait("acquire", "cluster"), RECEIVE
    ahead = SEND, arrive("release", "cluster"), both[1], wait("relaxed", "cluster"), RECEIVE
    for body in (early, late, behind, ahead):
        assert rules(*body, blocks=blocks) == {"shared-race"}, body


def test_a_fence_of_another_thread_orders_nothing() -> None:
    others = "setp.eq.u32 %p5, %r0, 33;\n@%p5 fence.acq_rel.cta;"
    assert rules(SEND, arrive("release", "cta"), wait("relaxed", "cta"), others, RECEIVE) == {"shared-race"}


def test_one_fence_acquires_what_several_waits_have_seen() -> None:
    """The waits are at two mbarriers; one waits for a second phase, which implies the first phase."""
    sends = (
        *(SEND, fence("cta", "%p0"), arrive("relaxed", "cta"), wait("relaxed", "cta", who="%p0")),
        *("@%p0 st.shared.u32 [box+4], 78;", fence("cta", "%p0"), arrive("relaxed", "cta", barrier="back")),
        *("@%p0 st.shared.u32 [box+8], 79;", fence("cta", "%p0"), arrive("relaxed", "cta")),
    )
    waits = [wait("relaxed", "cta", barrier=name, parity=parity) for name, parity in (("back", 0), ("bar", 1))]
    reads = [f"@%p1 ld.shared.u32 %r9, [box+{offset}];" for offset in (0, 4, 8)]
    assert rules(*sends, *waits, fence("cta", "%p1"), *reads) == set()
    assert rules(*sends, *waits, *reads) == {"shared-race"}


@pytest.mark.parametrize("blocks", [1, 2])
@pytest.mark.parametrize("scope", [None, *SCOPES])
def test_a_fence_lets_a_relaxed_arrival_at_the_clusters_barrier_release(scope: str | None, blocks: int) -> None:
    meet = "barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;"
    ordered = scope is not None and SCOPES[scope] >= blocks - 1
    assert rules(SEND, fence(scope, "%p0"), meet, RECEIVE, blocks=blocks) == (set() if ordered else {"shared-race"})


def test_a_copy_that_a_relaxed_wait_sees_is_read_behind_a_fence() -> None:
    """Completion of a copy is a release at the mbarrier; the wait acquires it, or a fence after a relaxed wait."""
    copy = (
        "@%p0 mbarrier.arrive.expect_tx.relaxed.cta.shared.b64 _, [bar], 16;\n"
        "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [box], [%rd0], 16, [bar];"
    )
    assert rules(copy, wait("relaxed", "cta"), fence("cta", "%p1"), RECEIVE) == set()
    assert rules(copy, wait("relaxed", "cta"), RECEIVE) == {"read-before-wait"}


MEET = "barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;"
REASONS = {
    "a relaxed arrival": ((arrive("relaxed", "cta"), wait("acquire", "cta")), "the arrive"),
    "a relaxed arrival before a fence": (
        (arrive("relaxed", "cta"), fence("cta", "%p0"), wait("acquire", "cta")),
        "the arrive",
    ),
    "a relaxed wait": ((arrive("release", "cta"), wait("relaxed", "cta")), "the wait"),
    "a relaxed wait after a fence": (
        (fence("cta", "%p1"), arrive("release", "cta"), wait("relaxed", "cta")),
        "the wait",
    ),
    "a cluster barrier": ((MEET,), "the arrive"),
}


@pytest.mark.parametrize(("between", "who"), REASONS.values(), ids=list(REASONS))
def test_a_race_says_which_side_is_relaxed(between: tuple[str, ...], who: str) -> None:
    (race,) = findings(SEND, *between, RECEIVE)
    note = race.notes[0]
    assert note.startswith(f"{who} (line ")
    assert "is .relaxed and no fence of its scope " in note
