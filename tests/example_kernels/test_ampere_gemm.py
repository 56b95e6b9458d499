"""The three GEMMs for Ampere: correct for every size and schedule, no findings, no extra instructions in main loops."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from examples.ampere import gemm_highperf_ampere, gemm_pipelined, gemm_simple
from examples.ampere.gemm_highperf_ampere import GROUP, Config, choose_tile
from tools.sass_loops import MATRIX, main_loop
from tools.shares import full

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import bf16, f16, u32
from pyptx_dsl.errors import AlignmentError
from pyptx_ir.toolchain import assemble, disassemble
from pyptx_sim.errors import LaunchError

from .bank_conflicts import conflicts
from .misplaced import misplaced

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.scaled

DTYPES = {
    "bf16": (bf16, ml_dtypes.bfloat16, 2.0**-8),
    "f16": (f16, np.float16, 2.0**-11),
}  # by type name: PTX type, NumPy type, relative error bound of rounding a result


@dataclass(frozen=True)
class GemmVersion:
    """One of the three GEMMs: builder, divisor of K and N (`unit`), numbers of MMAs and copies in its main loop."""

    name: str
    build: Callable[..., Any]
    unit: int
    products: int  # number of mma.sync instructions in the main loop
    copies: int  # number of cp.async instructions in the main loop
    options: dict[str, Any] = field(default_factory=dict)

    def kernel(self, **options: Any) -> Any:
        return self.build(**self.options, **options)


SMALL = {"m": 128, "n": 64, "k": 32, "stages": 4}
WIDE = {"m": 128, "n": 128, "k": 64, "stages": 3}
highperf = gemm_highperf_ampere.build_gemm_highperf
LADDER = (
    GemmVersion("simple", gemm_simple.build_gemm, unit=1, products=2 * 8, copies=0),
    GemmVersion("pipelined", gemm_pipelined.build_gemm_pipelined, unit=8, products=2 * 32, copies=8),
    GemmVersion("highperf", highperf, unit=8, products=2 * 32, copies=6),
    GemmVersion("highperf 128x64", highperf, unit=8, products=2 * 32, copies=12, options=SMALL),
    GemmVersion("highperf 128x128x64", highperf, unit=8, products=4 * 32, copies=16, options=WIDE),
)
# Sizes: M, N / `unit` and K / `unit`; less than a tile of C, partial tiles and several tiles in each dimension.
SIZES = ((1, 1, 1), (7, 3, 5), (65, 9, 17), (129, 17, 4), (260, 33, 13), (256, 32, 32))
SCHEDULES: tuple[dict[str, Any], ...] = ({}, {"seed": 1}, {"seed": 2, "delay_async": True})
SHARE = [
    *((step, "bf16", (67, 9, 9), {}) for step in LADDER[:3]),
    *((step, "f16", (3, 1, 5), {"seed": 4, "delay_async": True}) for step in (LADDER[0], LADDER[3])),
    (LADDER[0], "f16", (67, 73, 74), {}),
]
each_step = pytest.mark.parametrize("step", full(LADDER, default=LADDER[:3]), ids=lambda step: step.name)


@pytest.mark.parametrize(
    ("step", "dtype", "size", "schedule"),
    full(list(product(LADDER, DTYPES, SIZES, SCHEDULES)), default=SHARE),
    ids=lambda value: value.name if isinstance(value, GemmVersion) else str(value),
)
def test_a_product_equals_float64_and_is_clean_under_every_schedule(
    step: GemmVersion, dtype: str, size: tuple[int, int, int], schedule: dict[str, Any]
) -> None:
    m, n, k = size[0], size[1] * step.unit, size[2] * step.unit
    declared, stored, rounding = DTYPES[dtype]
    random = np.random.default_rng([m, n, k])
    a, b = (random.standard_normal(shape).astype(stored) for shape in ((m, k), (k, n)))
    result = step.kernel(dtype=declared).simulate(a, b, **schedule)
    assert result.findings == ()
    exact = a.astype(np.float64) @ b.astype(np.float64)
    # Bound: a sequence of f32 additions may err by one ulp per addition (docs/fragments.md); the result is rounded.
    bound = (k + 16) * 2.0**-23 * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64))
    error = np.abs(result.outputs[0].astype(np.float64) - exact)
    assert (error <= bound + rounding * (np.abs(exact) + bound) + 2.0**-25).all()


@pytest.mark.parametrize("step", full(LADDER, default=(LADDER[0], LADDER[3])), ids=lambda step: step.name)
def test_ldmatrix_never_waits_for_a_bank_and_nothing_else_does_where_tiles_are_swizzled(
    step: GemmVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = (np.random.default_rng(0).standard_normal(shape).astype(np.float16) for shape in ((80, 64), (64, 72)))
    found = conflicts(monkeypatch, step.kernel(dtype=f16), a, b)
    assert {"ldmatrix.sync", "st.shared" if step.copies == 0 else "cp.async"} <= found.keys()
    waiting = {opcode for opcode, passes in found.items() if passes}
    # gemm_simple stores to padded rows of shared memory, which takes two passes per store.
    assert waiting == ({"st.shared"} if step.copies == 0 else set())


def order_of_tiles(rows: int, columns: int) -> list[tuple[int, int]]:
    """Return the tile row and column of each CTA, as the kernel computes them."""

    @kernel(out_specs=(Tile(rows * columns, 2, u32),), grid=rows * columns, block=1, arch="sm_80")
    def order(OUT):
        (out,) = ptx.global_ptrs(OUT)
        block = reg.from_(ptx.special.ctaid.x(), u32)
        ptx.st(u32, ptx.addr(out + block * 8), choose_tile(block, rows, columns))
        ptx.ret()

    return [(int(row), int(column)) for row, column in order.simulate().outputs[0]]


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 5), (8, 4), (9, 4), (20, 3)])
def test_every_tile_is_taken_once_by_columns_of_a_group(rows: int, columns: int) -> None:
    taken = order_of_tiles(rows, columns)
    groups = [range(first, min(first + GROUP, rows)) for first in range(0, rows, GROUP)]
    assert taken == [(row, column) for group in groups for column in range(columns) for row in group]


@each_step
def test_the_text_does_not_grow_with_the_problem(step: GemmVersion) -> None:
    texts = [step.kernel().ptx(M=size, N=size, K=size) for size in (64, 16384)]
    assert texts[0].count("\n") == texts[1].count("\n")


@pytest.mark.parametrize("step", [step for step in LADDER if step.unit > 1], ids=lambda step: step.name)
def test_rows_that_are_no_multiples_of_16_bytes_are_refused(step: GemmVersion) -> None:
    with pytest.raises(ValueError, match="multiples of 8 for K and N, not 12 and 64: see gemm_simple"):
        step.kernel().ptx(M=64, N=64, K=12)


@pytest.mark.parametrize("step", LADDER[:3], ids=lambda step: step.name)
def test_arrays_that_wide_copies_cannot_reach_are_refused(step: GemmVersion) -> None:
    arrays = [np.zeros((64, 64), ml_dtypes.bfloat16) for _ in range(3)]
    for index, name in enumerate("ABC" if step.unit > 1 else "AB"):  # gemm_simple accepts any alignment of C
        a, b, out = (misplaced(array) if index == place else array for place, array in enumerate(arrays))
        words = rf"{name}(: address .* is not aligned| starts at address)"
        with pytest.raises((AlignmentError, LaunchError), match=words):
            step.kernel()(a, b, out=out)


@pytest.mark.parametrize("wrong", [{"m": 64}, {"n": 32}, {"k": 16, "stages": 8}, {"stages": 3}, {"m": 256}], ids=str)
def test_a_config_that_the_kernel_cannot_cut_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"not a multiple of|needs \d stages"):
        Config(**wrong)


@pytest.mark.ptxas
@pytest.mark.parametrize("step", full(LADDER, default=LADDER[2:3]), ids=lambda step: step.name)
@pytest.mark.parametrize("target", full(["sm_80", "sm_86", "sm_89", "sm_90a"], default=["sm_80"]))
def test_the_main_loop_holds_its_products_and_copies_and_nothing_spills(step: GemmVersion, target: str) -> None:
    assembly = assemble(step.kernel(arch=target).ptx(M=512, N=512, K=512), target)
    (resources,) = assembly.resources.values()
    assert resources.spills == resources.local == 0
    loop = main_loop(disassemble(assembly.cubin))
    assert loop is not None
    assert loop.count(MATRIX) == loop.histogram["HMMA"] == step.products
    assert loop.histogram["LDGSTS"] == step.copies
    assert not {"LDL", "STL", "CALL"} & loop.histogram.keys()
