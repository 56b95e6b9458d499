"""Norms, softmax and SwiGLU of examples/blackwell: correct with 32-byte and smaller vectors; their SASS opcodes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from examples.blackwell import rms_norm, softmax, swiglu
from examples.rows.plans import BLACKWELL, Plan
from examples.rows.vectors import BYTES
from tools.shares import FULL, full

from pyptx.types import PtxType, bf16, f32
from pyptx_dsl.errors import AlignmentError

from .norms import DTYPES, SCHEDULES, check, normal, norms_of, opcodes

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.scaled, pytest.mark.blackwell, pytest.mark.hopper]

NORMS = norms_of("blackwell")


def plan(columns: int, dtype: PtxType, **sizes: Any) -> Plan:
    return Plan(columns, dtype, target=BLACKWELL, **sizes)


# Row lengths per code path: multiples of 32 bytes; for two paths, odd multiples of 16 bytes, too. Some do not fill the
# last step.
PATHS = {
    "lanes": lambda dtype: (Plan.of(80, dtype, BLACKWELL), 7),
    "lanes, 16 bytes": lambda dtype: (Plan.of(72 if dtype == bf16 else 76, dtype, BLACKWELL), 7),
    "registers": lambda dtype: (Plan.of(1072, dtype, BLACKWELL), 3),
    "registers, 16 bytes": lambda dtype: (Plan.of(1064 if dtype == bf16 else 1068, dtype, BLACKWELL), 3),
    "shared memory": lambda dtype: (plan(1072, dtype, lanes=64, shared=True), 3),
    "two blocks": lambda dtype: (plan(1072, dtype, lanes=32, cluster=2), 3),
}
MATRIX = [(name, path, dtype, turn) for name in NORMS for path in PATHS for dtype in DTYPES for turn in range(4)]


def matrix_share() -> Iterator[Any]:
    """Yield one case per code path of the kernels, alternating kernels, types and schedules; all cases if `FULL`."""
    for number, (name, path, dtype, schedule) in enumerate(MATRIX):
        turn = list(PATHS).index(path)
        if FULL or (name, dtype, schedule) == (list(NORMS)[turn % 3], list(DTYPES)[turn // 2 % 2], turn % 2):
            yield pytest.param(name, path, dtype, SCHEDULES[schedule], number, id=f"{name}-{path}-{dtype}-{schedule}")


@pytest.mark.parametrize(("name", "path", "dtype", "schedule", "seed"), list(matrix_share()))
def test_a_kernel_equals_float64_without_a_finding(
    name: str, path: str, dtype: PtxType, schedule: dict[str, Any], seed: int
) -> None:
    norm, (chosen, rows) = NORMS[name], PATHS[path](dtype)
    arrays = normal(seed, dtype, (rows, chosen.columns), *[(chosen.columns,)] * norm.vectors)
    result = norm.make(chosen.columns, dtype, chosen).simulate(*arrays, checks="all", **schedule)
    assert result.findings == ()
    check(result.outputs[0], norm.reference(*arrays), dtype)


@pytest.mark.parametrize("name", NORMS)
def test_the_kernel_for_any_length_takes_odd_and_long_rows(name: str) -> None:
    norm = NORMS[name]
    for columns in full((4, 516, 520, 8200), default=(516, 8200)):
        arrays = normal(columns, f32, (2, columns), *[(columns,)] * norm.vectors)
        check(norm.kernel(*arrays), norm.reference(*arrays), f32)


def test_rows_that_begin_between_wide_vectors_take_a_plan_of_their_own() -> None:
    x, w = np.ones(4 * 80 + 4, np.float32)[4:].reshape(4, 80), np.ones(80, np.float32)
    with pytest.raises(AlignmentError, match=r"X starts at address .* not a multiple of 32 bytes"):
        rms_norm.rms_norm_for(80)(x, w)
    narrow = Plan.of(80, f32, replace(BLACKWELL, widest=BYTES))
    check(rms_norm.rms_norm_for(80, f32, narrow)(x, w), rms_norm.reference(x, w), f32)


def test_softmax_bears_large_numbers_and_masks() -> None:
    x = np.random.default_rng(3).uniform(-1e4, 1e4, (4, 1072)).astype(np.float32)
    x[1, 5:] = -np.inf  # all elements of some warps are -inf
    x[2] = np.float32(3.4e38) * np.where(np.arange(1072) % 2, 1, -1)
    x[3] = -np.inf
    result = softmax.softmax(x)
    check(result[:3], softmax.reference(x[:3]), f32)
    assert np.isnan(result[3]).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(1, 8), (3, 5464)], ids=str)
def test_swiglu_equals_float64_without_a_finding(dtype: PtxType, shape: tuple[int, int]) -> None:
    gate, up = normal(6, dtype, shape, shape)
    result = swiglu.swiglu_for(dtype).simulate(gate, up, checks="all")
    assert result.findings == ()
    check(result.outputs[0], swiglu.reference(gate, up), dtype)


def test_the_text_does_not_grow_with_the_row() -> None:
    for name, norm in NORMS.items():
        for columns in full((8, 1024, 8192, 16392, 24576, 131072, 262144, 458752), default=(1024, 262144)):
            assert len(norm.make(columns).ptx(B=64)) < 20_000, (name, columns)


@pytest.mark.ptxas
@pytest.mark.parametrize("name", full(list(NORMS), default=["softmax"]))
def test_rows_move_by_32_bytes_and_are_computed_two_at_a_time(name: str) -> None:
    for dtype in full(list(DTYPES), default=[f32]):
        kernel = NORMS[name].make(8192, dtype)
        resources, count = kernel.resources(B=64), opcodes(kernel.sass(B=64))
        assert resources.spill_loads == resources.spill_stores == 0
        assert resources.registers * kernel.block[0] <= 1 << 15  # half of an SM's registers: two CTAs fit
        moved = {name for name in count if name.startswith(("LDG", "STG"))}
        assert moved
        assert all(".256" in name for name in moved)
        # Most arithmetic is packed (f32x2); the remaining scalar instructions reduce over lanes and warps.
        assert count["FADD2"] + count["FMUL2"] + count["FFMA2"] > 2 * (count["FADD"] + count["FMUL"] + count["FFMA"])
        assert count["MOV"] < 16  # no moves assemble the stored vectors
