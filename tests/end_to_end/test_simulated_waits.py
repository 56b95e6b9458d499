"""Every form of `ptx.mbarrier.wait` waits: stores before the arrivals are visible after it, without findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import pred, u32
from pyptx_dsl.instructions.groups.wait_forms import FORMS

if TYPE_CHECKING:
    from pyptx_dsl.kernels.kernel import Kernel

THREADS = 64


def mirrored(form: str | None, *, uniform: bool) -> Kernel[tuple[Tile]]:
    """Return a kernel in which each thread stores a word, waits at an mbarrier, and loads a word of the other warp."""

    @kernel(out_specs=(Tile(THREADS, u32),), grid=1, block=THREADS, arch="sm_90a")
    def k(Y: object) -> None:
        (py,) = ptx.global_ptrs(Y)
        line, full, tid = smem.alloc(u32, THREADS), smem.mbarrier(1), reg.from_("%tid.x", u32)
        answer, failed = reg.scalar(u32), reg.scalar(pred)
        with ptx.if_(tid == 0):
            ptx.mbarrier.init(full[0], THREADS)
        ptx.bar.sync(0)
        line[tid] = tid
        ptx.mbarrier.arrive(full[0])
        takes = {
            "poll": {"result": answer},
            "poll_retry": {"result": answer, "failed": failed},
            "skip": {"pred": tid == tid},
        }
        if form == "poll":
            with ptx.loop(pred=lambda: answer == 0):
                ptx.mbarrier.wait(full[0], 0, form=form, uniform=uniform, **takes[form])
        elif form is not None:
            ptx.mbarrier.wait(full[0], 0, form=form, uniform=uniform, **takes.get(form, {}))
        ptx.inst.st.global_.u32(ptx.addr(py + tid * 4), line[(THREADS - 1) - tid])

    return k


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_each_form_waits_for_the_arrivals_of_all(form: str, *, uniform: bool) -> None:
    for seed in range(2):
        report = mirrored(form, uniform=uniform).simulate(checks="all", seed=seed)
        assert not report.findings, report.findings
        np.testing.assert_array_equal(report.outputs[0], np.arange(THREADS)[::-1])


def test_without_a_wait_the_simulator_finds_the_race() -> None:
    report = mirrored(None, uniform=False).simulate(checks="all", seed=0)
    assert {finding.rule for finding in report.findings} == {"shared-race"}
