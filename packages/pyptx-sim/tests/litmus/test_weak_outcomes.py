"""Seeded schedules show every outcome of these programs that the axioms allow, and none that they forbid."""

from __future__ import annotations

import pytest
from tools.shares import FULL

from pyptx_sim.happens_before.reference.axioms import Outcome, verdicts
from pyptx_sim.happens_before.reference.programs import program

from .kernels import executed

pytestmark = pytest.mark.scaled

SEEDS = 200
SHAPES = {
    "store buffering": "st.relaxed.gpu x; ld.relaxed.gpu y || st.relaxed.gpu y; ld.relaxed.gpu x",
    "store buffering with fence.acq_rel": "st.relaxed.gpu x; fence.acq_rel.gpu; ld.relaxed.gpu y "
    "|| st.relaxed.gpu y; fence.acq_rel.gpu; ld.relaxed.gpu x",
    "message passing": "st.relaxed.gpu x; st.relaxed.gpu y || ld.relaxed.gpu y; ld.relaxed.gpu x",
    "of weak data": "st x; st.relaxed.gpu y || ld.relaxed.gpu y; ld x",
    "load buffering": "ld.relaxed.gpu x; st.relaxed.gpu y || ld.relaxed.gpu y; st.relaxed.gpu x",
    "two writes twice": "st.relaxed.gpu x; st.relaxed.gpu y || st.relaxed.gpu y; st.relaxed.gpu x",
    "independent reads of independent writes": "st.relaxed.gpu x || st.relaxed.gpu y "
    "|| ld.acquire.gpu x; ld.relaxed.gpu y || ld.acquire.gpu y; ld.relaxed.gpu x",
    "weak reads of one location": "st.relaxed.gpu x || ld x; ld x",
    "in one block": "st.relaxed.cta x; ld.relaxed.cta y | st.relaxed.cta y; ld.relaxed.cta x",
    "store buffering of lanes": "st.relaxed.cta x; ld.relaxed.cta y , st.relaxed.cta y; ld.relaxed.cta x",
    "message passing of lanes": "st.relaxed.cta x; st.relaxed.cta y , ld.relaxed.cta y; ld.relaxed.cta x",
    "load buffering of lanes": "ld.relaxed.cta x; st.relaxed.cta y , ld.relaxed.cta y; st.relaxed.cta x",
    "two writes by each of two lanes": "st.relaxed.cta x; st.relaxed.cta y , st.relaxed.cta y; st.relaxed.cta x",
    "released message passing of lanes": "st.relaxed.cta x; st.release.cta y , ld.acquire.cta y; ld.relaxed.cta x",
    "two reads of one location, of lanes": "st.relaxed.cta x , ld.relaxed.cta x; ld.relaxed.cta x",
    "lanes around a warp barrier": "st.relaxed.cta x; bar.warp; ld.relaxed.cta y "
    ", st.relaxed.cta y; bar.warp; ld.relaxed.cta x",
    "store buffering with fence.sc": "st.relaxed.gpu x; fence.sc.gpu; ld.relaxed.gpu y "
    "|| st.relaxed.gpu y; fence.sc.gpu; ld.relaxed.gpu x",
    "released message passing": "st.relaxed.gpu x; st.release.gpu y || ld.acquire.gpu y; ld.relaxed.gpu x",
    "of one location": "st.relaxed.gpu x || ld.relaxed.gpu x; ld.relaxed.gpu x",
    "a read after one's own write": "st.relaxed.gpu x; ld.relaxed.gpu x || st.relaxed.gpu x",
    "a write after one's own read": "ld.relaxed.gpu x; st.relaxed.gpu x || st.relaxed.gpu x",
    "load buffering with fences": "ld.relaxed.gpu x; fence.acq_rel.gpu; st.relaxed.gpu y "
    "|| ld.relaxed.gpu y; fence.acq_rel.gpu; st.relaxed.gpu x",
    "updates": "atom.relaxed.gpu x; ld.relaxed.gpu y || atom.relaxed.gpu y; ld.relaxed.gpu x",
    "two writes, and a read": "st.relaxed.gpu x; st.relaxed.gpu y || st.relaxed.gpu y; ld.relaxed.gpu x",
    "two writes, and a read, with fence.sc": "st.relaxed.gpu x; fence.sc.gpu; st.relaxed.gpu y "
    "|| st.relaxed.gpu y; fence.sc.gpu; ld.relaxed.gpu x",
    "a write behind a message": "st.relaxed.gpu x; st.relaxed.gpu y || ld.relaxed.gpu y; st.relaxed.gpu x",
    "write to read causality": "st.relaxed.gpu x || ld.relaxed.gpu x; st.relaxed.gpu y "
    "|| ld.relaxed.gpu y; ld.relaxed.gpu x",
    "the same, observed": "st.relaxed.gpu x || ld.relaxed.gpu x; fence.acq_rel.gpu; st.relaxed.gpu y "
    "|| ld.acquire.gpu y; ld.relaxed.gpu x",
    "message passing by three threads": "st.relaxed.gpu x; st.release.gpu y || ld.acquire.gpu y; st.release.gpu f "
    "|| ld.acquire.gpu f; ld.relaxed.gpu x",
    "two writes, then a message": "st.relaxed.gpu x; st.relaxed.gpu y || st.relaxed.gpu y; st.relaxed.gpu f "
    "|| ld.relaxed.gpu f; ld.relaxed.gpu x",
    "independent reads of independent writes with fence.sc": "st.relaxed.gpu x || st.relaxed.gpu y "
    "|| ld.relaxed.gpu x; fence.sc.gpu; ld.relaxed.gpu y || ld.relaxed.gpu y; fence.sc.gpu; ld.relaxed.gpu x",
}


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
def test_every_outcome_that_the_axioms_allow_shows_and_no_other(text: str) -> None:
    shape = program(text)
    allowed, shown = verdicts(shape).keys(), set[Outcome]()
    for seed in range(1, SEEDS + 1):
        shown.add(executed(shape, seed=seed).outcome)
        if shown == allowed and not FULL:
            break
    assert shown == allowed
