"""Layouts end to end: a kernel that loads, multiplies and stores fragments is correct for every size, without findings.

`PYPTX_KERNELS=all` runs every size with both numerics; by default, each size runs with one of the two numerics,
alternately.
"""

from __future__ import annotations

from itertools import cycle, product

import ml_dtypes
import numpy as np
import pytest
from tools.shares import full

from .matrix_kernels import gemm

pytestmark = pytest.mark.scaled

SIZES = [(64, 64, 16), (16, 8, 16), (1, 1, 1), (65, 63, 17), (33, 130, 50), (130, 7, 95)]
NUMERICS = ("fast", "exact")
CASES = full(list(product(SIZES, NUMERICS)), default=list(zip(SIZES, cycle(NUMERICS), strict=False)))


def inputs(m, n, k):
    random = np.random.default_rng(m * n + k)
    a, b = random.standard_normal((m, k)), random.standard_normal((k, n))
    return a.astype(ml_dtypes.bfloat16), b.astype(ml_dtypes.bfloat16)


def bound(a, b):
    """Error bound for a sequence of f32 additions: see `fast_float`."""
    steps = a.shape[1] + 16
    return steps * 2.0**-23 * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64))


@pytest.mark.parametrize(("size", "numerics"), CASES, ids=str)
@pytest.mark.long
def test_a_product_of_any_size_is_right_and_clean(size, numerics):
    m, n, k = size
    a, b = inputs(m, n, k)
    result = gemm.simulate(a, b, numerics=numerics, seed=m)
    assert result.findings == ()
    (c,) = result.outputs
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert (np.abs(c - exact) <= bound(a, b) * (1 if numerics == "fast" else 2)).all()


def test_exact_sums_differ_from_fast_ones_in_their_last_bits():
    a, b = inputs(64, 64, 256)
    fast, exact = (gemm.simulate(a, b, checks="none", numerics=each).outputs[0] for each in ("fast", "exact"))
    assert np.count_nonzero(fast != exact) > 0
    np.testing.assert_allclose(fast, exact, rtol=0, atol=float(bound(a, b).max()))


def test_unknown_numerics_are_refused():
    a, b = inputs(16, 8, 16)
    with pytest.raises(Exception, match="fast or exact"):
        gemm.simulate(a, b, numerics="precise")


@pytest.mark.ptxas
def test_the_kernel_assembles_without_spills():
    resources = gemm.resources(M=64, N=64, K=64)
    assert resources.spill_stores == resources.spill_loads == 0
