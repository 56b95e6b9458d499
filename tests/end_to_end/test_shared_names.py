"""Allocations in dynamic shared memory keep their names: in findings, timelines and resources."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pyptx import Kernel, Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32

if TYPE_CHECKING:
    from pathlib import Path

STATIC, DYNAMIC = 1024, 16 * 1024
"""Sizes (elements) of an allocation that fits static shared memory, and of one that needs dynamic shared memory."""


def racing(size: int) -> Kernel[tuple[Tile]]:
    """Return a kernel with a data race in an allocation that follows one of `size` elements."""

    @kernel(in_specs=(Tile(64, f32),), out_specs=(Tile(64, f32),), grid=1, block=(64, 1, 1))
    def k(X, Y):
        _, y = ptx.global_ptrs(X, Y)
        smem.alloc(f32, (size,), name="tiles")
        row = smem.alloc(f32, (1, 64), name="row")
        thread = reg.from_(ptx.special.tid.x(), u32)
        row[0, thread] = 1.0
        value = row[0, thread ^ 32]
        ptx.st(f32, ptx.addr(y + thread * 4), value)
        ptx.ret()

    return k


@pytest.mark.parametrize("size", [STATIC, DYNAMIC])
def test_a_finding_names_the_allocation(size: int) -> None:
    report = racing(size).simulate(np.zeros(64, np.float32))
    text = "\n".join(map(str, report.findings))
    assert report.findings
    assert "row+" in text
    assert "dyn_smem" not in text


@pytest.mark.parametrize("size", [STATIC, DYNAMIC])
def test_a_deadlock_names_the_barrier(size: int) -> None:
    @kernel(in_specs=(Tile(1, f32),), grid=1, block=(32, 1, 1), arch="sm_90a")
    def waits(X):
        ptx.global_ptrs(X)
        smem.alloc(f32, (size,), name="tiles")
        empty = smem.mbarrier(3, "empty")
        ptx.mbarrier.init(empty[1], 1)
        ptx.bar.sync(0)
        ptx.mbarrier.wait(empty[1], 0)
        ptx.ret()

    report = waits.simulate(np.zeros(1, np.float32))
    text = "\n".join(map(str, report.findings))
    assert "mbarrier empty+8" in text


@pytest.mark.parametrize("size", [STATIC, DYNAMIC])
def test_a_timeline_names_the_barrier(size: int, tmp_path: Path) -> None:
    @kernel(in_specs=(Tile(1, f32),), grid=1, block=(32, 1, 1), arch="sm_90a")
    def passes(X):
        ptx.global_ptrs(X)
        smem.alloc(f32, (size,), name="tiles")
        full = smem.mbarrier(2, "full")
        ptx.mbarrier.init(full[1], 32)
        ptx.bar.sync(0)
        ptx.mbarrier.arrive(full[1])
        ptx.mbarrier.wait(full[1], 0)
        ptx.ret()

    file = tmp_path / "run.json"
    passes.simulate(np.zeros(1, np.float32), trace=file)
    text = json.dumps(json.loads(file.read_text(encoding="utf-8")))
    assert "full+8" in text


@pytest.mark.ptxas
@pytest.mark.parametrize("size", [STATIC, DYNAMIC])
def test_resources_count_all_shared_memory(size: int) -> None:
    assert racing(size).resources().shared == size * 4 + 256
