"""Attention gradients with five MMAs per step: correct and without findings, in any order of accumulation.

`PYPTX_KERNELS=all` runs the whole matrix of shapes and schedules; the default is a small share.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from tools.sass_loops import main_loop
from tools.shares import full

from .attention_problems import BF16, F32, Sizes, assert_close, magnitudes, problems

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = [pytest.mark.scaled, pytest.mark.hopper]

SCHEDULES: tuple[Mapping[str, Any], ...] = ({}, {"seed": 1}, {"delay_async": True}, {"seed": 3, "delay_async": True})
# Shapes: keys for at most one loop step; partial tiles; queries without keys; several CTAs that add to a query's dQ.
SHAPES = ((1, 1, 1, 1, 1), (2, 130, 300, 4, 2), (1, 300, 130, 3, 1), (1, 40, 520, 2, 1), (1, 256, 384, 2, 2))
SIZES = full(problems(*SHAPES), default=[Sizes(64, 1, 140, 200, 2, 1, causal=True), Sizes(128, 1, 70, 140, 1, 1)])
LARGE = {"B": 2, "Sq": 4096, "Skv": 4096, "Hq": 16, "Hkv": 16, "T": 64}
each_schedule = pytest.mark.parametrize("schedule", full(SCHEDULES, default=SCHEDULES[:1]), ids=str)


def module() -> Any:
    return import_module("examples.hopper.flash_attention_backward_fused")


def inputs_of(sizes: Sizes) -> tuple[np.ndarray[Any, Any], ...]:
    """Return Q, K, V, O, LSE, and the gradients of O and LSE."""
    q, k, v, dout, dsums = sizes.inputs(seed=1)
    out, sums = import_module("examples.hopper.flash_attention").reference(q, k, v, causal=sizes.causal)
    return q, k, v, np.ascontiguousarray(out.astype(ml_dtypes.bfloat16)), sums.astype(np.float32), dout, dsums


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@each_schedule
@pytest.mark.long
def test_gradients_equal_their_float64_reference_and_give_nothing_to_find(
    sizes: Sizes, schedule: Mapping[str, Any]
) -> None:
    q, k, v, out, sums, dout, dsums = inputs_of(sizes)
    begin, fused, finish = (kernels[sizes.head_dim] for kernels in (module().BEGIN, module().FUSED, module().FINISH))
    options = {"checks": "all", **schedule}
    begun = begin.simulate(out, dout, sums, dsums, T=module().steps_of(sizes.queries), **options)
    result = fused.simulate(q, k, v, dout, *begun.outputs, causal=sizes.causal, **options)
    ended = finish.simulate(begun.outputs[1], Sq=sizes.queries, **options)
    assert [str(each) for each in (*begun.findings, *result.findings, *ended.findings)] == []
    expected = module().reference(q, k, v, dout, dsums, causal=sizes.causal)
    bounds = magnitudes(sizes, sizes.inputs(seed=1))[1:]
    for actual, right, bound in zip((*ended.outputs, *result.outputs), expected, bounds, strict=True):
        assert_close(actual, right, (BF16 + F32) * bound)


def test_what_a_sum_is_begins_with_what_was_there() -> None:
    """The kernel adds to its output: after two calls, the values are twice those after one call."""
    sizes = Sizes(64, 1, 64, 64, 1, 1)
    q, k, v, out, sums, dout, dsums = inputs_of(sizes)
    stats, added = module().BEGIN[64](out, dout, sums, dsums, T=2)
    assert not added.any()
    module().FUSED[64](q, k, v, dout, stats, added)
    once = added.copy()
    module().FUSED[64](q, k, v, dout, stats, added)
    np.testing.assert_allclose(added, 2 * once, rtol=1e-6)
    assert once.any()


@pytest.mark.parametrize("head_dim", full([64, 128], default=[64]))
def test_the_text_does_not_grow_with_the_problem(head_dim: int) -> None:
    larger = {**LARGE, "B": 4, "Sq": 16384, "Skv": 8192, "T": 256}
    texts = [module().FUSED[head_dim].ptx(**sizes, causal=True) for sizes in (LARGE, larger)]
    assert texts[0].count("\n") == texts[1].count("\n")


@pytest.mark.ptxas
@pytest.mark.parametrize(
    ("head_dim", "causal"), full([(64, False), (64, True), (128, False), (128, True)], default=[(128, True)])
)
def test_the_main_loop_has_five_products_and_no_advice(head_dim: int, causal: bool) -> None:  # noqa: FBT001 - a parameter of the test
    kernel, keywords = module().FUSED[head_dim], {**LARGE, "causal": causal}
    resources = kernel.resources(**keywords)  # pytest turns ptxas advisories, which are warnings, into errors
    assert resources.spill_stores == resources.spill_loads == resources.stack == 0
    loop = main_loop(kernel.sass(**keywords))
    assert loop is not None
    found = loop.histogram
    # K of the MMAs: the head dimension for S and dP, 64 queries for dV and dK, 128 keys for dQ; 16 per HGMMA.
    assert found["HGMMA"] == 2 * head_dim // 16 + 2 * 64 // 16 + 128 // 16
    assert found["REDG"] == head_dim // 16  # 64 x head_dim / 2 elements of dQ, 128 threads, four elements per REDG
    assert found["STSM"] == 64 // 16
    assert found["BAR"] == 1
    assert not found.keys() & {"LDG", "STG", "LDL", "STL", "ATOMG"}
