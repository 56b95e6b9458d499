"""Programmatic dependent launch of the example kernels: no findings with griddepcontrol.wait, data races without it."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from tools.shares import full

from pyptx.types import bf16, f32

from .overlapping import overlapped, specialized

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Array = np.ndarray[Any, Any]
    Build = Callable[[], tuple[Any, list[Array], dict[str, Any], Callable[..., Any]]]

pytestmark = [pytest.mark.scaled(2), pytest.mark.hopper]

SCHEDULES: tuple[Mapping[str, Any], ...] = ({}, {"seed": 1}, {"delay_async": True})


def drawn(*shapes: tuple[int, ...], dtype: Any = ml_dtypes.bfloat16) -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def of_gemm() -> Any:
    module = import_module("examples.hopper.gemm_highperf_hopper")
    kernel = module.build_gemm(block_n=128, stages=2, blocks=2, overlaps=True)
    return kernel, drawn((140, 72), (72, 136)), {}, module.reference


def of_scaled() -> Any:
    module = import_module("examples.hopper.gemm_fp8_hopper")
    kernel = module.build_gemm(stages=2, cluster=1, blocks=2, overlaps=True)
    factors = drawn((130, 144), (136, 144), dtype=ml_dtypes.float8_e4m3fn)
    return kernel, [*factors, np.full(1, 0.5, np.float32), np.full(1, 3, np.float32)], {}, module.reference


def of_groups() -> Any:
    module = import_module("examples.hopper.grouped_gemm")
    kernel = module.build_grouped_gemm(block_n=64, stages=2, blocks=3, overlaps=True)
    return kernel, [*drawn((137, 72), (3, 72, 72)), np.array([130, 130, 137], np.int32)], {}, module.reference


def of_attention() -> Any:
    module = import_module("examples.hopper.flash_attention")
    kernel = module.variant(64, overlaps=True)
    return kernel, drawn((1, 70, 1, 64), (1, 90, 1, 64), (1, 90, 1, 64)), {"causal": True}, module.reference


def of_split_attention() -> Any:
    module = import_module("examples.hopper.flash_attention")
    return module.variant(128, 2, overlaps=True), drawn(*3 * ((1, 150, 1, 128),)), {}, module.reference


def of_told() -> Any:
    prepare_of = import_module("examples.attention.row_stats").prepare_of
    inputs = [*drawn(*2 * ((1, 128, 2, 64),)), *drawn(*2 * ((1, 2, 128),), dtype=np.float32)]
    return prepare_of(64, arch="sm_90a", overlaps=True), inputs, {"T": 2}, prepare_of(64, arch="sm_90a")


def of_gradients() -> Any:
    module = import_module("examples.hopper.flash_attention_backward")
    inputs = [
        *drawn((1, 70, 1, 64), *2 * ((1, 90, 1, 64),), (1, 70, 1, 64)),
        *drawn((1, 1, 2, 2, 64), dtype=np.float32),
    ]
    return module.flash_attention_backward_of(64, overlaps=True), inputs, {"causal": True}, module.BACKWARD[64]


def of_norm(columns: int = 512) -> Any:
    module, plans = import_module("examples.hopper.rms_norm"), import_module("examples.rows.plans")
    plan = replace(plans.Plan.of(columns), overlaps=True)
    return (
        module.rms_norm_for(columns, f32, plan),
        drawn((5, columns), (columns,), dtype=np.float32),
        {},
        module.reference,
    )


def of_clustered_norm() -> Any:
    return of_norm(40_000)


def of_swiglu() -> Any:
    module = import_module("examples.hopper.swiglu")
    return module.swiglu_for(bf16, overlaps=True), drawn(*2 * ((3, 520),)), {}, module.reference


MADE = (
    *(of_gemm, of_scaled, of_groups, of_attention, of_split_attention, of_told, of_gradients),
    *(of_norm, of_clustered_norm, of_swiglu),
)
KERNELS: dict[str, Build] = {each.__name__.removeprefix("of_"): each for each in MADE}
CASES = [
    (build, waits, schedule)
    for build in KERNELS.values()
    for waits in (True, False)
    for schedule in full(SCHEDULES if waits else SCHEDULES[:1], default=({},))
]


@pytest.mark.parametrize(("build", "waits", "schedule"), CASES)
def test_nothing_is_touched_before_the_launch_in_front_has_ended(
    build: Build,
    waits: bool,  # noqa: FBT001 - a parameter of the test
    schedule: Mapping[str, Any],
) -> None:
    kernel, inputs, keywords, reference = build()
    special = specialized(kernel, inputs, **keywords)
    expected = reference(*inputs, **keywords)
    wanted = expected if isinstance(expected, tuple) else (expected,)
    outputs = [
        np.zeros(row.shape, ml_dtypes.bfloat16 if row.dtype == "bf16" else np.float32) for row in special.outputs
    ]
    result = overlapped(special, inputs, outputs, waits=waits, **schedule)
    if waits:
        assert [str(finding) for finding in result.findings] == []
        for actual, right in zip(outputs, (each.astype(np.float64) for each in wanted), strict=True):
            assert np.abs(actual.astype(np.float64) - right).max() <= 2.0**-7 * np.abs(right).max()
        return
    assert {finding.rule for finding in result.findings} == {"global-race"}
    assert any("writes" in finding.message for finding in result.findings)
