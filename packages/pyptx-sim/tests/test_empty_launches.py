"""Grids without CTAs: nothing runs if an array is empty; otherwise the launch is an error, as in CUDA."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import pyptx_sim
from pyptx_sim import Launch, Memory, Uninitialized, explore, run
from pyptx_sim.errors import LaunchError

from .ptx_text import execute, module

FILL = module("st.global.u32 [%rd1], %r0;")
GUARDED = """
ld.param.u32 %r2, [count];
setp.lt.u32 %p1, %r0, %r2;
@%p1 st.global.u32 [%rd1], %r0;
"""


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.float16])
def test_an_empty_array_is_an_argument_like_others(shape: tuple[int, ...], dtype: Any) -> None:
    empty = np.zeros(shape, dtype)
    parameters = ".param .u64 out, .param .u32 count"
    for given in (empty, Uninitialized(empty), Memory().put(empty), np.zeros(8, dtype)[4:4]):
        assert execute(GUARDED, given, 0, parameters=parameters).clean
        (finding,) = execute(GUARDED, given, 1, parameters=parameters).findings
        assert finding.rule == "out-of-bounds"
        assert "0 bytes after " in finding.message
        assert "(0 bytes)" in finding.message


@pytest.mark.parametrize("grid", [0, (0,), (4, 0), (0, 1, 1), (2, 3, 0)])
def test_a_grid_of_no_blocks_runs_nothing_if_an_array_is_empty(grid: Any) -> None:
    kept = np.full(4, 7, np.uint32)
    for empty in (np.zeros(0, np.uint32), np.zeros((3, 0), np.uint32), Memory().put(np.zeros(0, np.uint32))):
        for arguments in ([empty], [(empty, np.int32(3))], [{"x": kept, "y": empty}], [kept, empty]):
            result = run(FILL, grid=grid, block=32, args=arguments)
            assert (result.findings, result.statistics.ctas, result.statistics.instructions) == ((), 0, 0)
    found = explore(FILL, grid=grid, block=32, args=[np.zeros(0, np.uint32)], seeds=range(2))
    assert found.clean
    assert kept.tolist() == [7] * 4


@pytest.mark.parametrize("arguments", [[np.zeros(4, np.uint32)], [], [3], [(np.zeros(4, np.uint32), np.int32(0))]])
def test_any_other_grid_of_no_blocks_is_cudas_error(arguments: list[Any]) -> None:
    for grid in (0, (4, 0), (0, 1, 1)):
        with pytest.raises(LaunchError, match=r"grid must be .*0"):
            run(FILL, grid=grid, block=32, args=arguments)
    for grid in (-1, (0, -1)):
        with pytest.raises(LaunchError, match=r"grid must be .*-1"):
            run(FILL, grid=grid, block=32, args=[np.zeros(0, np.uint32)])
    with pytest.raises(LaunchError, match=r"block must be .*, got 0"):
        run(FILL, grid=1, block=0, args=[np.zeros(0, np.uint32)])


def test_a_launch_of_nothing_among_others_leaves_them_as_they_are() -> None:
    out, empty = np.zeros(32, np.uint32), np.zeros(0, np.uint32)
    nothing, some = Launch(grid=0, block=32, args=[empty]), Launch(grid=1, block=32, args=[out])
    for launches in ([nothing, some], [some, nothing], [nothing, some, nothing]):
        out[:] = 0
        assert run(FILL, launches).statistics.ctas == 1
        assert out.tolist() == list(range(32))
    assert run(FILL, [nothing, nothing]).statistics.ctas == 0


def test_readers_are_reached_without_an_import_of_their_own() -> None:
    program = "import pyptx_sim, sys; print('numpy' in sys.modules, pyptx_sim.readers.from_triton.__name__)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "from_triton"]
    assert "readers" in dir(pyptx_sim)
