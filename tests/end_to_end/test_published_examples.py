"""The examples of the wheel of pyptx 0.1.1 trace unchanged with this version, and assemble.

By default each GEMM is simulated either in order or with delayed completion (`delay_async`), alternately; with
`PYPTX_KERNELS=all` it is simulated in both modes. The tcgen05 examples are in `test_published_tensor_cores.py`.
"""

from __future__ import annotations

import importlib
import itertools
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tools.shares import full

from pyptx_ir.toolchain import assemble

from .published import build, examples, rules  # noqa: F401  pytest requests the fixture by its name

pytest.importorskip("jax")

pytestmark = [pytest.mark.scaled, pytest.mark.jax, pytest.mark.ptxas]

ROWS, COLUMNS = 64, 2048

CASES = [
    *(
        (f"hopper.{name}", builder, (ROWS, COLUMNS))
        for name, builder in (
            ("rms_norm", "build_rms_norm"),
            ("layer_norm", "build_layer_norm"),
            ("softmax", "build_softmax"),
            ("swiglu", "build_fused_silu_mul"),
        )
    ),
    *(
        (f"ampere.{name}", builder, (ROWS, COLUMNS))
        for name, builder in (
            ("rms_norm", "build_rms_norm"),
            ("layer_norm", "build_layer_norm"),
            ("softmax", "build_softmax"),
            ("swiglu", "build_fused_silu_mul"),
        )
    ),
    *(
        (f"blackwell.{name}", builder, (ROWS, COLUMNS))
        for name, builder in (
            ("rms_norm", "build_rms_norm"),
            ("layer_norm", "build_layer_norm"),
            ("swiglu", "build_fused_silu_mul"),
        )
    ),
    ("ampere.gemm", "build_gemm", (64, 64, 64)),
    ("ampere.gemm_pipelined", "build_gemm_pipelined", (256, 256, 256)),
    ("ampere.gemm_highperf_ampere", "build_gemm_highperf", (256, 256, 256)),
    ("hopper.grouped_gemm", "build_grouped_gemm", (2, 64, 64, 128)),
    ("hopper.experimental.flash_attention_hopper", "build_flash_attention_hopper", (128, 128, 64)),
    ("hopper.experimental.flash_attention_parallel", "build_flash_attention_parallel", (128, 128)),
    ("hopper.experimental.flash_attention_wgmma_kloop", "build_flash_attention_kloop", (128,)),
]


@pytest.mark.usefixtures("examples")
@pytest.mark.parametrize(("module", "builder", "shape"), CASES, ids=[case[0] for case in CASES])
def test_a_published_example_traces_unchanged_and_assembles(module: str, builder: str, shape: tuple[int, ...]) -> None:
    kernel = build(module, builder, shape)
    text = kernel.ptx()
    assert text == build(module, builder, shape).ptx()
    assert assemble(text, kernel.arch).cubin[:4] == b"\x7fELF"


AMPERE_PRODUCTS = [case for case in CASES if case[0].startswith("ampere.gemm")]
MODES = ({}, {"delay_async": True})
SIMULATED = full(
    list(itertools.product(AMPERE_PRODUCTS, MODES)),
    default=list(zip(AMPERE_PRODUCTS, itertools.cycle(MODES), strict=False)),
)


@pytest.mark.usefixtures("examples")
@pytest.mark.parametrize(("case", "mode"), SIMULATED, ids=[f"{case[0]}-{mode}" for case, mode in SIMULATED])
@pytest.mark.long
def test_a_published_product_is_right_and_clean_on_the_simulator(
    case: tuple[str, str, tuple[int, ...]], mode: dict[str, Any]
) -> None:
    """The wheel's GEMMs were written for hardware: their ldmatrix, mma.sync and cp.async verify pyptx's layouts."""
    kernel = build(*case)
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(spec.shape).astype(ml_dtypes.bfloat16) for spec in kernel.in_specs)
    result = kernel.simulate(a, b, **mode)
    assert result.findings == ()
    np.testing.assert_allclose(result.outputs[0], a.astype(np.float64) @ b.astype(np.float64).T, rtol=0, atol=1e-4)


ATTENTION = [case for case in CASES if "attention" in case[0]]
PROXY_FENCE = "missing-proxy-fence"  # docs/published-kernels.md lists the lines that need a proxy fence


