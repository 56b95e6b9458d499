"""GEMMs of examples/blackwell for sm_120: correct for partial tiles, no findings; instructions in main loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from examples.blackwell import gemm_blockscaled_sm120 as scaled
from examples.blackwell import gemm_sm120 as dense
from tools.sass_loops import main_loop
from tools.shares import full

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = [pytest.mark.scaled, pytest.mark.blackwell, pytest.mark.hopper]

SCHEDULES: tuple[Mapping[str, Any], ...] = (
    {"seed": 1},
    {"delay_async": True},
    {},
    {"seed": 2},
    {"seed": 3, "delay_async": True},
)
# Sizes M, N, K: partial tiles of C in every dimension, less than a tile, whole tiles; more steps over K than pipeline
# stages; K with a partial step.
SHAPES = ((136, 136, 264), (1, 8, 8), (128, 128, 64), (260, 264, 200))
SCALED_SHAPES = ((136, 136, 1024), (1, 8, 256), (260, 264, 512))
FORMATS = {"mxfp8": (scaled.MXFP8, scaled.gemm_mxfp8), "nvfp4": (scaled.NVFP4, scaled.gemm_nvfp4)}
KERNELS: dict[str, tuple[Any, dict[str, int]]] = {
    "dense": (dense.gemm, {"M": 4096, "N": 4096, "K": 4096}),
    "mxfp8": (scaled.gemm_mxfp8, {"M": 4096, "N": 4096, "K": 4096, "S": 128}),
    "nvfp4": (scaled.gemm_nvfp4, {"M": 4096, "N": 4096, "K": 2048, "S": 256}),
}


def check(result: Any, expected: Any) -> None:
    assert [str(finding) for finding in result.findings] == []
    actual = result.outputs[0].astype(np.float64)
    assert (np.abs(actual - expected) <= 2.0**-8 * np.abs(expected) + 2.0**-14 * np.abs(expected).max()).all()


@pytest.mark.parametrize("shape", full(SHAPES, default=SHAPES[:2]), ids=str)
@pytest.mark.parametrize("schedule", full(SCHEDULES, default=SCHEDULES[:1]), ids=str)
@pytest.mark.long
def test_a_product_equals_float64_without_a_finding(shape: tuple[int, int, int], schedule: Mapping[str, Any]) -> None:
    (m, n, k), rng = shape, np.random.default_rng(0)
    a, b = (rng.standard_normal(size).astype(ml_dtypes.bfloat16) for size in ((m, k), (k, n)))
    check(dense.gemm.simulate(a, b, checks="all", **schedule), dense.reference(a, b))


@pytest.mark.parametrize("shape", full(SCALED_SHAPES, default=SCALED_SHAPES[:1]), ids=str)
@pytest.mark.parametrize("schedule", full(SCHEDULES, default=SCHEDULES[1:2]), ids=str)
@pytest.mark.parametrize("name", FORMATS)
def test_a_scaled_product_equals_float64_without_a_finding(
    name: str, shape: tuple[int, int, int], schedule: Mapping[str, Any]
) -> None:
    (form, kernel), (m, n, k) = FORMATS[name], shape
    rng = np.random.default_rng(1)
    # Scaled blocks of very different magnitudes: the scale factor of another row, column or block gives a wrong result.
    spread = [np.exp2(rng.integers(-6, 7, (rows, k // form.per_scale))).repeat(form.per_scale, 1) for rows in (m, n)]
    (a, sa), (b, sb) = (
        scaled.quantize(form, (rng.standard_normal(each.shape) * each).astype(np.float32)) for each in spread
    )
    check(kernel.simulate(a, b, sa, sb, checks="all", **schedule), scaled.reference(form, a, b, sa, sb))


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_quantized_is_near_what_it_was(name: str) -> None:
    form, _ = FORMATS[name]
    x = np.random.default_rng(2).standard_normal((5, 512)).astype(np.float32)
    # Error bound: half an ulp. For e4m3, this is 2**-4 of the element. For e2m1, it is a sixth of the largest element,
    # and a fifth if the scale factor is rounded.
    unit = {"mxfp8": 2.0**-4 * np.abs(x) + 2.0**-9, "nvfp4": np.abs(x).max() / 5}[name]
    assert (np.abs(scaled.dequantize(form, *scaled.quantize(form, x)) - x) <= unit).all()


@pytest.mark.parametrize("name", FORMATS)
def test_a_part_of_a_stage_or_other_scales_are_refused(name: str) -> None:
    form, kernel = FORMATS[name]
    needed = f"a multiple of {form.depth} is needed, with a scale per {form.per_scale} elements of A and B"
    for sizes in ({"K": 192, "S": 6 * form.words}, {"K": 256, "S": 4 * form.words}):
        with pytest.raises(ValueError, match=needed):
            kernel.ptx(M=128, N=128, **sizes)


def test_the_text_does_not_grow_with_the_problem() -> None:
    shapes = ((256, 256, 256), (8192, 8192, 8192), (16, 24, 8192))
    assert len({dense.gemm.ptx(M=m, N=n, K=k).count("\n") for m, n, k in shapes}) == 1


@pytest.mark.ptxas
@pytest.mark.parametrize("name", full(list(KERNELS), default=["dense", "nvfp4"]))
@pytest.mark.long
def test_registers_suffice_and_its_loop_multiplies(name: str) -> None:
    kernel, sizes = KERNELS[name]
    resources = kernel.resources(**sizes)  # pytest turns ptxas advisories, which are warnings, into errors
    assert resources.spill_stores == resources.spill_loads == resources.stack == 0
    assert resources.shared <= 99 << 10
    sass = kernel.sass(**sizes)
    assert "CALL" not in sass
    loop = main_loop(sass)
    assert loop is not None
    found = loop.histogram
    assert sum(found[name] for name in ("HMMA", "QMMA", "OMMA")) == 64  # 4 x 4 fragments of C, 4 MMAs along K each
    assert found["LDSM"] == 24
    assert found["MOV"] < 16  # no register copies: MMAs read the registers that ldmatrix wrote
    assert found["LDG"] <= 3  # the only global loads are scale factors of the next pipeline stage
