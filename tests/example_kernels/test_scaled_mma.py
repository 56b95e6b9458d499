"""GEMMs of narrow floats in examples/blackwell: scaled per row or per block of K, correct for partial tiles.

`PYPTX_KERNELS=all` runs the whole matrix of shapes and schedules; the default is a small share.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from tools.sass_loops import loops
from tools.shares import full, share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]

pytestmark = [pytest.mark.scaled, pytest.mark.blackwell, pytest.mark.hopper]

NAMES = ("fp8", "mxfp8", "nvfp4")
SCHEDULES: tuple[Mapping[str, Any], ...] = (
    {},
    {"seed": 1},
    {"seed": 2},
    {"delay_async": True},
    {"seed": 3, "delay_async": True},
)
# M, N, K and build options: partial tiles of C, less than a tile, several tiles per CTA pair, several waves of tiles.
RUNS = (
    ((300, 136, 288), {"blocks": 2}),
    ((1, 8, 32), {}),
    ((256, 256, 256), {}),
    ((520, 136, 1440), {"block_n": 128, "stages": 3, "blocks": 4, "band": 2}),
    ((260, 520, 96), {"stages": 2, "blocks": 2, "band": 1}),
)
CASES = [
    (name, *run, schedule)
    for turn, name in enumerate(NAMES)
    for run in full(RUNS, default=RUNS[:1])
    for schedule in share(SCHEDULES, len(SCHEDULES), turn + 1)
]
EACH = pytest.mark.parametrize("name", NAMES)
SIZES: Mapping[str, Mapping[str, int]] = {
    "fp8": {"SA": 4096, "SB": 4096, "K": 4096},
    "mxfp8": {"RA": 32, "RB": 32, "C": 32, "K": 4096},
    "nvfp4": {"RA": 32, "RB": 32, "C": 64, "H": 2048},
}
PRODUCTS = {"fp8": "UTCQMMA", "mxfp8": "UTCQMMA", "nvfp4": "UTCOMMA"}


def module_of(name: str) -> Any:
    return import_module(f"examples.blackwell.gemm_{name}_blackwell")


def draw(name: str, m: int, n: int, k: int) -> list[Array]:
    """Return operands and scale factors of very different magnitudes, quantized by the example kernels."""
    rng = np.random.default_rng(m)
    if name == "fp8":
        factors = [rng.standard_normal((rows, k)).astype(ml_dtypes.float8_e4m3fn) for rows in (m, n)]
        return [*factors, *(np.exp2(rng.uniform(-3, 3, rows)).astype(np.float32) for rows in (m, n))]
    quantize = import_module(f"examples.blackwell.quantize_{name}").quantize
    sizes = (np.exp2(rng.integers(-3, 4, (rows, k // 16))).repeat(16, axis=1) for rows in (m, n))
    drawn = [(rng.standard_normal(each.shape) * each).astype(ml_dtypes.bfloat16) for each in sizes]
    return [each for pair in zip(*map(quantize, drawn), strict=True) for each in pair]


def assert_close(actual: Array, expected: Array) -> None:
    """Compare a result rounded to bf16 with the exact result; bound: half an ulp, plus a small bound for f32 errors."""
    assert np.isfinite(expected).all()
    error = np.abs(actual.astype(np.float64) - expected)
    assert (error <= 2.0**-8 * np.abs(expected) + 2.0**-20 * np.abs(expected).max()).all()


@pytest.mark.parametrize(("name", "shape", "sizes", "schedule"), CASES, ids=str)
@pytest.mark.long
def test_a_product_equals_what_its_factors_stand_for_and_gives_nothing_to_find(
    name: str, shape: tuple[int, int, int], sizes: Mapping[str, int], schedule: Mapping[str, Any]
) -> None:
    inputs, module = draw(name, *shape), module_of(name)
    result = module.build_gemm(**sizes).simulate(*inputs, checks="all", **schedule)
    assert [str(finding) for finding in result.findings] == []
    assert_close(result.outputs[0], module.reference(*inputs))


@pytest.mark.parametrize("counts", [(1, 1), (1, 72), (40, 1)])
@pytest.mark.long
def test_a_single_scale_is_for_the_whole_matrix(counts: Sequence[int]) -> None:
    a, b, *scales = draw("fp8", 40, 72, 64)
    scales = [scale[:count] for scale, count in zip(scales, counts, strict=True)]
    assert_close(module_of("fp8").gemm(a, b, *scales), module_of("fp8").reference(a, b, *scales))


def test_scales_that_are_not_those_of_the_factors_are_refused() -> None:
    a, b, *scales = draw("fp8", 40, 72, 64)
    with pytest.raises(ValueError, match="scale_a has 7 elements: 1, or 40"):
        module_of("fp8").gemm(a, b, scales[0][:7], scales[1])
    inputs = draw("mxfp8", 40, 72, 64)
    inputs[2] = np.zeros((2, 1, 128), np.uint32)
    with pytest.raises(ValueError, match=r"scale_a is \(2, 1, 128\): \(1, 1, 128\) for \(40, 64\) of a"):
        module_of("mxfp8").gemm(*inputs)


def test_more_stages_than_tensor_memory_has_room_for_are_refused() -> None:
    with pytest.raises(ValueError, match="stages=6: scales take 48 columns of tensor memory each"):
        module_of("nvfp4").build_gemm(stages=6)


@pytest.mark.parametrize("name", ["mxfp8", "nvfp4"])
@pytest.mark.long
def test_what_is_no_number_in_a_row_stays_there(name: str) -> None:
    """NaN and inf stay in their rows: elements past the edges are zero and use no scale factors of other rows."""
    rng, quantize = np.random.default_rng(5), import_module(f"examples.blackwell.quantize_{name}").quantize
    a, b = (rng.standard_normal((rows, 96)).astype(ml_dtypes.bfloat16) for rows in (40, 24))
    a[7, 40], b[3, 80] = np.nan, np.inf
    inputs = [each for pair in zip(quantize(a), quantize(b), strict=True) for each in pair]
    found = np.isnan(module_of(name).gemm(*inputs).astype(np.float64))
    expected = np.zeros(found.shape, bool)
    expected[7], expected[:, 3] = True, True
    np.testing.assert_array_equal(found, expected)


@EACH
def test_the_text_does_not_grow_with_the_problem(name: str) -> None:
    kernel = module_of(name).gemm
    few = {"fp8": {"K": 8192}, "mxfp8": {"K": 8192, "C": 64}, "nvfp4": {"H": 4096, "C": 128}}[name]
    texts = [kernel.ptx(M=4096, N=4096, **{**SIZES[name], **more}) for more in ({}, few)]
    assert len({text.count("\n") for text in texts}) == 1


@EACH
@pytest.mark.ptxas
@pytest.mark.long
def test_registers_suffice_and_the_loop_multiplies_and_copies_scales(name: str) -> None:
    kernel, opcode = module_of(name).gemm, PRODUCTS[name]
    sizes = {"M": 4096, "N": 4096, **SIZES[name]}
    resources = kernel.resources(**sizes)  # pytest turns ptxas advisories, which are warnings, into errors
    assert resources.spill_stores == resources.spill_loads == resources.stack == 0
    multiplying = [each.histogram for each in loops(kernel.sass(**sizes)) if each.histogram[opcode]]
    inner = min(multiplying, key=lambda histogram: sum(histogram.values()))
    assert inner[opcode] == 4
    assert inner["UTCCP"] == {"fp8": 0, "mxfp8": 3, "nvfp4": 12}[name]
    assert not {"LDG", "STG", "LDS", "STS", "LDL", "STL", "LDTM", "BAR"} & inner.keys()
