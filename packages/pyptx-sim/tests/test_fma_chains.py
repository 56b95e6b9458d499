"""Dot products of `fast` numerics are chains of FMAs in every function of `fma_chains` and on every CPU.

`PYPTX_KERNELS=all` computes matrices of every size up to 264; the default is a share of the sizes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from tools.shares import at_most

try:
    from numpy._core._multiarray_umath import __cpu_features__ as features
except ImportError:  # NumPy 1.26 lacks numpy._core
    from numpy.core._multiarray_umath import __cpu_features__ as features

from pyptx_sim.numerics import fma_chains
from pyptx_sim.numerics.fma_chains import chained, fastest, one_by_one, sparsely_chained

from . import mma_reference

pytestmark = pytest.mark.scaled

CORES = {"Prescott": "SSE3", "Nehalem": "SSE42", "Sandybridge": "AVX", "Haswell": "AVX2", "SkylakeX": "AVX512F"}
"""OpenBLAS kernels for x86, and the CPU feature that each needs."""
FUSED = {"Haswell", "SkylakeX"}
"""OpenBLAS kernels that use FMA instructions."""
SIZES = [*product((8, 16, 24, 64, 72, 128, 200), (8, 16, 40, 64, 256), (4, 8, 16)), (128, 256, 64), (64, 64, 32)]

PROGRAM = """
import hashlib
import numpy as np
from pyptx_sim.numerics.fma_chains import chained, fastest
random, seen = np.random.default_rng(4), hashlib.sha256()
sizes = (64, 24, 16, 3, "f4"), (200, 136, 16, 1, "f4"), (24, 264, 32, 2, "f4"), (16, 8, 16, 5, "f8")
for m, n, k, stack, dtype in sizes:
    a, b = (random.standard_normal((stack, each, k)) * np.exp2(random.integers(-6, 6, k)) for each in (m, n))
    seen.update(chained(a.astype(np.float16).astype(dtype) if dtype == "f4" else a, b.astype(dtype)).tobytes())
print(seen.hexdigest(), fastest("float32").__name__, fastest("float64").__name__, sep="\\n")
"""


def bits(values):
    return np.ascontiguousarray(values).view(f"<u{values.itemsize}")


def drawn(random, *shape):
    """Return bf16 numbers as float32, including subnormal, infinite and very large ones, and NaN."""
    values = (random.standard_normal(shape) * np.exp2(random.integers(-8, 8, shape))).astype(np.float32)
    rare = random.random(shape)
    for limit, value in ((0.001, np.inf), (0.002, -1e38), (0.003, 1e-39), (0.0034, np.nan)):
        values = np.where((rare < limit) & (rare > limit - 0.001), np.float32(value), values)
    return (values.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_chains_of_every_size_and_stride_are_those_of_fmas_one_by_one(dtype):
    random = np.random.default_rng(1)
    with np.errstate(all="ignore"):
        for m, n, k in SIZES if dtype == "float32" else [size for size in SIZES if size[0] * size[1] < 4096]:
            a, b = (drawn(random, 2, each, k).astype(dtype) for each in (m, n))
            wanted = one_by_one(a, b)
            for left, right in (
                (a, b),
                (a.swapaxes(1, 2).copy().swapaxes(1, 2), b.swapaxes(1, 2).copy().swapaxes(1, 2)),
            ):
                found = chained(left, right)
                same = (bits(found) == bits(wanted)) | (np.isnan(found) & np.isnan(wanted))
                assert same.all(), (m, n, k, np.argwhere(~same)[:4])


@pytest.mark.parametrize("k", [8, 32])
def test_chains_do_not_depend_on_where_a_row_and_a_column_lie(k):
    random = np.random.default_rng(5)
    a, b = (drawn(random, each, k) for each in (7, 5))
    with np.errstate(all="ignore"):
        wanted = one_by_one(a, b)
        sizes = product(range(8, 265, 8), repeat=2)
        for m, n in at_most(sizes, 150, turn=k):
            rows, columns = np.arange(m) % len(a), np.arange(n) % len(b)
            found, known = chained(a[rows], b[columns]), wanted[rows][:, columns]
            assert ((bits(found) == bits(known)) | (np.isnan(found) & np.isnan(known))).all(), (m, n)


def test_fmas_one_by_one_are_those_of_exact_fractions():
    random = np.random.default_rng(2)
    a, b = (drawn(random, each, 16) for each in (6, 5))
    a, b = (np.where(np.abs(each) < 1e30, each, 0) for each in (a, b))
    found = one_by_one(a, b)
    for row, column in product(range(6), range(5)):
        pairs = list(zip(a[row].tolist(), b[column].tolist(), strict=True))
        assert found[row, column] == mma_reference.fused_sum(pairs, 0, "f32")


@pytest.mark.parametrize("order", [np.float64, None], ids=["wide", "backwards"])
def test_a_library_that_adds_in_another_way_is_not_used(order, monkeypatch):
    def other(a, b):
        if order is None:
            a, b = a[..., ::-1], b[..., ::-1]
        wide = a.astype(order or a.dtype) @ b.swapaxes(-1, -2).astype(order or a.dtype)
        return wide.astype(a.dtype)

    monkeypatch.setattr(fma_chains, "multiplied", other)
    fastest.cache_clear()
    try:
        assert fastest("float32") is one_by_one
    finally:
        fastest.cache_clear()


def test_stored_elements_are_added_in_their_order_whatever_b_holds():
    random = np.random.default_rng(3)
    b, a = drawn(random, 2, 1, 24, 32), drawn(random, 2, 1, 16, 16)
    grows = np.arange(16) * 2 + random.integers(0, 2, (2, 1, 16, 16))
    with np.errstate(all="ignore"):
        for places in (grows, grows[..., ::-1], grows // 4 * 4):
            for right in (b, np.where(np.isfinite(b), b, 1)):
                met = np.take_along_axis(right[..., None, :, :], places[..., None, :], axis=-1)
                wanted, found = one_by_one(a, met), sparsely_chained(a, places, right)
                np.testing.assert_array_equal(found, wanted)


@pytest.fixture(scope="module")
def own():
    return digest({})[0]


def digest(variables):
    """Return the digest that PROGRAM prints with these variables, and the names of the functions that it has used."""
    given = {name: value for name, value in os.environ.items() if not name.startswith(("OPENBLAS", "OMP", "MKL"))}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=given | variables, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("core", [core for core, needs in CORES.items() if features.get(needs)])
def test_the_bits_are_the_same_with_the_kernels_of_every_cpu(core, own):
    bits_of_core, *chains = digest({"OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": "1"})
    assert bits_of_core == own
    fast = chains if core in FUSED else ()
    assert "one_by_one" not in fast, "an MMA takes some hundred times as long as with BLAS"


def test_the_bits_are_the_same_with_several_threads(own):
    assert digest({"OPENBLAS_NUM_THREADS": "3"})[0] == own
