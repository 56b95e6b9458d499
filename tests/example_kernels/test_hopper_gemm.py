"""GEMMs for Hopper: correct for partial tiles and under every schedule; machine code without extra instructions.

`PYPTX_KERNELS=all` runs the whole matrix of shapes and schedules; the default is a small share.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from examples.tile_order import place
from tools.sass_loops import loops, main_loop
from tools.shares import full

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import u32
from pyptx_dsl.errors import SharedMemoryError
from pyptx_sim.errors import LaunchError

from .misplaced import misplaced

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = [pytest.mark.scaled, pytest.mark.hopper]

SCHEDULES: tuple[Mapping[str, Any], ...] = (
    {},
    {"seed": 1},
    {"seed": 2},
    {"delay_async": True},
    {"seed": 3, "delay_async": True},
)
HIGHPERF, FP8, NARROW = "gemm_highperf_hopper", "gemm_fp8_hopper", "gemm_narrow_hopper"
# Opcodes of an MMA loop besides MMAs and mbarriers: matrix descriptors in uniform registers, and loop counters.
COUNTING = {
    *("BRA", "IADD3", "IMAD", "ISETP", "LEA", "LOP3", "MOV", "NOP", "PLOP3", "R2UR", "S2R", "S2UR", "SEL", "SHF"),
    *("UIADD3", "UIMAD", "UISETP", "ULEA", "ULOP3", "UMOV", "UPLOP3", "USEL", "USGXT", "USHF", "VIADD", "VOTEU"),
    *("WARPSYNC", "YIELD"),
}


@dataclass(frozen=True, slots=True)
class Product:
    """A GEMM kernel: file, build options, edge-case shapes (M, N, K), and number of copies that fill a stage."""

    file: str
    sizes: Mapping[str, Any]
    shapes: tuple[tuple[int, int, int], ...]
    copies: int
    opcode: str = "HGMMA"

    def __str__(self) -> str:
        return "-".join([self.file, *(f"{name}={value}" for name, value in self.sizes.items())])

    def kernel(self) -> Any:
        """Return the kernel of the example file, built with these options."""
        module = import_module(f"examples.hopper.{self.file}")
        return module.build_gemm(**self.sizes) if self.sizes else module.gemm

    def inputs(self, shape: tuple[int, int, int], seed: int = 0) -> tuple[np.ndarray[Any, Any], ...]:
        """Draw A and B; for fp8, also their scales."""
        (m, n, k), rng = shape, np.random.default_rng(seed)
        dtype = ml_dtypes.float8_e4m3fn if self.file == FP8 else ml_dtypes.bfloat16
        turned = self.file == FP8 or self.sizes.get("b_major") == "K"
        a, b = (rng.standard_normal(size).astype(dtype) for size in ((m, k), (n, k) if turned else (k, n)))
        scales = np.exp(rng.standard_normal((2, 1))).astype(np.float32)
        return (a, b, *scales) if self.file == FP8 else (a, b)

    def expected(self, inputs: tuple[np.ndarray[Any, Any], ...]) -> np.ndarray[Any, Any]:
        """Compute the GEMM's reference in float64."""
        if self.sizes.get("b_major") == "K":
            inputs = (inputs[0], inputs[1].T)
        return np.asarray(import_module(f"examples.hopper.{self.file}").reference(*inputs))


# Sizes M, N, K: at most one tile of C; partial tiles in every dimension; K below one pipeline stage, not a multiple of
# a stage, or longer than all stages.
SMALL = {"block_n": 128, "stages": 3, "cluster": 2, "blocks": 4, "band": 2}
PRODUCTS = (
    Product("gemm_simple_hopper", {}, ((72, 72, 136), (1, 8, 8), (64, 64, 64), (130, 200, 264)), copies=2),
    Product("gemm_pipelined_hopper", {}, ((136, 136, 328), (1, 8, 8), (128, 128, 64), (260, 264, 200)), copies=3),
    Product("gemm_warp_specialized", {}, ((136, 264, 328), (1, 8, 8), (128, 256, 64), (260, 520, 200)), copies=5),
    Product(HIGHPERF, {}, ((300, 264, 72), (1, 8, 8), (256, 512, 320), (600, 520, 328)), copies=3),
    Product(HIGHPERF, SMALL, ((700, 264, 200), (1, 8, 8), (1100, 136, 72)), copies=2),
    Product(HIGHPERF, {**SMALL, "b_major": "K", "block_n": 64}, ((700, 264, 200), (300, 72, 8)), copies=2),
    Product(HIGHPERF, {**SMALL, "cluster": 1, "block_m": 64, "block_n": 64}, ((200, 264, 200), (40, 72, 8)), copies=2),
    Product(HIGHPERF, {**SMALL, "cluster": 4, "block_n": 256, "blocks": 8}, ((700, 520, 72), (1, 8, 8)), copies=2),
    Product(HIGHPERF, {"block_n": 192, "cluster": 3, "blocks": 6}, ((500, 400, 136),), copies=2),
    Product(FP8, {}, ((300, 136, 272), (1, 8, 16), (256, 128, 128)), copies=2, opcode="QGMMA"),
    Product(FP8, {"cluster": 1, "stages": 2, "blocks": 2}, ((300, 264, 656),), copies=2, opcode="QGMMA"),
    Product(FP8, {"block_n": 192, "stages": 5}, ((300, 200, 272), (256, 192, 128)), copies=2, opcode="QGMMA"),
    Product(NARROW, {"splits": 1}, ((10, 200, 1416), (1, 8, 8), (16, 64, 64)), copies=2),
    Product(NARROW, {"splits": 6, "stages": 3}, ((10, 72, 1416), (1, 8, 8), (20, 64, 2560)), copies=2),
    Product(NARROW, {"splits": 3, "stages": 3, "rows": 48, "b_major": "K"}, ((70, 72, 1416), (48, 64, 200)), copies=2),
)
DEFAULT = (*PRODUCTS[:4], PRODUCTS[6], PRODUCTS[9], PRODUCTS[13])
RUNS = [
    (product, shape, schedule)
    for product in full(PRODUCTS, default=DEFAULT)
    for shape in full(product.shapes, default=product.shapes[:1])
    for schedule in full(SCHEDULES, default=SCHEDULES[:1])
]
each_product = pytest.mark.parametrize("product", full(PRODUCTS, default=DEFAULT), ids=str)
each_assembled = pytest.mark.parametrize("product", full(PRODUCTS, default=DEFAULT[3:4]), ids=str)


