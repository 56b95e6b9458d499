"""GEMMs of examples/blackwell: correct for partial tiles, no findings; instructions in main loops.

`PYPTX_KERNELS=all` runs every shape under every schedule; the default is one shape and one schedule for each kernel.
"""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from tools.sass_loops import loops
from tools.shares import full, share

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyptx_dsl.registers.register import Reg

pytestmark = [pytest.mark.scaled, pytest.mark.blackwell, pytest.mark.hopper]

SCHEDULES: tuple[Mapping[str, Any], ...] = (
    {},
    {"seed": 1},
    {"seed": 2},
    {"delay_async": True},
    {"seed": 3, "delay_async": True},
)
# Sizes M, N, K: at most one tile of C; partial tiles in every dimension; K below one pipeline stage, or not a multiple
# of a stage.
SHAPES = {
    "gemm_simple_blackwell": ((136, 72, 136), (1, 8, 8), (128, 128, 64), (260, 264, 200)),
    "gemm_pipelined_blackwell": ((200, 264, 328), (1, 8, 8), (128, 256, 64), (260, 520, 72)),
    "gemm_2sm_blackwell": ((300, 264, 328), (1, 8, 8), (256, 256, 64), (520, 264, 72)),
    "gemm_highperf_blackwell": ((300, 264, 72), (1, 8, 8), (256, 256, 64), (600, 1032, 456)),
    "gemm_multicast_blackwell": ((300, 264, 136), (1, 8, 8), (512, 256, 64), (1100, 520, 200)),
    "gemm_persistent_blackwell": ((300, 264, 72), (1, 8, 8), (256, 256, 64), (600, 1032, 456)),
}
# GEMMs that run as persistent kernels, with fewer CTAs than tiles.
LAST: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("gemm_highperf_blackwell", {"blocks": 2}),
    ("gemm_highperf_blackwell", {"blocks": 5}),
    ("gemm_multicast_blackwell", {"blocks": 4, "block_n": 256}),
    ("gemm_persistent_blackwell", {}),
)
# Options of the persistent kernels: few pipeline stages, narrow tiles, partial bands of tile rows, K-major B.
PLANS: tuple[Mapping[str, Any], ...] = (
    {"block_n": 128, "stages": 2, "band": 2, "b_major": "K"},
    {"stages": 3, "band": 1},
)
RUNS = [
    (name, shape, schedule)
    for turn, (name, shapes) in enumerate(SHAPES.items())
    for shape in full(shapes, default=shapes[:1])
    for schedule in share(SCHEDULES, len(SCHEDULES), turn)
]
EACH = pytest.mark.parametrize("name", SHAPES)


def kernel_of(name: str) -> Any:
    return import_module(f"examples.blackwell.{name}").gemm


def check(kernel: Any, shape: tuple[int, int, int], schedule: Mapping[str, Any], b_major: str = "MN") -> None:
    """Run a kernel on random operands with all checks, and compare the result with float64."""
    (m, n, k), rng = shape, np.random.default_rng(0)
    a, b = (rng.standard_normal(size).astype(ml_dtypes.bfloat16) for size in ((m, k), (k, n)))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    given = b if b_major == "MN" else np.ascontiguousarray(b.T)
    result = kernel.simulate(a, given, checks="all", **schedule)
    assert [str(finding) for finding in result.findings] == []
    actual = result.outputs[0].astype(np.float64)
    assert (np.abs(actual - expected) <= 2.0**-8 * np.abs(expected) + 2.0**-14 * np.abs(expected).max()).all()


@pytest.mark.parametrize(("name", "shape", "schedule"), RUNS, ids=str)
@pytest.mark.long
def test_a_product_equals_its_float64_reference_and_gives_nothing_to_find(
    name: str, shape: tuple[int, int, int], schedule: Mapping[str, Any]
) -> None:
    check(kernel_of(name), shape, schedule)


