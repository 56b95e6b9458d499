"""`resident_blocks`: the number of CTAs that are resident at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx_sim import Launch, run
from pyptx_sim.errors import Deadlock, LaunchError

from .ptx_text import execute, module

# Kernel: each CTA stores its index.
NUMBERED = """
mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r0, 0;
mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd2, %rd0;
@!%p1 st.global.u32 [%rd2], %r1;
"""


def waves(blocks: int, **options: Any) -> int:
    """Run `blocks` CTAs, assert that each of them ran, and return the number of waves (CTAs that run together)."""
    out = np.full(blocks, 999, np.uint32)
    result = execute(NUMBERED, out, grid=blocks, **options)
    assert result.findings == ()
    assert (out == np.arange(blocks)).all()
    return result.statistics.waves


@pytest.mark.parametrize("schedule", [{}, {"seed": 1}, {"delay_async": True}], ids=str)
@pytest.mark.parametrize(("room", "expected"), [(1, 10), (3, 4), (9, 2), (10, 1), (1000, 1), (np.int64(5), 2)])
def test_as_many_run_at_once_as_have_room(room: int, expected: int, schedule: dict[str, Any]) -> None:
    assert waves(10, resident_blocks=room, **schedule) == expected


def test_more_may_be_resident_than_the_simulator_runs_together_by_itself() -> None:
    assert (waves(600), waves(600, resident_blocks=600)) == (3, 1)


def test_clusters_are_resident_whole() -> None:
    assert waves(12, cluster=2, resident_blocks=5) == 3


def test_each_launch_says_it_for_itself() -> None:
    out = np.zeros(8, np.uint32)
    launches = [Launch(grid=8, block=32, args=[out], resident_blocks=room) for room in (1, 4, None)]
    result = run(module(NUMBERED), launches)
    assert result.clean
    assert result.statistics.waves == 8 + 2 + 1


@pytest.mark.parametrize("room", [0, -3, True, 2.0])
def test_a_room_that_is_no_number_of_blocks_is_refused(room: Any) -> None:
    with pytest.raises(LaunchError, match="resident_blocks must be"):
        waves(10, resident_blocks=room)


@pytest.mark.parametrize("grid", [4.0, (2.0, 1), (), (1, 1, 1, 1), "4"])
def test_a_grid_that_is_no_number_of_blocks_is_refused(grid: Any) -> None:
    """A usual mistake: grid=n / 128, which is a float."""
    with pytest.raises(LaunchError, match="grid must be"):
        execute(NUMBERED, np.zeros(4, np.uint32), grid=grid)


@pytest.mark.parametrize(
    ("options", "least"), [({"cluster": 4, "resident_blocks": 3}, 4), ({"cooperative": True, "resident_blocks": 7}, 8)]
)
def test_what_has_to_be_resident_at_once_and_has_no_room_is_refused(options: dict[str, Any], least: int) -> None:
    with pytest.raises(LaunchError, match=rf"of {least} CTAs, but resident_blocks={least - 1}"):
        waves(8, **options)
    assert waves(8, **{**options, "resident_blocks": least}) == 8 // least


# Kernel: CTA 0 waits for a word that the last CTA writes.
WAITING = """
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; sub.u32 %r2, %r2, 1;
setp.ne.u32 %p1, %r1, 0; setp.ne.u32 %p2, %r1, %r2;
@!%p2 st.release.gpu.global.u32 [%rd0], 7;
@%p1 bra DONE;
AGAIN: ld.acquire.gpu.global.u32 %r3, [%rd0]; setp.eq.u32 %p3, %r3, 0; @%p3 bra AGAIN;
DONE:
"""
# Kernel with a grid barrier: every CTA waits until all CTAs have arrived.
MEETING = """
mov.u32 %r2, %nctaid.x; atom.add.acq_rel.gpu.global.u32 %r1, [%rd0], 1;
AGAIN: ld.acquire.gpu.global.u32 %r3, [%rd0]; setp.lt.u32 %p3, %r3, %r2; @%p3 bra AGAIN;
"""


def rules(body: str, blocks: int, block: int = 1, **options: Any) -> set[str]:
    """Run `blocks` CTAs; return the rules of the findings."""
    found = execute(body, np.zeros(1, np.uint32), grid=blocks, block=block, **options).findings
    return {finding.rule for finding in found}


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("room", [None, 2, 3])
def test_blocks_that_wait_for_others_without_room_run_with_them(room: int | None, seed: int) -> None:
    """On a GPU the next CTA starts as soon as one has exited, so the kernel makes progress."""
    assert rules(WAITING, 4, resident_blocks=room, seed=seed) == set()


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("body", "room"), [(WAITING, 1), (MEETING, 1), (MEETING, 3)])
def test_blocks_of_which_none_ends_wait_for_ever(body: str, room: int, seed: int) -> None:
    """The resident CTAs wait for a CTA that can start only after one of them exits."""
    assert rules(body, 4, resident_blocks=room, seed=seed) == {"deadlock"}
    assert rules(body, 4, resident_blocks=4, seed=seed) == set()


def test_who_waits_for_what_never_comes_is_found_among_more_blocks_than_a_gpu_holds() -> None:
    """The number of warps that are resident at once is not a multiple of the 5 warps of a CTA."""
    body = "AGAIN: ld.acquire.gpu.global.u32 %r3, [%rd0]; setp.eq.u32 %p3, %r3, 0; @%p3 bra AGAIN;"
    with pytest.raises(Deadlock):
        execute(body, np.zeros(1, np.uint32), grid=1700, block=160, checks="none")