def name_of(value: object) -> str:
    """Return the pytest id of a parameter."""
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


@pytest.mark.parametrize(("product", "shape", "schedule"), RUNS, ids=name_of)
def test_a_product_equals_its_float64_reference_and_gives_nothing_to_find(
    product: Product, shape: tuple[int, int, int], schedule: Mapping[str, Any]
) -> None:
    inputs = product.inputs(shape)
    expected = product.expected(inputs)
    result = product.kernel().simulate(*inputs, checks="all", **schedule)
    assert [str(finding) for finding in result.findings] == []
    actual = result.outputs[0].astype(np.float64)
    # Bound: half an ulp of bf16, plus the error of f32 accumulation.
    assert (np.abs(actual - expected) <= 2.0**-8 * np.abs(expected) + 2.0**-14 * np.abs(expected).max()).all()


@pytest.mark.parametrize(("rows", "columns", "band"), [(1, 1, 8), (3, 5, 2), (8, 4, 8), (17, 3, 16)])
def test_every_tile_is_taken_once_by_columns_of_a_band(rows: int, columns: int, band: int) -> None:
    @kernel(out_specs=(Tile(rows * columns, 2, u32),), grid=rows * columns, block=1, arch="sm_90a")
    def order(OUT):
        (out,) = ptx.global_ptrs(OUT)
        block = reg.from_(ptx.special.ctaid.x(), u32)
        ptx.st(u32, ptx.addr(out + block * 8), place(block, reg.scalar(u32, init=rows), columns, band))
        ptx.ret()

    taken = [tuple(map(int, pair)) for pair in order.simulate().outputs[0]]
    bands = [range(first, min(first + band, rows)) for first in range(0, rows, band)]
    assert taken == [(row, column) for band in bands for column in range(columns) for row in band]


@each_product
def test_the_text_does_not_grow_with_the_problem(product: Product) -> None:
    kernel = product.kernel()
    shapes = ((256, 256, 256), (8192, 8192, 8192), (16, 24, 8192))
    lengths = {kernel.ptx(M=m, N=n, K=k).count("\n") for m, n, k in shapes}
    assert len(lengths) == 1


@each_assembled
@pytest.mark.ptxas
def test_registers_suffice_and_ptxas_has_no_advice(product: Product) -> None:
    resources = product.kernel().resources(M=4096, N=4096, K=4096)  # advisories of ptxas: pytest makes them errors
    assert resources.spill_stores == resources.spill_loads == resources.stack == 0


@each_assembled
@pytest.mark.ptxas
def test_its_loops_are_what_the_hand_sees(product: Product) -> None:
    sass = product.kernel().sass(M=4096, N=4096, K=4096)
    found = main_loop(sass)
    assert found is not None
    loop, copying = found.histogram, product.file in {"gemm_simple_hopper", "gemm_pipelined_hopper"}
    assert loop[product.opcode] == 4  # four MMAs per pipeline stage: tile size BK is 4 * k_step
    sums = {"FADD"} if product.file == FP8 else set()
    copies = {"UTMALDG", "BSSY", "BSYNC"} if copying else set()
    barrier = {"BAR"} if product.file == "gemm_simple_hopper" else set()
    assert loop.keys() - COUNTING == {product.opcode, "WARPGROUP", "SYNCS", *sums, *copies, *barrier}
    assert loop.total() - loop["FADD"] <= (110 if copying else 65)
    filling = min((each for each in loops(sass) if each.histogram["UTMALDG"]), key=lambda each: len(each.opcodes))
    assert filling.histogram["UTMALDG"] == product.copies
    if not copying:
        assert filling.histogram.keys() - COUNTING == {"UTMALDG", "SYNCS"}


