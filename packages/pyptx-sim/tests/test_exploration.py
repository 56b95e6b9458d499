"""Exploration of many schedules of a kernel: findings by schedule, in this process and in workers."""

from __future__ import annotations

from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pyptx_ir.syntax import parse
from pyptx_sim import Exploration, Result, Schedule, Uninitialized, explore, run
from pyptx_sim.errors import KernelTrap, LaunchError, ProgramError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_sim.findings import Finding
    from pyptx_sim.operation import Array
    from pyptx_sim.workers import Workers

# Warp 0 writes a word and warp 1 reads it, without a barrier; the output shows which access came first.
HEAD = """.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
.reg .pred %p<4>;
.reg .b32 %r<9>;
.reg .b64 %rd<4>;
.shared .b32 s[1];
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x;
setp.eq.u32 %p1, %r1, 0;
setp.eq.u32 %p2, %r1, 32;
mov.u32 %r2, 0;
@%p1 st.shared.u32 [s], 0;
bar.sync 0;
"""
RACY = f"{HEAD}@%p1 st.shared.u32 [s], 7;\n@%p2 ld.shared.u32 %r2, [s];\n@%p2 st.global.u32 [%rd1+8], %r2;\nret;\n}}\n"
TRAPPING = RACY.replace("ret;\n", "setp.eq.and.u32 %p3, %r2, 0, %p2;\n@%p3 trap;\nret;\n")
SEEDS = range(6)


def explored(text: str, out: Array, workers: Workers = 1) -> Exploration:
    return explore(text, grid=1, block=64, args=[out], seeds=SEEDS, workers=workers)


def pairs(result: object) -> set[frozenset[int | None]]:
    return {pair(finding) for finding in result.findings} if isinstance(result, Result) else set()


def pair(finding: Finding) -> frozenset[int | None]:
    return frozenset((finding.line, finding.other_line))


@contextmanager
def dask() -> Iterator[Executor]:
    import distributed

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client.get_executor()


@contextmanager
def processes() -> Iterator[int]:
    yield 2


POOLS = {
    "processes": processes,
    "an executor of processes": lambda: ProcessPoolExecutor(2, get_context("spawn")),
    "an executor of threads": lambda: ThreadPoolExecutor(1),
    "a local cluster of Dask": dask,
}


def test_every_schedule_is_as_a_run_of_it() -> None:
    found = explored(RACY, np.zeros(4, np.uint32))
    assert list(found.results) == [Schedule(seed, late) for seed in SEEDS for late in (False, True)]
    for schedule, result in found.results.items():
        alone = run(
            RACY, grid=1, block=64, args=[np.zeros(4, np.uint32)], seed=schedule.seed, delay_async=schedule.delay_async
        )
        assert result == alone
    assert {shown.finding.rule for shown in found.findings} == {"shared-race"}
    for shown in found.findings:
        showing = [each for each, result in found.results.items() if pair(shown.finding) in pairs(result)]
        assert set(shown.schedules) == set(showing)
        assert f"found with {shown.schedules[0]}" in found.text
    assert {each for shown in found.findings for each in shown.schedules} == set(found.results)


@pytest.mark.parametrize("pool", POOLS.values(), ids=list(POOLS))
@pytest.mark.long
def test_workers_give_the_same_results_in_the_same_order(pool: object) -> None:
    here, there = np.zeros((2, 4), np.uint32)
    expected = explored(RACY, here)
    with pool() as workers:  # type: ignore[operator] # each makes a context of its own kind
        found = explored(RACY, there, workers)
    assert found == expected
    assert str(found) == str(expected)
    np.testing.assert_array_equal(there, here)


def test_arrays_hold_what_the_first_schedule_leaves() -> None:
    wide = np.arange(12, dtype=np.uint32)
    expected = wide.copy()
    for array in (wide[:7:2], expected[:7:2]):  # strided view of an array; the kernel writes the skipped elements, too
        assert not array.flags.c_contiguous
    run(RACY, grid=1, block=64, args=[expected[:7:2]], seed=3)
    explore(RACY, grid=1, block=64, args=[wide[:7:2]], seeds=(3, 0), delay_async=(False,))
    np.testing.assert_array_equal(wide, expected)
    assert (wide != np.arange(12)).any()


def test_an_error_is_told_of_the_schedule_that_it_ends() -> None:
    found = explored(TRAPPING, np.zeros(4, np.uint32))
    assert 0 < len(found.errors) < len(found.results)
    assert all(isinstance(error, KernelTrap) for error in found.errors.values())
    assert not found.clean
    with ThreadPoolExecutor(1) as workers:
        again = explored(TRAPPING, np.zeros(4, np.uint32), workers)
    assert {each: str(error) for each, error in again.errors.items()} == {
        each: str(error) for each, error in found.errors.items()
    }


def test_a_clean_kernel_is_clean_under_every_schedule() -> None:
    text = RACY.replace("@%p2 ld.shared", "bar.sync 0;\n@%p2 ld.shared")
    module = parse(text)
    found = explore(module, grid=1, block=64, args=[Uninitialized(np.zeros(4, np.uint32))], seeds=SEEDS)
    assert found.clean, str(found)
    assert str(found) == "k: no findings: 12 schedules"


def test_what_no_schedule_can_run_is_refused() -> None:
    out = np.zeros(8, np.uint32)
    with pytest.raises(LaunchError, match="no schedule"):
        explore(RACY, grid=1, block=64, args=[out], seeds=())
    with pytest.raises(ProgramError):
        explore(RACY, entry="other", grid=1, block=64, args=[out], seeds=(0,))
