"""Asynchronous stores and reductions to global memory that release the earlier accesses of their thread."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx_sim import run

from .ptx_text import module

pytestmark = pytest.mark.hopper

# CTA 0 writes a word and then a flag. CTA 1 polls the flag, reads the word and stores it to the array `seen`.
MESSAGE = """
ld.param.u64 %rd2, [seen];
mov.u32 %r1, %ctaid.x;
mov.u32 %r5, 3;
setp.eq.u32 %p0, %r1, 0;
@!%p0 bra READ;
st.global.u32 [%rd0], 42;
{release} [%rd0+4], %r5;
ret;
READ:
ld.acquire.gpu.global.u32 %r2, [%rd0+4];
setp.ne.u32 %p1, %r2, 3;
@%p1 bra READ;
ld.global.u32 %r3, [%rd0];
st.global.u32 [%rd2], %r3;
"""
RELEASES = (
    "st.async.release.gpu.global.u32",
    "st.async.release.sys.u32",
    "st.async.mmio.release.sys.global.b32",
    "red.async.release.gpu.global.add.u32",
    "red.async.mmio.release.sys.add.u32",
    "multimem.st.async.release.gpu.global.u32",
    "multimem.red.async.release.sys.global.add.u32",
)


def sent(release: str, seed: int) -> tuple[int, list[str]]:
    """Return the word that CTA 1 has read, and the rules of the findings."""
    body = MESSAGE.format(release=release)
    text = module(body, ".param .u64 out, .param .u64 seen", target="sm_100a").replace(".version 8.8", ".version 9.3")
    seen = np.zeros(1, np.uint32)
    result = run(text, grid=2, block=1, args=[np.zeros(2, np.uint32), seen], seed=seed)
    return int(seen[0]), [finding.rule for finding in result.findings]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("seed", range(5))
def test_what_was_written_before_is_seen_behind_the_flag(release: str, seed: int) -> None:
    assert sent(release, seed) == (42, [])


def test_a_store_that_releases_nothing_is_found() -> None:
    found = {rule for seed in range(5) for rule in sent("st.relaxed.gpu.global.u32", seed)[1]}
    assert found == {"global-race"}