@pytest.mark.parametrize(
    ("module", "sizes", "told"),
    [
        (HIGHPERF, {"block_n": 64}, "block_n=64: multiples of 128"),
        (HIGHPERF, {"block_n": 72, "b_major": "K"}, "block_n=72: multiples of 64"),
        (HIGHPERF, {"block_n": 320, "cluster": 1}, "block_n=320: multiples of 64 up to 256"),
        (HIGHPERF, {"block_n": 64, "b_major": "K", "cluster": 3}, "block_n=64: multiples of 192"),
        (FP8, {"block_n": 96}, "block_n=96: multiples of 64"),
        (FP8, {"block_n": 256}, "block_n=256: multiples of 64 up to 192"),  # accumulators of 256 columns would spill
        (HIGHPERF, {"stages": 1}, "stages=1: two or more"),  # with one pipeline stage, the main loop would deadlock
        (HIGHPERF, {"blocks": 1}, "blocks=1, band=8: use blocks >= 2"),
        (HIGHPERF, {"band": 0}, "blocks=None, band=0: use blocks >= 2 and band >= 1"),
        (NARROW, {"rows": 24}, "rows=24: multiples of 16 up to 256"),
        (NARROW, {"splits": 9}, "splits=9: one block, or a cluster of up to 8"),
        (NARROW, {"stages": 1}, "stages=1: two or more"),
    ],
)
def test_a_cut_that_the_kernel_cannot_make_is_refused(module: str, sizes: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        import_module(f"examples.hopper.{module}").build_gemm(**sizes)


@pytest.mark.parametrize("module", [HIGHPERF, FP8])
def test_consumers_without_registers_are_refused(module: str) -> None:
    with pytest.raises(ValueError, match="block_m=192: one consumer or two"):
        import_module(f"examples.hopper.{module}").build_gemm(block_m=192)


@pytest.mark.parametrize("product", PRODUCTS[:4], ids=str)
def test_a_result_that_stores_cannot_reach_is_refused(product: Product) -> None:
    inputs = product.inputs((64, 64, 64))
    with pytest.raises(LaunchError, match=r"out= for c: address .* is not aligned"):
        product.kernel()(*inputs, out=misplaced(np.zeros((64, 64), ml_dtypes.bfloat16)))


def test_stages_that_do_not_fit_are_refused() -> None:
    with pytest.raises(SharedMemoryError, match="use fewer stages or smaller tiles"):
        import_module(f"examples.hopper.{HIGHPERF}").build_gemm(stages=6).ptx(M=256, N=256, K=256)


def test_an_fp8_sum_keeps_what_is_small_beside_it() -> None:
    """Partial sums over 128 elements of K are added in f32: a long K loses no more precision than a short one."""
    kernel, k = import_module(f"examples.hopper.{FP8}").build_gemm(cluster=1, stages=2), 1024
    a, b = np.full((1, k), 0.0625, np.float32), np.ones((8, k), np.float32)
    a[0, 0] = 448.0
    inputs = (*(each.astype(ml_dtypes.float8_e4m3fn) for each in (a, b)), *np.ones((2, 1), np.float32))
    result = kernel.simulate(*inputs, checks="none", numerics="exact").outputs[0].astype(np.float64)
    expected = import_module(f"examples.hopper.{FP8}").reference(*inputs)
    lost = 128 * 0.0625  # an accumulator of 448 may lose the addend 0.0625 in each of its first 128 terms
    assert (np.abs(result - expected) <= lost + 2.0**-8 * expected).all()


def test_the_width_of_a_scaled_product_s_tiles_leaves_few_multiprocessors_idle() -> None:
    fp8 = import_module(f"examples.hopper.{FP8}")
    assert fp8.width_for(8192, 8192) == 192  # 21 waves of 192-column tiles are faster than 32 of 128-column tiles
    assert fp8.width_for(4096, 4096) == 128  # 8 waves of 128-column tiles are faster than 6 of 192-column tiles
    assert fp8.width_for(100, 100) == 128  # a single tile of C, of either width


def test_a_scaled_product_is_that_of_the_kernel_which_fits() -> None:
    product = Product(FP8, {}, (), copies=2)
    inputs = product.inputs((100, 136, 144))
    fp8 = import_module(f"examples.hopper.{FP8}")
    assert np.array_equal(fp8.scaled_product(*inputs), fp8.gemm(*inputs))


@pytest.mark.parametrize(
    ("columns", "splits"), [(8, 8), (960, 8), (1024, 6), (1920, 4), (2048, 3), (4224, 2), (4232, 1), (8456, 1)]
)
def test_a_narrow_product_divides_k_where_columns_are_few(columns: int, splits: int) -> None:
    assert import_module(f"examples.hopper.{NARROW}").splits_for(columns) == splits


def test_a_narrow_product_is_that_of_the_kernel_which_fits() -> None:
    inputs, narrow = Product(NARROW, {}, (), copies=2).inputs((3, 72, 712)), import_module(f"examples.hopper.{NARROW}")
    assert np.array_equal(narrow.gemm(*inputs), narrow.build_gemm(splits=8)(*inputs))