@pytest.mark.parametrize("schedule", full(SCHEDULES, default=SCHEDULES[3:4]), ids=str)
@pytest.mark.parametrize("plan", full(PLANS, default=PLANS[:1]), ids=str)
@pytest.mark.parametrize(("name", "blocks"), LAST, ids=str)
@pytest.mark.long
def test_it_may_be_cut_up_in_any_way(
    name: str, blocks: Mapping[str, int], plan: Mapping[str, Any], schedule: Mapping[str, Any]
) -> None:
    kernel = import_module(f"examples.blackwell.{name}").build_gemm(**{**plan, **blocks})
    check(kernel, (520, 264, 200), schedule, plan.get("b_major", "MN"))


@pytest.mark.parametrize("schedule", full(SCHEDULES, default=SCHEDULES[3:4]), ids=str)
@pytest.mark.parametrize("room", full((2, 4, 6, 10, 12, 264), default=(10, 264)))
def test_pairs_take_over_what_has_no_room(room: int, schedule: Mapping[str, Any]) -> None:
    """Six tiles; `room` CTAs are resident: from one CTA pair, which computes all tiles, to one pair per tile."""
    kernel = import_module("examples.blackwell.gemm_persistent_blackwell").build_gemm(stages=3)
    check(kernel, (520, 264, 72), {**schedule, "resident_blocks": room})


@pytest.mark.parametrize("plan", [{"block_n": 64}, {"stages": 1}, {"band": 0}, {"blocks": 1}], ids=str)
def test_a_plan_that_cannot_be_is_refused(plan: Mapping[str, Any]) -> None:
    from examples.blackwell.gemm_highperf_blackwell import Gemm

    with pytest.raises(ValueError, match=next(iter(plan))):
        Gemm(**plan)


@pytest.mark.parametrize("schedule", full(SCHEDULES, default=SCHEDULES[1:2]), ids=str)
@pytest.mark.long
def test_a_tile_that_two_pairs_take_is_found(schedule: Mapping[str, Any]) -> None:
    """If two CTA pairs compute a tile, its values are still correct; only the race check detects it."""
    from examples.blackwell.gemm_persistent_blackwell import Taking, TakingBlock

    class Twins(Taking):
        def grid(self, M: int, N: int) -> int:
            return 2 * Taking.grid(self, M, N)

        def block(self, *tensors: Any) -> Twin:
            return Twin(self, *tensors)

    class Twin(TakingBlock):
        def corner(self, tile: Reg) -> tuple[Reg, Reg]:
            return TakingBlock.corner(self, tile >> 1)

    factors = [np.ones(shape, ml_dtypes.bfloat16) for shape in ((264, 8), (8, 8))]
    twins: Any = Twins()
    result = twins.kernel().simulate(*factors, checks="all", **schedule)
    assert (result.outputs[0].astype(np.float64) == 8).all()
    assert "'c'" in str(result.findings[0])


def test_a_timeline_shows_when_each_product_ends(tmp_path: Path) -> None:
    """The timeline shows the end of each MMA, even if the simulator executes it together with later MMAs."""
    factors = [np.ones(shape, ml_dtypes.bfloat16) for shape in ((8, 136), (136, 8))]
    kernel_of("gemm_simple_blackwell").simulate(*factors, trace=tmp_path / "run.json")
    events = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    ends = [event["args"].get("ended", True) for event in events if event["name"].startswith("tcgen05.mma")]
    assert ends == [True] * (3 * 4)


@EACH
def test_the_text_does_not_grow_with_the_problem(name: str) -> None:
    shapes = ((256, 256, 256), (8192, 8192, 8192), (16, 24, 8192))
    assert len({kernel_of(name).ptx(M=m, N=n, K=k).count("\n") for m, n, k in shapes}) == 1


@EACH
@pytest.mark.ptxas
def test_registers_suffice_and_its_loop_multiplies(name: str) -> None:
    kernel = kernel_of(name)
    resources = kernel.resources(M=4096, N=4096, K=4096)  # ptxas advisories are warnings, which pytest makes errors
    assert resources.spill_stores == resources.spill_loads == resources.stack == 0
    sass = kernel.sass(M=4096, N=4096, K=4096)
    multiplying = [each for each in loops(sass) if any("UTCHMMA" in opcode for opcode in each.opcodes)]
    assert multiplying
    assert min(each.histogram["UTCHMMA"] for each in multiplying) == 4  # four MMAs per pipeline stage: BK is 4 * 16
