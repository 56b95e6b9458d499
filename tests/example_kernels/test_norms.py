"""Norms, softmax and SwiGLU of examples/hopper: correct on every code path for rows; properties of plans and code.

A share of all combinations of kernel, code path, type, schedule runs by default, and all run with `PYPTX_KERNELS=all`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from examples.hopper import layer_norm, rms_norm, rms_norm_backward, softmax, swiglu
from examples.rows.plans import HELD, MOST, Plan
from tools.shares import FULL, full

from pyptx.types import PtxType, bf16, f32
from pyptx_dsl.errors import AlignmentError

from .norms import DTYPES, F32_ERROR, SCHEDULES, check, normal, norms_of, opcodes

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.scaled, pytest.mark.hopper]

NORMS = norms_of("hopper")

# Short row lengths per code path; none is a multiple of a CTA's or cluster's step; some do not fill the last step.
PATHS = {
    "lanes": lambda dtype: (Plan.of(72, dtype), 7),
    "a warp": lambda dtype: (Plan.of(1000, dtype), 5),
    "registers": lambda dtype: (Plan.of(1064, dtype), 3),
    "shared memory": lambda dtype: (Plan(1064, dtype, lanes=64, shared=True), 3),
    "two blocks": lambda dtype: (Plan(1064, dtype, lanes=64, cluster=2), 3),
    "eight blocks of a warp": lambda dtype: (Plan(1064, dtype, lanes=32, cluster=8), 2),
    "shared memory of four blocks": lambda dtype: (Plan(1064, dtype, lanes=64, cluster=4, shared=True), 3),
}
MATRIX = [
    (name, path, dtype, schedule)
    for name in NORMS
    for path in PATHS
    for dtype in DTYPES
    for schedule in range(len(SCHEDULES))
]


def matrix_share() -> Iterator[Any]:
    """Yield one case per code path of the kernels, alternating kernels, types and schedules; all cases if `FULL`."""
    for number, (name, path, dtype, schedule) in enumerate(MATRIX):
        turn = list(PATHS).index(path)
        chosen = (list(NORMS)[turn % 3], list(DTYPES)[turn % 2], turn % 2)
        if FULL or (name, dtype, schedule) == chosen:
            yield pytest.param(name, path, dtype, SCHEDULES[schedule], number, id=f"{name}-{path}-{dtype}-{schedule}")


@pytest.mark.parametrize(("name", "path", "dtype", "schedule", "seed"), list(matrix_share()))
def test_a_kernel_equals_float64_without_a_finding(
    name: str, path: str, dtype: PtxType, schedule: dict[str, Any], seed: int
) -> None:
    norm, (plan, rows) = NORMS[name], PATHS[path](dtype)
    arrays = normal(seed, dtype, (rows, plan.columns), *[(plan.columns,)] * norm.vectors)
    result = norm.make(plan.columns, dtype, plan).simulate(*arrays, checks="all", **schedule)
    assert result.findings == ()
    check(result.outputs[0], norm.reference(*arrays), dtype)


@pytest.mark.parametrize("name", NORMS)
def test_the_kernel_for_any_length_takes_short_odd_and_long_rows(name: str) -> None:
    norm = NORMS[name]
    for columns in full((4, 516, 8196), default=(516, 8196)):
        arrays = normal(columns, f32, (2, columns), *[(columns,)] * norm.vectors)
        check(norm.kernel(*arrays), norm.reference(*arrays), f32)


def test_a_kernel_may_write_over_its_input() -> None:
    x, w = normal(1, f32, (5, 72), (72,))
    expected = rms_norm.reference(x, w)
    assert rms_norm.rms_norm_for(72)(x, w, out=x) is x
    check(x, expected, f32)


def test_rows_that_begin_between_vectors_are_refused() -> None:
    x, w = np.ones(4 * 72 + 1, np.float32)[1:].reshape(4, 72), np.ones(72, np.float32)
    with pytest.raises(AlignmentError, match=r"X starts at address .* not a multiple of 16 bytes"):
        rms_norm.rms_norm_for(72)(x, w)


# --- extreme values ---------------------------------------------------------------------------------


def test_softmax_bears_large_numbers_and_masks() -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(-1e4, 1e4, (6, 1064)).astype(np.float32)
    x[1] = -1e4 + rng.standard_normal(1064)  # row of scores far below zero that are close together
    x[2, 5:] = -np.inf  # all elements of some warps and CTAs are -inf
    x[3, ::2] = -np.inf
    x[4] = np.float32(3.4e38) * np.where(np.arange(1064) % 2, 1, -1)
    x[5] = -np.inf
    for path in ("registers", "shared memory of four blocks"):
        plan, _ = PATHS[path](f32)
        result = softmax.softmax_for(1064, f32, plan)(x)
        check(result[:5], softmax.reference(x[:5]), f32)
        np.testing.assert_allclose(result[:5].sum(axis=1, dtype=np.float64), 1, rtol=1e-5)
        assert np.isnan(result[5]).all()  # torch.softmax also returns NaN for a row of -inf


@pytest.mark.parametrize("scale", [1e-12, 1e15])
def test_the_norms_do_not_depend_on_the_magnitude(scale: float) -> None:
    x, w, bias = normal(4, f32, (3, 1064), (1064,), (1064,))
    x = (x * np.float32(scale)).astype(np.float32)
    eps = float(np.float32(1e-30 * scale**2)) if scale > 1 else 1e-30
    check(rms_norm.rms_norm(x, w, eps=eps), rms_norm.reference(x, w, eps), f32)
    check(layer_norm.layer_norm(x, w, bias, eps=eps), layer_norm.reference(x, w, bias, eps), f32)


def test_layer_norm_loses_nothing_far_from_zero() -> None:
    x, w, bias = normal(5, f32, (3, 1064), (1064,), (1064,))
    x = (x + np.float32(1000)).astype(np.float32)
    expected = layer_norm.reference(x, w, bias)
    result = np.asarray(layer_norm.layer_norm(x, w, bias), np.float64)
    # The mean is rounded to 2**-14. A variance as a difference of two sums would lose six digits.
    assert np.abs(result - expected).max() / np.abs(expected).max() < 2**-14


# --- SwiGLU -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(1, 8), (3, 5464)], ids=str)
def test_swiglu_equals_float64_without_a_finding(dtype: PtxType, shape: tuple[int, int]) -> None:
    kernel = swiglu.swiglu if dtype == f32 else swiglu.swiglu_bf16
    gate, up = normal(6, dtype, shape, shape)
    result = kernel.simulate(gate, up, checks="all")
    assert result.findings == ()
    check(result.outputs[0], swiglu.reference(gate, up), dtype)


def test_swiglu_bears_large_numbers() -> None:
    gate = np.array([[-3e38, -1e4, -88, -20, 0, 20, 1e4, 3e38]], np.float32)
    expected = np.array([[0, 0, 0, -20 / (1 + np.exp(20.0)), 0, 20 / (1 + np.exp(-20.0)), 1e4, 3e38]])
    np.testing.assert_allclose(swiglu.swiglu(gate, np.ones_like(gate)), expected, rtol=F32_ERROR, atol=1e-36)


def test_swiglu_refuses_what_is_no_whole_vector() -> None:
    with pytest.raises(ValueError, match="swiglu of 6 f32: a multiple of 4 is needed"):
        swiglu.swiglu.ptx(M=1, F=6)


# --- gradients --------------------------------------------------------------------------------------

BACKWARD = {
    "one block": lambda dtype: Plan(1064, dtype, lanes=64),
    "two blocks": lambda dtype: Plan(1064, dtype, lanes=64, cluster=2),
    "four blocks of a warp": lambda dtype: Plan(1064, dtype, lanes=32, cluster=4),
}


def gradient_share() -> Iterator[Any]:
    for turn, path in enumerate(BACKWARD):
        for dtype in DTYPES:
            for index, schedule in enumerate(SCHEDULES):
                if FULL or (dtype, index) == (list(DTYPES)[turn % 2], turn % 2):
                    yield pytest.param(path, dtype, schedule, id=f"{path}-{dtype}-{index}")


@pytest.mark.parametrize(("path", "dtype", "schedule"), list(gradient_share()))
def test_the_gradients_equal_float64_without_a_finding(path: str, dtype: PtxType, schedule: dict[str, Any]) -> None:
    plan = BACKWARD[path](dtype)
    x, w, dy = normal(7, dtype, (7, 1064), (1064,), (7, 1064))
    expected = rms_norm_backward.reference(x, w, dy)
    rows = rms_norm_backward.rms_norm_gradients_for(1064, dtype, plan).simulate(x, w, dy, P=3, checks="all", **schedule)
    sums = rms_norm_backward.column_sums_for(dtype).simulate(rows.outputs[1], checks="all", **schedule)
    assert rows.findings == sums.findings == ()
    check(rows.outputs[0], expected[0], dtype)
    check(sums.outputs[0], expected[1], dtype)


def test_gradients_have_the_same_bits_in_every_schedule_and_blocks_without_rows_add_nothing() -> None:
    x, w, dy = normal(8, f32, (3, 132), (132,), (3, 132))
    kernel = rms_norm_backward.rms_norm_gradients_for(132)
    results = [kernel.simulate(x, w, dy, P=5, checks="none", seed=seed).outputs for seed in range(3)]
    for dx, shares in results[1:]:
        np.testing.assert_array_equal(dx, results[0][0])
        np.testing.assert_array_equal(shares, results[0][1])
    assert not results[0][1][3:].any()


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
@pytest.mark.parametrize("dtype", full(list(DTYPES), default=[bf16]), ids=str)
def test_torch_differentiates_rms_norm(dtype: PtxType) -> None:
    import torch

    kind = {f32: torch.float32, bf16: torch.bfloat16}[dtype]
    generator = torch.Generator().manual_seed(9)
    x, w, dy = (torch.randn(shape, generator=generator).to(kind) for shape in ((9, 136), (136,), (9, 136)))
    function = rms_norm_backward.differentiable_rms_norm_for(136, dtype, 4)
    ours = [tensor.clone().requires_grad_() for tensor in (x, w)]
    theirs = [tensor.double().requires_grad_() for tensor in (x, w)]
    function(*ours, eps=1e-5).backward(dy)
    torch.nn.functional.rms_norm(theirs[0], (136,), theirs[1], 1e-5).backward(dy.double())
    for one, other in zip(ours, theirs, strict=True):
        assert one.grad is not None
        assert other.grad is not None
        check(one.grad.double().numpy(), other.grad.numpy(), dtype)


@pytest.mark.jax
def test_jax_differentiates_rms_norm() -> None:
    import jax

    x, w, dy = normal(10, f32, (6, 136), (136,), (6, 136))
    function = rms_norm_backward.differentiable_rms_norm_for(136, f32, 4)
    _, pull = jax.vjp(function, jax.numpy.asarray(x), jax.numpy.asarray(w))
    for result, expected in zip(pull(jax.numpy.asarray(dy)), rms_norm_backward.reference(x, w, dy), strict=True):
        check(result, expected, f32)


# --- plans, and their compiled code -----------------------------------------------------------------

LENGTHS = (8, 64, 1000, 1024, 1032, 4096, 8192, 16384, 16392, 24576, 57344, 65536, 131072, 262144, 458752)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_plan_covers_the_row_and_holds_what_fits(dtype: PtxType) -> None:
    rng = np.random.default_rng(11)
    for columns in (*LENGTHS, *(rng.integers(1, 57344, 200) * 8).tolist()):
        plan = Plan.of(columns, dtype)
        assert plan.slice * (plan.cluster - 1) + plan.last == plan.vectors
        assert 0 < plan.last <= plan.slice
        assert 32 <= plan.lanes * plan.rows <= MOST
        if not plan.shared:
            steps = -(-plan.slice // plan.lanes)
            assert steps * plan.per_vector <= HELD


def test_rows_that_have_no_plan_are_refused() -> None:
    for columns, dtype, words in ((6, f32, "multiple of 4 f32"), (12, bf16, "multiple of 4 f32 or of 8 bf16")):
        with pytest.raises(ValueError, match=words):
            Plan.of(columns, dtype)
    with pytest.raises(ValueError, match="do not fit the shared memory of 8 blocks"):
        Plan.of(1 << 20)
    with pytest.raises(ValueError, match="leave none to the last of 8 blocks"):
        Plan(36, lanes=32, cluster=8)
    with pytest.raises(ValueError, match="do not fit the registers of 8 blocks"):
        rms_norm_backward.plan_for(65540, f32)


def test_the_text_does_not_grow_with_the_row() -> None:
    for name, norm in NORMS.items():
        lengths = full(LENGTHS, default=(1024, 262144))
        longest = max(len(norm.make(columns).ptx(B=64)) for columns in lengths)
        assert longest < 16_000, name


@pytest.mark.ptxas
@pytest.mark.parametrize("name", full(list(NORMS), default=["layer_norm"]))
def test_nothing_spills_and_rows_move_by_sixteen_bytes(name: str) -> None:
    for columns in full(LENGTHS, default=(8192,)):
        for dtype in full(list(DTYPES), default=[f32]):
            kernel = NORMS[name].make(columns, dtype)
            resources = kernel.resources(B=64)
            assert resources.spill_loads == resources.spill_stores == 0
            assert resources.registers * kernel.block[0] <= 1 << 15  # half of an SM's registers: two CTAs fit
            sass = [line for line in kernel.sass(B=64).splitlines() if "LDG" in line or "STG" in line]
            assert sass
            assert all(".128" in line for line in sass)


@pytest.mark.ptxas
def test_softmax_takes_one_exponential_an_element_and_nothing_is_scaled_around_one() -> None:
    count = opcodes(softmax.softmax.sass(B=64, N=8192))
    assert 64 <= count["MUFU.EX2"] <= 64 + 3  # one EX2 for each of 64 elements per thread, up to 3 to rescale sums
    assert "FSETP" not in count
    assert "FSETP" not in opcodes(swiglu.swiglu.sass(M=64, F=8192))


@pytest.mark.ptxas
def test_five_blocks_of_layer_norm_fit_an_sm() -> None:
    resources = layer_norm.layer_norm.resources(B=64, N=8192)
    assert resources.registers <= 96
    assert resources.spill_loads == resources.spill_stores == 0


@pytest.mark.ptxas
def test_the_gradients_do_not_spill() -> None:
    for columns in full((1024, 8192, 65536), default=(8192,)):
        for dtype in full(list(DTYPES), default=[bf16]):
            kernel = rms_norm_backward.rms_norm_gradients_for(columns, dtype)
            workers = rms_norm_backward.workers(rms_norm_backward.plan_for(columns, dtype))
            resources = kernel.resources(B=4096, P=workers)
            assert resources.spill_loads == resources.spill_stores == 0
            assert resources.registers <= 128
