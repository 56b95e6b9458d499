"""Relocatable device code: two translation units that call each other and share variables."""

from __future__ import annotations

import numpy as np

from pyptx_sim import run

from .compiler import ptx_of

LIBRARY = """
__device__ int calls;
__constant__ float weights[4] = {0.5f, 1.5f, 2.5f, 3.5f};
static __device__ int scale = 10;
static __device__ __noinline__ float helper(float x) { return x * scale; }
__device__ __noinline__ float weighted(float x, int i) { atomicAdd(&calls, 1); return helper(x) + weights[i & 3]; }
struct Shape { virtual __device__ float area(float x) const = 0; };
struct Square : Shape { __device__ float area(float x) const override; };
__device__ float Square::area(float x) const { return x * x; }
template <typename T> __device__ __noinline__ T both(T x) { return x + 1; }
__device__ float use(float x) { return both(x); }
"""
PROGRAM = """
extern __device__ int calls;
extern __constant__ float weights[4];
extern __device__ float weighted(float x, int i);
extern __device__ float use(float x);
struct Shape { virtual __device__ float area(float x) const = 0; };
struct Square : Shape { __device__ float area(float x) const override; };
template <typename T> __device__ __noinline__ T both(T x) { return x + 1; }
static __device__ int scale = 3;
static __device__ __noinline__ float helper(float x) { return x * scale; }
extern "C" __global__ void apply(float *out, int *count) {
    int i = threadIdx.x;
    Square square;
    Shape *shape = &square;
    out[i] = weighted(float(i), i) + 1000 * helper(weights[0]) + use(2.0f) + both(4.0f) + shape->area(float(i));
    __syncthreads();
    if (i == 0) *count = calls;
}
"""


def test_two_translation_units_run_as_one_program() -> None:
    """A template that both units define as `.weak` is one function; each unit has its own `helper` and `scale`."""
    units = [ptx_of(source, "-dc") for source in (PROGRAM, LIBRARY)]
    out, count = np.zeros(32, np.float32), np.zeros(1, np.int32)
    for order in (units, units[::-1]):
        result = run(order, entry="apply", grid=1, block=32, args=[out, count])
        assert result.findings == ()
        i = np.arange(32)
        assert (out == i * 10 + np.array([0.5, 1.5, 2.5, 3.5])[i % 4] + 1500 + 3 + 5 + i * i).all()
        assert count[0] == 32
