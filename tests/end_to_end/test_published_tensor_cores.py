"""The tcgen05 examples of the wheel of pyptx 0.1.1: traced unchanged, assembled, run on the simulator.

The table lists the rules found for each kernel in order and with delayed completion (`delay_async`).
docs/published-kernels.md names the lines and explains the findings. Most of the kernels are hardware probes.
`PYPTX_KERNELS=all` runs all kernels with another schedule, too.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import ml_dtypes
import numpy as np
import pytest
from tools.shares import share

from pyptx_ir.toolchain import assemble

from .published import build, examples, rules  # noqa: F401  pytest requests the fixture by its name

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]

pytest.importorskip("jax")

pytestmark = [pytest.mark.scaled(2), pytest.mark.jax, pytest.mark.ptxas, pytest.mark.blackwell]

FINE, EXPERIMENTAL = "gemm_highperf_blackwell", "gemm_experimental_blackwell"
IN_ORDER: dict[str, Any] = {}
LATE: dict[str, Any] = {"delay_async": True}
SEEDED: dict[str, Any] = {"seed": 1, "delay_async": True}

Results: TypeAlias = "Callable[..., Array]"


def product(a: Array, b: Array) -> Array:
    """Return A B^T in float64: B is stored as N rows of K."""
    return a.astype(np.float64) @ b.astype(np.float64).T


def grouped(a: Array, b: Array) -> Array:
    return np.vstack([product(*each) for each in zip(np.split(a, 2), np.split(b, 2), strict=True)])


def columns_counted(_: Array) -> Array:
    return np.tile(np.arange(1.0, 65.0), (32, 1))


def constant(value: float) -> Results:
    return lambda _: np.full((1, 1), value)


@dataclass(frozen=True)
class Example:
    """A kernel builder, its arguments; rules of findings `in_order` and `late` (delayed completion), blank-separated.

    `want` computes the expected results; None if the results are never correct. Results are correct in order and,
    unless `overtaken`, with delayed completion. `overtaken`: a stage is reused too early, or a wait returns too early.
    """

    module: str
    builder: str
    shape: tuple[int, ...] = ()
    words: dict[str, Any] = field(default_factory=dict)
    in_order: str = ""
    late: str = ""
    want: Results | None = None
    overtaken: bool = False

    @property
    def name(self) -> str:
        return "-".join(map(str, (self.module, self.builder, *self.shape, *self.words.values())))


def probe(module: str, in_order: str, late: str, **words: Any) -> Example:
    return Example(module, "build", (), words, in_order, late)


# A probe waits for the wrong parity: the wait returns at once while the MMA is outstanding, and never afterwards.
UNSEEN = "missing-proxy-fence"
STUCK = f"{UNSEEN} deadlock"
UNAWAITED = f"{UNSEEN} read-before-wait tmem-use-after-free unfinished-tcgen05 uninitialized-memory"
TWICE = f"{UNAWAITED} mbarrier-phase mbarrier-reinit"
SPREAD = f"{UNAWAITED} tmem-lanes"
BEYOND = "mbarrier-as-data out-of-bounds uninitialized-memory"
REUSED, APART, UNPAIRED = (
    "early-reuse tmem-use-after-free",
    "tmem-use-after-free tmem-lanes",
    "tmem-use-after-free cluster-cta-not-started",
)
UNFILLED = f"{UNSEEN} uninitialized-memory"
PERSISTENT = "early-reuse mbarrier-reinit out-of-bounds tmem-lanes unfinished-copy"

EXAMPLES = (
    Example(FINE, "build_gemm", (128, 256, 128), {}, "tmem-use-after-free", "tmem-use-after-free", product),
    Example(FINE, "build_gemm", (256, 512, 384), {}, REUSED, REUSED, product, overtaken=True),
    Example(FINE, "build_gemm_persistent", (256, 512, 128), {"num_ctas": 2}, PERSISTENT, PERSISTENT),
    Example(FINE, "build_gemm_2sm", (256, 256, 448), {}, UNPAIRED, UNPAIRED, product),
    Example(EXPERIMENTAL, "build_gemm_pallas_experimental", (384, 512, 320), {"num_ctas": 2}, want=product),
    Example(EXPERIMENTAL, "build_gemm_no_tma_debug", (128, 256, 64), {}, STUCK, TWICE),
    Example(
        "grouped_gemm",
        "build_grouped_gemm",
        (2, 128, 64, 128),
        {},
        "tmem-use-after-free",
        "tmem-use-after-free",
        grouped,
    ),
    Example("grouped_gemm", "build_grouped_gemm", (2, 128, 256, 320), {}, REUSED, REUSED, grouped, overtaken=True),
    probe("tcgen05_accum_probe", f"{STUCK} {BEYOND}", f"{SPREAD} {BEYOND}"),
    probe("tcgen05_accum_probe", STUCK, SPREAD, advance_descs=False),
    probe("tcgen05_accum_probe", STUCK, SPREAD, advance_descs=False, scale_c=1),
    probe("tcgen05_accum_probe", STUCK, f"{TWICE} tmem-lanes", advance_descs=False, split_after=2),
    probe("tcgen05_ld_phase_probe", STUCK, TWICE, use_shift=False),
    probe("tcgen05_ld_phase_probe", STUCK, f"{TWICE} lane-race", use_shift=True),
    probe("tcgen05_ld_register_probe", STUCK, TWICE),
    probe("tcgen05_mma_probe", STUCK, SPREAD),
    Example("tcgen05_roundtrip", "build", (), {}, APART, APART, columns_counted),
    Example("tcgen05_smoke", "build_alloc_only", want=constant(11)),
    Example("tcgen05_smoke", "build_mma_only", (), {}, UNFILLED, UNFILLED, constant(22)),
    Example("tcgen05_smoke", "build_ld_only", (), {}, "tmem-use-after-free", "tmem-use-after-free", constant(33)),
)
UNTRACED = {"tcgen05_suite": "runs the other examples on a device", "tcgen05_epilogue_partition_probe": "so does this"}
WITHOUT_TCGEN05 = {"rms_norm", "layer_norm", "swiglu"}  # test_published_examples.py traces these kernels

SOME = share(EXAMPLES, 3)

each_example = pytest.mark.parametrize("example", EXAMPLES, ids=[each.name for each in EXAMPLES])


def built(example: Example) -> Any:
    return build(f"blackwell.{example.module}", example.builder, example.shape, **example.words)


def inputs(kernel: Any) -> list[Array]:
    random = np.random.default_rng(0)
    kinds = (np.float32 if str(spec.dtype) == "f32" else ml_dtypes.bfloat16 for spec in kernel.in_specs)
    return [random.standard_normal(spec.shape).astype(kind) for spec, kind in zip(kernel.in_specs, kinds, strict=True)]


@pytest.mark.usefixtures("examples")
@each_example
def test_a_published_use_of_tcgen05_traces_unchanged_and_assembles(example: Example) -> None:
    kernel = built(example)
    text = kernel.ptx()
    assert "tcgen05.alloc" in text
    assert text == built(example).ptx()
    assert assemble(text, kernel.arch).cubin[:4] == b"\x7fELF"


@pytest.mark.usefixtures("examples")
def test_every_published_example_of_blackwell_is_traced() -> None:
    folder = Path(str(importlib.import_module("examples.blackwell.rms_norm").__file__)).parent
    traced = {each.module for each in EXAMPLES} | WITHOUT_TCGEN05
    assert {path.stem for path in folder.glob("*.py")} - {"__init__"} == traced | UNTRACED.keys()


@pytest.mark.usefixtures("examples")
@pytest.mark.parametrize("mode", [IN_ORDER, LATE], ids=["in order", "late"])
@each_example
def test_what_is_found_of_a_published_use_of_tcgen05(example: Example, mode: dict[str, Any]) -> None:
    kernel = built(example)
    given = inputs(kernel)
    result = kernel.simulate(*given, **mode)
    assert rules(result) == set((example.late if mode else example.in_order).split())
    if example.want is None:
        return
    away = np.abs(result.outputs[0].astype(np.float64) - example.want(*given)).max()
    assert (away < 1e-4) == (not (mode and example.overtaken))


@pytest.mark.usefixtures("examples")
@pytest.mark.parametrize("example", SOME, ids=[each.name for each in SOME])
def test_other_schedules_find_what_is_found_late(example: Example) -> None:
    kernel = built(example)
    found = rules(kernel.simulate(*inputs(kernel), **SEEDED))
    assert found >= set(example.late.split())
    assert bool(found) == bool(example.late)


SLOTS = [(EXAMPLES[1], {(219, 258), (223, 258)}), (EXAMPLES[7], {(168, 208), (173, 208)})]


@pytest.mark.usefixtures("examples")
@pytest.mark.parametrize(("example", "lines"), SLOTS, ids=[each.name for each, _ in SLOTS])
def test_a_slot_is_freed_where_a_product_is_issued_and_not_where_it_ends(
    example: Example, lines: set[tuple[int, int]]
) -> None:
    """Copies into a stage do not wait for a commit of the MMAs that read the stage: a plain arrival frees the stage."""
    kernel = built(example)
    result = kernel.simulate(*inputs(kernel))
    early = [finding for finding in result.findings if finding.rule == "early-reuse"]
    assert {(finding.origin[0].line, finding.other_origin[0].line) for finding in early} == lines


@pytest.mark.usefixtures("examples")
def test_warps_beyond_the_fourth_read_lanes_that_there_are_not() -> None:
    kernel = built(EXAMPLES[2])
    result = kernel.simulate(*inputs(kernel))
    lanes = [finding for finding in result.findings if finding.rule == "tmem-lanes"]
    assert {finding.origin[0].line for finding in lanes} == {557}
    assert any("lanes 128-159" in finding.message for finding in lanes), [str(finding) for finding in lanes]
