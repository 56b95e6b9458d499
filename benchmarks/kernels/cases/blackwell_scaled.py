"""GEMMs of narrow floats and grouped GEMMs on Blackwell (sm_100a), compared with torch's; and their quantizers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from benchmarks.kernels.case import BLACKWELL, Case, late, matmul_bytes, normal
from benchmarks.kernels.cases import grouped_gemm
from benchmarks.kernels.cases.hopper_gemm import TOLERANCE

if TYPE_CHECKING:
    from torch import Generator, Tensor

FOLDER = "examples.blackwell"


def halves(codes: Tensor) -> Tensor:
    """Return the values of e2m1 codes, two per byte."""
    import torch

    digits = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=torch.float64, device=codes.device)
    values = torch.cat((digits, -digits))
    return values[torch.stack((codes & 15, codes >> 4), 2).flatten(1).int()]


def rows_of(scales: Tensor, rows: int, blocks: int) -> Tensor:
    """Return scale factors (bytes in the layout of `scales.py`) as a row-major matrix."""
    import torch

    R, C, _ = scales.shape
    lines = scales.view(torch.uint8).view(R, C, 32, 4, 4)
    return lines.permute(0, 3, 2, 1, 4).reshape(R * 128, C * 4)[:rows, :blocks]


def times(values: Tensor, scales: Tensor, block: int) -> Tensor:
    """Return a matrix whose elements are multiplied by the scale factor of their block along the row."""
    return values * scales.double().repeat_interleave(block, 1)


@dataclass(frozen=True, slots=True)
class ByRow:
    """Function that draws e4m3 operands, M x K and N x K, and a scale for each of their rows."""

    m: int
    n: int
    k: int

    def __call__(self, generator: Generator) -> tuple[Tensor, ...]:
        """Draw operands from N(0, 1), multiplied by 16, and scales from 1/16 to 2/16."""
        import torch

        device, rows = generator.device, (self.m, self.n)
        drawn = [torch.randn((each, self.k), generator=generator, device=device) * 16 for each in rows]
        scales = [(1 + torch.rand(each, generator=generator, device=device)) / 16 for each in rows]
        return (*(each.to(torch.float8_e4m3fn) for each in drawn), *scales)


@dataclass(frozen=True, slots=True)
class Quantized:
    """Function that draws operands from N(0, 1), and quantizes them with the examples to elements and scale factors."""

    format: str
    m: int
    n: int
    k: int

    def __call__(self, generator: Generator) -> tuple[Tensor, ...]:
        """Draw and quantize A and B; return the elements of A and of B, then their scale factors, alternately."""
        drawn = normal((self.m, self.k), (self.n, self.k), dtype="bfloat16")(generator)
        quantize = late(f"{FOLDER}.quantize_{self.format}:quantize")
        return tuple(each for pair in zip(*map(quantize, drawn), strict=True) for each in pair)


def by_row(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor) -> Tensor:
    """Return C = scale_a · scale_b · A · Bᵀ in float64."""
    return a.double() @ b.double().T * scale_a.double()[:, None] * scale_b.double()


def mxfp8(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor) -> Tensor:
    """Return the mxfp8 GEMM's C in float64."""
    pairs = ((a, scale_a), (b, scale_b))
    left, right = (
        times(each.double(), (rows_of(of, len(each), each.shape[1] // 32).double() - 127).exp2(), 32)
        for each, of in pairs
    )
    return left @ right.T


def nvfp4(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, whole_a: Tensor, whole_b: Tensor) -> Tensor:
    """Return the nvfp4 GEMM's C in float64."""
    import torch

    pairs = ((a, scale_a), (b, scale_b))
    left, right = (
        times(halves(each), rows_of(of, len(each), each.shape[1] // 8).contiguous().view(torch.float8_e4m3fn), 16)
        for each, of in pairs
    )
    return left @ right.T * whole_a.double() * whole_b.double()


def scaled_mm(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor) -> Any:  # noqa: ANN401 - a private function of torch's
    """Multiply e4m3 matrices with cuBLAS, with a scale for each row of A and of B."""
    import torch

    return late("torch:_scaled_mm")(a, b.T, scale_a[:, None], scale_b[None], out_dtype=torch.bfloat16)


def scaled_mxfp8(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor) -> Any:  # noqa: ANN401 - as above
    """Multiply mxfp8 matrices with cuBLAS."""
    import torch

    scales = (each.view(torch.float8_e8m0fnu).flatten() for each in (scale_a, scale_b))
    return late("torch:_scaled_mm")(a, b.T, *scales, out_dtype=torch.bfloat16)


def scaled_nvfp4(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, whole_a: Tensor, whole_b: Tensor) -> Any:  # noqa: ANN401 - as above
    """Multiply nvfp4 matrices with cuBLAS; a second kernel multiplies the result by the scales of both matrices."""
    import torch

    factors = (each.view(torch.float4_e2m1fn_x2) for each in (a, b.T))
    scales = (each.view(torch.float8_e4m3fn).flatten() for each in (scale_a, scale_b))
    return late("torch:_scaled_mm")(*factors, *scales, out_dtype=torch.bfloat16).mul_(whole_a * whole_b)


def product(name: str, make: Any, small: Any, baseline: Any, reference: Any, bits: float) -> Case:  # noqa: ANN401 - callables
    """Return the GEMM case of square matrices with `bits` per element, scale factors included."""
    size = make.m
    return Case(
        name=f"blackwell {name} {size}³",
        kernel=late(f"{FOLDER}.gemm_{name}_blackwell:gemm"),
        make=make,
        baselines={"cuBLAS": baseline},
        reference=reference,
        tolerance=TOLERANCE,
        bytes=round(matmul_bytes(size, size, size, 1, 0) * bits / 8) + 2 * size * size,
        flops=2 * size**3,
        capability=BLACKWELL,
        small=small,
    )


def words_of(codes: Tensor) -> Tensor:
    """Return a row-major matrix of one-byte scale factors as words in the layout of `examples/blackwell/scales.py`."""
    import torch

    rows, columns = codes.shape
    padded = torch.nn.functional.pad(codes, (0, -columns % 4, 0, -rows % 128))
    lines = padded.view(len(padded) // 128, 4, 32, padded.shape[1] // 4, 4).permute(0, 3, 2, 1, 4)
    return lines.flatten(2).contiguous().view(torch.uint32)


def to_mxfp8(x: Tensor) -> tuple[Tensor, ...]:
    """Return the expected mxfp8 quantization: elements, and words of scale factors."""
    import torch

    blocks = x.float().view(len(x), -1, 32)
    fraction, exponent = blocks.abs().amax(2).frexp()
    power = exponent - torch.where(fraction <= 448 / 512, 9, 8)
    data = (blocks * (-power[..., None]).float().exp2()).to(torch.float8_e4m3fn)
    return data.view(x.shape), words_of((power + 127).to(torch.uint8))


def to_nvfp4(x: Tensor) -> tuple[Tensor, ...]:
    """Return the expected nvfp4 quantization: elements, words of scale factors, and the scale factor of the matrix."""
    import torch

    blocks, largest = x.float().view(len(x), -1, 16), torch.tensor(448.0 * 6, device=x.device)
    whole = blocks.abs().max() * (1 / largest)
    scales = (blocks.abs().amax(2) * (1 / (whole * 6))).to(torch.float8_e4m3fn)
    sizes = blocks * (1 / (scales.float() * whole))[..., None]
    middles = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)  # midpoints of adjacent e2m1 values; ties round to the even code
    codes = torch.zeros_like(sizes, dtype=torch.uint8)
    for code, middle in enumerate(middles):
        codes += sizes.abs() >= middle if code % 2 else sizes.abs() > middle
    codes = (codes + 8 * sizes.signbit()).view(x.shape).to(torch.uint8)
    return codes[:, ::2] | codes[:, 1::2] << 4, words_of(scales.view(torch.uint8)), whole.view(1)


def quantizer(name: str, bits: float, reference: Any, reads: int) -> Case:  # noqa: ANN401 - a callable
    """Return the case of quantizing a square bf16 matrix, read `reads` times; its result must be exact."""
    size = 8192
    return Case(
        name=f"blackwell quantize {name} {size}²",
        kernel=late(f"{FOLDER}.quantize_{name}:quantize"),
        make=normal((size, size), dtype="bfloat16"),
        baselines={},
        reference=reference,
        tolerance=0.0,
        bytes=round(size * size * (2 * reads + bits / 8)),
        flops=0,
        capability=BLACKWELL,
        small=normal((40, 96), dtype="bfloat16"),
    )


def of_groups(case: Case) -> Case:
    """Return a case of Hopper's grouped GEMMs with the Blackwell kernel in place of Hopper's."""
    kernel = late(f"{FOLDER}.grouped_gemm_blackwell:grouped_gemm")
    return replace(case, name=f"blackwell {case.name}", kernel=kernel, goal_us=None, capability=BLACKWELL)


SIZES = (8192, 4096)
CASES = (
    *(product("fp8", ByRow(n, n, n), ByRow(70, 72, 144), scaled_mm, by_row, 8) for n in SIZES),
    *(
        product(name, Quantized(name, n, n, n), Quantized(name, 70, 72, 160), baseline, reference, bits)
        for name, baseline, reference, bits in (
            ("mxfp8", scaled_mxfp8, mxfp8, 8 + 8 / 32),
            ("nvfp4", scaled_nvfp4, nvfp4, 4 + 8 / 16),
        )
        for n in SIZES
    ),
    quantizer("mxfp8", 8 + 8 / 32, to_mxfp8, reads=1),
    quantizer("nvfp4", 4 + 8 / 16, to_nvfp4, reads=2),
    *(of_groups(case) for case in grouped_gemm.CASES[:2]),
)
