"""Grouped GEMM for Hopper: for any groups, each row is multiplied by its group's weights and written once.

`PYPTX_KERNELS=all` runs the whole matrix of groups and schedules; the default is a small share.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from tools.sass_loops import loops, main_loop
from tools.shares import full

from pyptx_sim.errors import LaunchError

from .misplaced import misplaced

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

pytestmark = [pytest.mark.scaled, pytest.mark.hopper]

SCHEDULES: tuple[Mapping[str, Any], ...] = ({}, {"seed": 1}, {"delay_async": True}, {"seed": 2, "delay_async": True})
# Rows of each group, K, N, and build options: empty groups at both ends, one row, whole tiles, whole tiles plus one
# row.
SMALL = {"block_n": 64, "stages": 3, "blocks": 3, "band": 2}
RUNS = (
    ((0, 130, 0, 7, 0), 136, 72, SMALL),
    ((130, 0, 7, 200), 200, 264, {}),
    ((1,), 8, 8, {}),
    ((128, 256, 129), 64, 256, {}),
    ((5, 128, 129, 0, 0, 300, 1), 72, 136, SMALL),
    ((0, 0, 64, 65, 63), 264, 200, {**SMALL, "block_m": 64, "block_n": 128}),
    ((70, 3, 300), 136, 200, {**SMALL, "block_n": 128, "blocks": 4}),
    ((300, 0, 513), 72, 136, {**SMALL, "block_m": 64, "block_n": 128, "blocks": 6}),
    ((70, 3), 72, 456, {"block_m": 64, "block_n": 192, "blocks": 2}),
)
CASES = [
    (*run, schedule) for run in full(RUNS, default=(RUNS[0], RUNS[-1])) for schedule in full(SCHEDULES, default=({},))
]
SIZES = {"T": 4096, "K": 2048, "G": 8, "N": 2048}


def build(sizes: Mapping[str, int]) -> Any:
    module = import_module("examples.hopper.grouped_gemm")
    return module.build_grouped_gemm(**sizes) if sizes else module.grouped_gemm


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
    expected = import_module("examples.hopper.grouped_gemm").reference(*inputs)
    result = build(sizes).simulate(*inputs, checks="all", **schedule)
    assert [str(finding) for finding in result.findings] == []
    actual = result.outputs[0].astype(np.float64)
    assert (np.abs(actual - expected) <= 2.0**-8 * np.abs(expected) + 2.0**-14 * np.abs(expected).max()).all()


def test_what_is_no_number_in_one_group_stays_there() -> None:
    """NaN and inf stay in their group, although tiles extend into rows of the next group and past the last K."""
    rows, n = (3, 70, 5), 72
    x, w, ends = draw(rows, 72, n)
    x[3:73], w[1] = np.nan, np.inf
    result = build(SMALL)(x, w, ends)
    own = np.r_[0:3, 73:78]
    expected = import_module("examples.hopper.grouped_gemm").reference(x[own], w[[0, 2]], np.array([3, 8]))
    np.testing.assert_allclose(result[own].astype(np.float64), expected, rtol=2.0**-8, atol=1e-2)
    assert np.isnan(result[3:73].astype(np.float64)).all()


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ({"block_m": 192}, "block_m=192: one consumer or two"),
        ({"block_n": 72}, "block_n=72: multiples of 64 up to 256"),
        ({"stages": 1}, "stages=1: two or more"),
        ({"band": 0}, "band=0: use blocks >= 1 and band >= 1"),
    ],
)
def test_a_cut_that_the_kernel_cannot_make_is_refused(sizes: Mapping[str, int], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        build(sizes)


def test_a_result_that_copies_cannot_reach_is_refused() -> None:
    with pytest.raises(LaunchError, match=r"out= for y: address .* is not aligned"):
        build(SMALL)(*draw((3, 5), 72, 72), out=misplaced(np.zeros((8, 72), ml_dtypes.bfloat16)))


def test_the_text_does_not_grow_with_the_problem() -> None:
    texts = [build({}).ptx(**{**SIZES, **more}) for more in ({}, {"G": 64}, {"T": 65536}, {"K": 8192}, {"N": 8192})]
    assert len({text.count("\n") for text in texts}) == 1


@pytest.mark.ptxas
def test_registers_suffice_and_ptxas_has_no_advice() -> None:
    resources = build({}).resources(**SIZES)  # pytest turns warnings of ptxas into errors
    assert resources.spill_stores == resources.spill_loads == resources.stack == 0


@pytest.mark.ptxas
def test_the_main_loop_is_what_the_hand_sees() -> None:
    sass = build({}).sass(**SIZES)
    products = main_loop(sass)
    assert products is not None
    copies = min((loop for loop in loops(sass) if loop.histogram["UTMALDG"]), key=lambda loop: len(loop.opcodes))
    assert products.histogram["HGMMA"] == 4
    assert copies.histogram["UTMALDG"] == 5
    assert "UTMASTG" in sass  # TMA stores whole tiles of C, lanes store partial tiles
    assert "UBLKCP" not in sass
    touching = {"LDG", "STG", "LDS", "STS", "LDL", "STL", "BAR", "MEMBAR"}
    assert not touching & (products.histogram.keys() | copies.histogram.keys())
    assert max(len(products.opcodes), len(copies.opcodes)) <= 65
