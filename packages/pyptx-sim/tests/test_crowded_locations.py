"""All threads access one location: the checker compares them in batches, with the findings of a single batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from pyptx_sim import run
from pyptx_sim.shadow import overflow

from .ptx_text import rules_found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pyptx_sim.findings import Finding

MODULE = """\
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{{
.reg .b32 %r<6>;
.reg .b64 %a;
.shared .align 16 .b8 s[16];
ld.param.u64 %a, [a];
mov.u32 %r1, %tid.x;
{body}
ret;
}}
"""
READ, WRITE = "ld.global.u32 %r2, [%a];\n", "st.global.u32 [%a], %r1;\n"
COPY = "cp.async.ca.shared.global [s], [%a], 4;\ncp.async.commit_group;\n"
POLL, SIGNAL = "ld.acquire.gpu.global.u32 %r2, [%a];\n", "st.release.gpu.global.u32 [%a], 1;\n"
CASES = {
    "shared memory": ("ld.shared.u32 %r2, [s];\nst.shared.u32 [s], %r1;\n", {"shared-race", "lane-race"}),
    "global memory": (READ + WRITE, {"global-race", "lane-race"}),
    "copies": (COPY + "cp.async.wait_group 0;\n" + WRITE, {"early-reuse", "global-race", "lane-race"}),
    "copies without a wait": (COPY + WRITE + "cp.async.wait_group 0;\n", {"early-reuse"}),
    "strong accesses": (POLL + SIGNAL + POLL + SIGNAL, set()),
    "weak reads after strong writes": (POLL + SIGNAL + READ, {"global-race"}),
    "atomics": (POLL + "atom.relaxed.gpu.global.add.u32 %r3, [%a], 1;\n", set()),
}


def found(case: str, seed: int) -> list[Finding]:
    """Return the findings of a kernel body that 128 threads in 2 CTAs run."""
    result = run(MODULE.format(body=CASES[case][0]), grid=2, block=64, args=[np.zeros(4, np.uint32)], seed=seed)
    return list(result.findings)


@pytest.mark.parametrize("seed", [0, 1, 5])
@pytest.mark.parametrize("case", CASES)
def test_the_size_of_the_parts_changes_no_finding(case: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = found(case, seed)
    assert rules_found(whole) >= CASES[case][1]
    assert bool(whole) == bool(CASES[case][1])
    monkeypatch.setattr(overflow, "_PART", 50)
    assert found(case, seed) == whole


@pytest.mark.parametrize(
    "body", [WRITE, READ + WRITE, READ + WRITE + READ], ids=["write", "read, write", "read, write, read"]
)
def test_the_accesses_of_a_warp_are_compared_together(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store by all threads is a common error: its time grows with the number of warps squared, not of threads."""
    pairs: list[int] = []
    find = overflow.Overflow.find_in_parts

    def counted(
        self: overflow.Overflow, at: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        for which, entries in find(self, at):
            pairs.append(len(which))
            yield which, entries

    monkeypatch.setattr(overflow.Overflow, "find_in_parts", counted)
    blocks, threads = 80, 256
    result = run(MODULE.format(body=body), grid=blocks, block=threads, args=[np.zeros(4, np.uint32)])
    warps = blocks * threads // 32
    assert rules_found(result.findings) == {"global-race", "lane-race"}
    assert 0 < sum(pairs) < 8 * warps**2
