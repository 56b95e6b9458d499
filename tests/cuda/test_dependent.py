"""Programmatic dependent launch with CUDA's device functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx_sim import Launch, run

from .compiler import ptx_of

SOURCE = """
extern "C" __global__ void produce(float *x, int n) {
    cudaTriggerProgrammaticLaunchCompletion();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 2.0f * i;
}
extern "C" __global__ void consume(const float *x, const float *weights, float *y, int n) {
    __shared__ float sums[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float weight = i < n ? weights[i] : 0.0f;
#if WAITS
    cudaGridDependencySynchronize();
#endif
    sums[threadIdx.x] = i < n ? weight * x[n - 1 - i] : 0.0f;
    __syncthreads();
    for (int step = 64; step; step /= 2) {
        if (threadIdx.x < step) sums[threadIdx.x] += sums[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = sums[0];
}
"""
N = 500


def consumed(waits: int, **options: Any) -> tuple[Any, Any, Any]:
    """Run both kernels; return the partial sums, their expected values, and the simulator's result."""
    x, y = np.zeros(N, np.float32), np.zeros(4, np.float32)
    weights = np.arange(N, dtype=np.float32) % 7
    launches = [
        Launch(entry="produce", grid=4, block=128, args=[x, N]),
        Launch(entry="consume", grid=4, block=128, args=[x, weights, y, N], programmatic_dependent=True),
    ]
    result = run(ptx_of(SOURCE, f"-DWAITS={waits}"), launches, **options)
    products = np.zeros(512)
    products[:N] = weights * 2.0 * np.arange(N)[::-1]
    return y, products.reshape(4, 128).sum(axis=1), result


@pytest.mark.parametrize("schedule", [{}, {"seed": 1}, {"seed": 2}, {"delay_async": True}])
def test_a_dependent_kernel_waits_for_what_it_reads(schedule: dict[str, Any]) -> None:
    """The dependent kernel reads its weights before it waits for the primary kernel, which does not write them."""
    y, expected, result = consumed(1, **schedule)
    assert result.findings == ()
    assert (y == expected).all()


def test_a_missing_wait_is_found_and_shows() -> None:
    y, expected, result = consumed(0, delay_async=True)
    assert {finding.rule for finding in result.findings} == {"global-race"}
    assert (y != expected).any()
