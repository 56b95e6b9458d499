"""Matrix products of examples/blackwell: right at every edge, with nothing to find; what their loops are made of."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from tools.sass_loops import loops
from tools.shares import full

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = [pytest.mark.scaled, pytest.mark.blackwell, pytest.mark.hopper]

SCHEDULES: tuple[Mapping[str, Any], ...] = ({}, {"seed": 1}, {"seed": 2}, {"late": True}, {"seed": 3, "late": True})
# One tile and less, edges in every dimension, K shorter than a stage and no multiple of it.
SHAPES = {
    "gemm_simple_blackwell": ((136, 72, 136), (1, 8, 8), (128, 128, 64), (260, 264, 200)),
    "gemm_pipelined_blackwell": ((200, 264, 328), (1, 8, 8), (128, 256, 64), (260, 520, 72)),
    "gemm_2sm_blackwell": ((300, 264, 328), (1, 8, 8), (256, 256, 64), (520, 264, 72)),
}
RUNS = [
    (name, shape, schedule)
    for name, shapes in SHAPES.items()
    for shape in full(shapes, default=shapes[:1])
    for schedule in full(SCHEDULES, default=SCHEDULES[:2])
]
EACH = pytest.mark.parametrize("name", SHAPES)


def kernel_of(name: str) -> Any:
    return import_module(f"examples.blackwell.{name}").gemm


@pytest.mark.parametrize(("name", "shape", "schedule"), RUNS, ids=str)
def test_a_product_equals_its_float64_reference_and_gives_nothing_to_find(
    name: str, shape: tuple[int, int, int], schedule: Mapping[str, Any]
) -> None:
    (m, n, k), rng = shape, np.random.default_rng(0)
    a, b = (rng.standard_normal(size).astype(ml_dtypes.bfloat16) for size in ((m, k), (k, n)))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    result = kernel_of(name).simulate(a, b, checks="all", **schedule)
    assert [str(finding) for finding in result.findings] == []
    actual = result.outputs[0].astype(np.float64)
    assert (np.abs(actual - expected) <= 2.0**-8 * np.abs(expected) + 2.0**-14 * np.abs(expected).max()).all()


@EACH
def test_the_text_does_not_grow_with_the_problem(name: str) -> None:
    shapes = ((256, 256, 256), (8192, 8192, 8192), (16, 24, 8192))
    assert len({kernel_of(name).ptx(M=m, N=n, K=k).count("\n") for m, n, k in shapes}) == 1


@EACH
@pytest.mark.ptxas
def test_registers_suffice_and_its_loop_multiplies(name: str) -> None:
    kernel = kernel_of(name)
    resources = kernel.resources(M=4096, N=4096, K=4096)  # an advisory would be a warning, which is an error
    assert resources.spill_stores == resources.spill_loads == resources.stack == 0
    sass = kernel.sass(M=4096, N=4096, K=4096)
    multiplying = [each for each in loops(sass) if any("UTCHMMA" in opcode for opcode in each.opcodes)]
    assert multiplying
    assert min(each.histogram["UTCHMMA"] for each in multiplying) == 4  # of BK = 4 * 16
