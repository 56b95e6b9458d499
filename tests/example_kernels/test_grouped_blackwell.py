"""Grouped GEMM of examples/blackwell: each row is multiplied by its group's weights and written once."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from tools.sass_loops import loops
from tools.shares import full

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

pytestmark = [pytest.mark.scaled, pytest.mark.blackwell, pytest.mark.hopper]

SCHEDULES: tuple[Mapping[str, Any], ...] = ({}, {"seed": 1}, {"delay_async": True}, {"seed": 2, "delay_async": True})
SMALL = {"block_n": 128, "stages": 3, "blocks": 4, "band": 2}
# Rows of each group, K, N, and build options: empty groups at both ends, one row, whole tiles, whole tiles plus one
# row.
RUNS = (
    ((0, 130, 0, 7, 0), 136, 72, SMALL),
    ((130, 0, 7, 300), 200, 264, {}),
    ((1,), 8, 8, {}),
    ((256, 512, 257), 64, 256, {"blocks": 2}),
    ((5, 128, 129, 0, 0, 300, 1), 72, 136, SMALL),
    ((0, 0, 32, 33, 31, 64), 136, 200, {**SMALL, "block_n": 256, "stages": 2}),
)
CASES = [
    (*run, schedule) for run in full(RUNS, default=RUNS[:1]) for schedule in full(SCHEDULES, default=SCHEDULES[1:2])
]
SIZES = {"T": 4096, "K": 2048, "G": 8, "N": 2048}


def module() -> Any:
    return import_module("examples.blackwell.grouped_gemm_blackwell")


def draw(rows: Sequence[int], k: int, n: int) -> tuple[np.ndarray[Any, Any], ...]:
    rng, ends = np.random.default_rng(0), np.cumsum(rows, dtype=np.int32)
    shapes = ((int(ends[-1]), k), (len(rows), k, n))
    x, w = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in shapes)
    return x, w, ends


@pytest.mark.parametrize(("rows", "k", "n", "sizes", "schedule"), CASES)
def test_groups_equal_their_float64_reference_and_give_nothing_to_find(
    rows: Sequence[int], k: int, n: int, sizes: Mapping[str, int], schedule: Mapping[str, Any]
) -> None:
    inputs = draw(rows, k, n)
    expected = module().reference(*inputs)
    result = module().build_grouped_gemm(**sizes).simulate(*inputs, checks="all", **schedule)
    assert [str(finding) for finding in result.findings] == []
    actual = result.outputs[0].astype(np.float64)
    assert (np.abs(actual - expected) <= 2.0**-8 * np.abs(expected) + 2.0**-14 * np.abs(expected).max()).all()


def test_what_is_no_number_in_one_group_stays_there() -> None:
    """NaN and inf stay in their group, although tiles extend into rows of the next group and past the last K."""
    x, w, ends = draw((3, 70, 5), 72, 72)
    x[3:73], w[1] = np.nan, np.inf
    result = module().build_grouped_gemm(**SMALL)(x, w, ends)
    own = np.r_[0:3, 73:78]
    expected = module().reference(x[own], w[[0, 2]], np.array([3, 8]))
    np.testing.assert_allclose(result[own].astype(np.float64), expected, rtol=2.0**-8, atol=1e-2)
    assert np.isnan(result[3:73].astype(np.float64)).all()


def test_the_text_does_not_grow_with_the_problem() -> None:
    texts = [
        module().grouped_gemm.ptx(**{**SIZES, **more})
        for more in ({}, {"G": 64}, {"T": 65536}, {"K": 8192}, {"N": 8192})
    ]
    assert len({text.count("\n") for text in texts}) == 1


@pytest.mark.ptxas
def test_registers_suffice_and_the_loop_only_multiplies() -> None:
    kernel = module().grouped_gemm
    resources = kernel.resources(**SIZES)  # pytest turns ptxas advisories, which are warnings, into errors
    assert resources.spill_stores == resources.spill_loads == resources.stack == 0
    multiplying = [each.histogram for each in loops(kernel.sass(**SIZES)) if each.histogram["UTCHMMA"]]
    inner = min(multiplying, key=lambda histogram: sum(histogram.values()))
    assert inner["UTCHMMA"] == 4
    assert not {"LDG", "STG", "LDS", "STS", "LDL", "STL", "LDTM", "BAR"} & inner.keys()
