"""Race-free kernels give the bits that the simulator's `fast` numerics define, under every schedule and wave size.

`PYPTX_KERNELS=all` runs every kernel under every schedule.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from tools.shares import share

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.scaled

BFLOAT16 = ml_dtypes.bfloat16
SHAPE = (256, 256, 128)  # M, N and K of the tested GEMMs
PER_INSTRUCTION = 16  # K of one bf16 MMA instruction


@dataclass(frozen=True)
class Case:
    """An example kernel and its arrays; `defined`: the kernel is a GEMM, whose bits are documented."""

    file: str
    kernel: Callable[[Any], Any]
    arrays: Callable[[Any], list[Any]]
    defined: bool = False

    def __str__(self) -> str:
        return self.file

    def outputs(self, **schedule: Any) -> list[bytes]:
        module = import_module(f"examples.{self.file.replace('/', '.')}")
        result = self.kernel(module).simulate(*self.arrays(module), checks="none", **schedule)
        return [np.ascontiguousarray(each).tobytes() for each in result.outputs]


@cache
def drawn(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(BFLOAT16)


def matrices(_: Any = None) -> list[Any]:
    """Return matrices whose exact product is zero, so that the bf16 result has every bit of the rounding error."""
    m, n, k = SHAPE
    a, b = drawn(m, k // 2), drawn(k // 2, n)
    return [np.concatenate([a, -a], axis=1), np.concatenate([b, b])]


def quantized(module: Any) -> list[Any]:
    parts = [module.quantize(drawn(256, 256)), module.quantize(drawn(256, 256).T.copy())]
    return [each for pair in zip(*parts, strict=True) for each in pair]


def gemm(file: str, name: str = "gemm") -> Case:
    return Case(file, lambda module: getattr(module, name), matrices, defined=True)


def scaled(file: str) -> Case:
    return Case(file, lambda module: module.gemm, quantized)


def attention(file: str) -> Case:
    return Case(file, lambda module: module.kernel_for(64), lambda _: [drawn(1, 200, 2, 64)] * 3)


CASES = [
    gemm("ampere/gemm_simple"),
    gemm("ampere/gemm_pipelined", "gemm_pipelined"),
    gemm("hopper/gemm_pipelined_hopper"),
    gemm("hopper/gemm_warp_specialized"),
    gemm("blackwell/gemm_simple_blackwell"),
    gemm("blackwell/gemm_pipelined_blackwell"),
    gemm("blackwell/gemm_2sm_blackwell"),
    scaled("blackwell/gemm_mxfp8_blackwell"),
    scaled("blackwell/gemm_nvfp4_blackwell"),
    attention("hopper/flash_attention"),
    attention("blackwell/flash_attention_blackwell"),
]
SCHEDULES: list[dict[str, Any]] = [
    {"seed": 1},
    {"seed": 2, "delay_async": True},
    {"delay_async": True},
    {"seed": 3, "resident_blocks": 2},
    {"resident_blocks": 2},
]
RUNS = share([(case, schedule) for case in CASES for schedule in SCHEDULES], 4)


@cache
def in_order(case: Case) -> list[bytes]:
    return case.outputs()


@pytest.mark.parametrize(("case", "schedule"), RUNS, ids=str)
def test_bits_do_not_depend_on_the_schedule(case: Case, schedule: dict[str, Any]) -> None:
    assert case.outputs(**schedule) == in_order(case)


@cache
def defined() -> bytes:
    """Return the GEMM as defined in the documentation, in float32; bf16 products are exact."""
    a, b = (each.astype(np.float32) for each in matrices())
    total = np.zeros(SHAPE[:2], np.float32)
    for start in range(0, SHAPE[2], PER_INSTRUCTION):
        chain = np.zeros(SHAPE[:2], np.float32)
        for k in range(start, start + PER_INSTRUCTION):
            chain += a[:, k, None] * b[None, k]
        total += chain
    return total.astype(BFLOAT16).tobytes()


@pytest.mark.parametrize("case", [case for case in CASES if case.defined], ids=str)
def test_a_gemm_has_the_bits_of_the_definition(case: Case) -> None:
    assert in_order(case) == [defined()]