@pytest.mark.hopper
@pytest.mark.usefixtures("examples")
@pytest.mark.parametrize("mode", [{}, {"seed": 1, "delay_async": True}], ids=["in order", "late"])
def test_the_published_grouped_product_is_right_and_clean_on_the_simulator(mode: dict[str, Any]) -> None:
    kernel = build("hopper.grouped_gemm", "build_grouped_gemm", (2, 64, 64, 128))
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(spec.shape).astype(ml_dtypes.bfloat16) for spec in kernel.in_specs)
    result = kernel.simulate(a, b, **mode)
    groups = zip(np.split(a.astype(np.float64), 2), np.split(b.astype(np.float64), 2), strict=True)
    assert result.findings == ()
    np.testing.assert_allclose(
        result.outputs[0], np.vstack([left @ right for left, right in groups]), rtol=0, atol=1e-4
    )


@pytest.mark.hopper
@pytest.mark.usefixtures("examples")
@pytest.mark.parametrize(("module", "builder", "shape"), ATTENTION, ids=[case[0] for case in ATTENTION])
def test_published_attention_is_right_and_lacks_a_fence(module: str, builder: str, shape: tuple[int, ...]) -> None:
    kernel = build(module, builder, shape)
    random = np.random.default_rng(0)
    inputs = [random.standard_normal(spec.shape).astype(ml_dtypes.bfloat16) for spec in kernel.in_specs]
    result = kernel.simulate(*inputs, delay_async=True)
    q, k, v = (each.astype(np.float64) for each in inputs)  # the kernel's input K is already transposed
    scores = np.exp(q @ k / np.sqrt(q.shape[1]))
    expected = scores @ v / scores.sum(axis=1, keepdims=True)
    assert rules(result) == {PROXY_FENCE}
    np.testing.assert_allclose(result.outputs[0], expected, rtol=0, atol=2**-8)  # the kernel rounds P to bf16


@pytest.mark.hopper
@pytest.mark.usefixtures("examples")
def test_the_published_flagship_is_right_and_ends_too_early() -> None:
    module = importlib.import_module("examples.hopper.gemm_highperf_hopper")
    m, n, k = 2 * module.BM, module.BN, 2 * module.BK
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((m, k), (n, k)))
    schedule = module.create_hilbert_schedule(1, 1).astype(np.uint32)
    result = module.gemm_warp_specialized.simulate(a, b, schedule)
    expected = b.astype(np.float64) @ a.astype(np.float64).T
    assert rules(result) == {PROXY_FENCE, "cluster-cta-exited"}
    np.testing.assert_allclose(result.outputs[0].astype(np.float64), expected, rtol=2**-8, atol=1e-3)


@pytest.mark.hopper
@pytest.mark.usefixtures("examples")
@pytest.mark.parametrize("mode", full([{}, {"delay_async": True}, {"seed": 1}], default=[{"seed": 1}]), ids=str)
@pytest.mark.long
def test_the_published_flagship_writes_what_tma_still_stores_with_two_tiles_a_cluster(mode: dict[str, Any]) -> None:
    module = importlib.import_module("examples.hopper.gemm_highperf_hopper")
    m, n, k = 2 * module.BM, 2 * module.BN, 2 * module.BK
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((m, k), (n, k)))
    schedule = module.create_hilbert_schedule(1, 1).astype(np.uint32)
    schedule[1] = 1  # the schedule assigns tile 1 to the first cluster, in addition to tile 0
    result = module.gemm_warp_specialized.simulate(a, b, schedule, **mode)
    early = [finding for finding in result.findings if finding.rule == "early-reuse"]
    assert {(finding.origin[0].line, finding.other_origin[0].line) for finding in early} == {(243, 263)}


@pytest.mark.usefixtures("examples")
@pytest.mark.long
def test_the_published_flagship_traces_unchanged_and_assembles_for_any_sizes() -> None:
    kernel = importlib.import_module("examples.hopper.gemm_highperf_hopper").gemm_warp_specialized
    texts = {kernel.ptx(M=size, N=size, K=size) for size in (512, 1024, 8192)}
    assert len(texts) == 1  # the PTX text is the same for all sizes
    (text,) = texts
    found = assemble(text, kernel.arch)
    assert found.cubin[:4] == b"\x7fELF"
    words = ("wgmma.mma_async", ".mbarrier::complete_tx::bytes", ".bulk_group", "setmaxnreg.inc", "setmaxnreg.dec")
    assert [text.count(word) for word in words] == [16, 10, 1, 1, 1]
    sass = kernel.sass(M=512, N=512, K=512)
    machine = (r"\bHGMMA\b", r"\bUTMALDG\b", r"\bUTMASTG\b", r"\bUSETMAXREG\.TRY_ALLOC", r"\bUSETMAXREG\.DEALLOC")
    assert [len(re.findall(word, sass)) for word in machine] == [16, 10, 1, 1, 1]
    assert not [line for line in text.splitlines() if "wgmma.mma_async" in line and "{" not in line]
