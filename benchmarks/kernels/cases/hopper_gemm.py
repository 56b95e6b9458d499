"""GEMMs of examples/hopper with wgmma, in bf16 and fp8, compared with cuBLAS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.kernels.case import HOPPER, Case, late, matmul_bytes, normal

if TYPE_CHECKING:
    from torch import Generator, Tensor

# Error bound: bf16 rounds the largest element to 8 significant bits; differences of f32 accumulators are much smaller.
TOLERANCE = 2.0**-8
HIGHPERF = "examples.hopper.gemm_highperf_hopper"
NARROW = "examples.hopper.gemm_narrow_hopper"


def reference(a: Tensor, b: Tensor) -> Tensor:
    """Return A · B, computed by torch in float64."""
    return a.double() @ b.double()


def product(name: str, kernel: Any, shape: tuple[int, int, int], goal_us: float | None = None) -> Case:  # noqa: ANN401 - late, or built
    """Return the case of a kernel for bf16 matrices of M x K and K x N."""
    m, n, k = shape
    size = f"{m}³" if m == n == k else f"{m}x{n}x{k}"
    return Case(
        name=f"hopper {name} bf16 {size}",
        kernel=kernel,
        make=normal((m, k), (k, n), dtype="bfloat16"),
        baselines={"cuBLAS": late("torch:matmul")},
        reference=reference,
        tolerance=TOLERANCE,
        bytes=matmul_bytes(m, n, k, 2, 2),
        flops=2 * m * n * k,
        goal_us=goal_us,
        small=normal((70, 72), (72, 80), dtype="bfloat16"),
        capability=HOPPER,
    )


@dataclass(frozen=True, slots=True)
class Scaled:
    """Function that draws e4m3 operands, M x K and N x K, and scales that undo the operands' scaling."""

    m: int
    n: int
    k: int

    def __call__(self, generator: Generator) -> tuple[Tensor, ...]:
        """Draw operands from N(0, 1), multiplied by 16, and return them with scales of 1/16."""
        import torch

        device = generator.device
        drawn = (
            torch.randn(shape, generator=generator, device=device) for shape in ((self.m, self.k), (self.n, self.k))
        )
        scales = (torch.full((1,), 1 / 16, device=device) for _ in range(2))
        return (*((each * 16).to(torch.float8_e4m3fn) for each in drawn), *scales)


def scaled_reference(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor) -> Tensor:
    """Return C in float64, from fp8 operands."""
    return (a.double() @ b.double().T) * (scale_a.double() * scale_b.double())


def scaled_mm(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor) -> Any:  # noqa: ANN401 - a private function of torch's
    """Multiply with cuBLAS without its fast accumulation, which our kernel does not use either."""
    import torch

    return late("torch:_scaled_mm")(a, b.T, scale_a, scale_b, out_dtype=torch.bfloat16, use_fast_accum=False)


def fp8(size: int) -> Case:
    """Return the GEMM case of square fp8 matrices."""
    return Case(
        name=f"hopper fp8 e4m3 {size}³",
        kernel=late("examples.hopper.gemm_fp8_hopper:scaled_product"),
        make=Scaled(size, size, size),
        baselines={"cuBLAS": scaled_mm},
        reference=scaled_reference,
        tolerance=2.0**-7,  # allows for the tensor cores' truncation in fp8 dot products of 128 terms
        bytes=matmul_bytes(size, size, size, 1, 2),
        flops=2 * size**3,
        small=Scaled(70, 72, 144),
        capability=HOPPER,
    )


CASES = (
    product("highperf", late(f"{HIGHPERF}:gemm"), (8192, 8192, 8192)),
    product("highperf", late(f"{HIGHPERF}:gemm"), (4096, 4096, 4096)),
    product("highperf", late(f"{HIGHPERF}:gemm"), (2048, 2048, 2048), goal_us=27.0),
    product("narrow", late(f"{NARROW}:gemm"), (16, 8192, 8192), goal_us=37.0),
    *(product("narrow", late(f"{NARROW}:gemm"), (16, columns, 8192)) for columns in (4096, 2048, 1024)),
    product("warp specialized", late("examples.hopper.gemm_warp_specialized:gemm"), (4096, 4096, 4096)),
    product("pipelined", late("examples.hopper.gemm_pipelined_hopper:gemm"), (4096, 4096, 4096)),
    product("simple", late("examples.hopper.gemm_simple_hopper:gemm"), (4096, 4096, 4096)),
    fp8(8192),
    fp8(4096),
)
