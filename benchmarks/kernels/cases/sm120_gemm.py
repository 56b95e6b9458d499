"""GEMMs with mma.sync of examples/blackwell, for sm_120a: other GPUs skip these cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.kernels.case import Case, late, matmul_bytes, normal

if TYPE_CHECKING:
    from torch import Generator, Tensor

# Error bound: bf16 rounds the largest element to 8 significant bits; differences of f32 accumulators are much smaller.
TOLERANCE = 2.0**-8
CAPABILITY = (12, 0)
SCALED = "examples.blackwell.gemm_blockscaled_sm120"
E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)  # values of the e2m1 codes 0 to 7; bit 3 is the sign


def reference(a: Tensor, b: Tensor) -> Tensor:
    """Return C = A · B in float64."""
    return a.double() @ b.double()


def dense(size: int) -> Case:
    """Return the GEMM case of square bf16 matrices."""
    return Case(
        name=f"sm120 bf16 {size}³",
        kernel=late("examples.blackwell.gemm_sm120:gemm"),
        make=normal((size, size), (size, size), dtype="bfloat16"),
        baselines={"cuBLAS": late("torch:matmul")},
        reference=reference,
        tolerance=TOLERANCE,
        bytes=matmul_bytes(size, size, size, 2, 2),
        flops=2 * size**3,
        small=normal((70, 72), (72, 80), dtype="bfloat16"),
        capability=CAPABILITY,
    )


@dataclass(frozen=True, slots=True)
class Scaled:
    """Function that draws operands, M x K and N x K, and scale factors: e4m3 and ue8m0, or bytes of e2m1 and e4m3."""

    m: int
    n: int
    k: int
    packed: bool

    def __call__(self, generator: Generator) -> tuple[Tensor, ...]:
        """Draw operands and scale factors; any byte is two e2m1 numbers."""
        import torch

        rows = (self.m, self.n)
        options: Any = {"generator": generator, "device": generator.device}
        if self.packed:
            factors = [torch.randint(256, (each, self.k // 2), **options).to(torch.uint8) for each in rows]
            scales = [torch.rand((each, self.k // 16), **options) + 0.5 for each in rows]
            return (*factors, *(each.to(torch.float8_e4m3fn).view(torch.uint8) for each in scales))
        factors = [torch.randn((each, self.k), **options).to(torch.float8_e4m3fn) for each in rows]
        powers = [torch.randint(124, 131, (each, self.k // 32), **options).to(torch.uint8) for each in rows]
        return (*factors, *(each.view(torch.float8_e8m0fnu) for each in powers))


def numbers(values: Tensor, scales: Tensor) -> Tensor:
    """Return the values of elements with their scale factors, in float64."""
    import torch

    if values.dtype == torch.uint8:
        table = torch.tensor([*E2M1, *(-each for each in E2M1)], dtype=torch.float64, device=values.device)
        codes = torch.stack([values & 15, values >> 4], dim=2).flatten(1)
        return table[codes.int()] * scales.view(torch.float8_e4m3fn).double().repeat_interleave(16, 1)
    return values.double() * scales.float().double().repeat_interleave(32, 1)


def scaled_reference(a: Tensor, b: Tensor, of_a: Tensor, of_b: Tensor) -> Tensor:
    """Return the block-scaled GEMM's C in float64."""
    return numbers(a, of_a) @ numbers(b, of_b).T


def scaled(name: str, size: int, *, packed: bool) -> Case:
    """Return the case of square matrices of one format, without cuBLAS, whose scale factors have another layout."""
    bits, per_scale = (4, 16) if packed else (8, 32)
    factor = size * size * bits // 8 + size * size // per_scale
    return Case(
        name=f"sm120 {name} {size}³",
        kernel=late(f"{SCALED}:gemm_{name}"),
        make=Scaled(size, size, size, packed),
        baselines={},
        reference=scaled_reference,
        tolerance=TOLERANCE,
        bytes=2 * factor + size * size * 2,
        flops=2 * size**3,
        small=Scaled(70, 72, 512, packed),
        capability=CAPABILITY,
    )


CASES = (
    dense(8192),
    dense(4096),
    scaled("mxfp8", 8192, packed=False),
    scaled("mxfp8", 4096, packed=False),
    scaled("nvfp4", 8192, packed=True),
    scaled("nvfp4", 4096, packed=True),
)
