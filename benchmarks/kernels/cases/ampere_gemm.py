"""GEMMs of examples/ampere with mma.sync, compared with cuBLAS.

On Hopper, cuBLAS uses wgmma, which is faster than mma.sync can be. The ratio is therefore not a goal on Hopper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.kernels.case import Case, built, late, matmul_bytes, normal

if TYPE_CHECKING:
    from torch import Tensor

# Error bound: bf16 rounds the largest element to 8 significant bits; differences of f32 accumulators are much smaller.
TOLERANCE = 2.0**-8


def reference(a: Tensor, b: Tensor) -> Tensor:
    """Return A · B, computed by torch in float64."""
    return a.double() @ b.double()


def square(step: str, kernel: Any, size: int) -> Case:  # noqa: ANN401 - late, or built
    """Return the case of one GEMM of examples/ampere for square bf16 matrices."""
    return Case(
        name=f"ampere {step} bf16 {size}³",
        kernel=kernel,
        make=normal((size, size), (size, size), dtype="bfloat16"),
        baselines={"cuBLAS": late("torch:matmul")},
        reference=reference,
        tolerance=TOLERANCE,
        bytes=matmul_bytes(size, size, size, 2, 2),
        flops=2 * size**3,
        small=normal((70, 72), (72, 80), dtype="bfloat16"),
    )


HIGHPERF = late("examples.ampere.gemm_highperf_ampere:gemm_highperf")
# Tiles with k=64 halve the number of CTA barriers, but need more shared memory than sm_86 and sm_89 have.
DEEP = built("examples.ampere.gemm_highperf_ampere:build_gemm_highperf", k=64, stages=3)

CASES = (
    square("highperf", HIGHPERF, 8192),
    square("highperf 64x3", DEEP, 8192),
    square("highperf", HIGHPERF, 4096),
    square("highperf", HIGHPERF, 2048),
    square("pipelined", late("examples.ampere.gemm_pipelined:gemm_pipelined"), 4096),
    square("simple", late("examples.ampere.gemm_simple:gemm"), 4096),
)
