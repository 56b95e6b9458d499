"""GEMMs of examples/blackwell with tcgen05, compared with cuBLAS; for sm_100 only."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.kernels.case import BLACKWELL, Case, built, late, normal
from benchmarks.kernels.cases.hopper_gemm import product

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = "examples.blackwell"


def step(name: str, kernel: Callable[..., object], size: int) -> Case:
    """Return the case of one GEMM of examples/blackwell for square bf16 matrices."""
    case = product(name, kernel, (size, size, size))
    return replace(
        case,
        name=case.name.replace("hopper", "blackwell"),
        small=normal((300, 72), (72, 264), dtype="bfloat16"),
        capability=BLACKWELL,
    )


CASES = (
    step("persistent", late(f"{FOLDER}.gemm_persistent_blackwell:gemm"), 8192),
    step("persistent", late(f"{FOLDER}.gemm_persistent_blackwell:gemm"), 4096),
    step("highperf", late(f"{FOLDER}.gemm_highperf_blackwell:gemm"), 8192),
    step("highperf", late(f"{FOLDER}.gemm_highperf_blackwell:gemm"), 4096),
    step("highperf, tiles of 128 columns", built(f"{FOLDER}.gemm_highperf_blackwell:build_gemm", block_n=128), 2048),
    step("multicast", late(f"{FOLDER}.gemm_multicast_blackwell:gemm"), 8192),
    step("pairs", late(f"{FOLDER}.gemm_2sm_blackwell:gemm"), 8192),
    step("pipelined", late(f"{FOLDER}.gemm_pipelined_blackwell:gemm"), 8192),
    step("simple", late(f"{FOLDER}.gemm_simple_blackwell:gemm"), 8192),
)
