"""The example kernels as subjects of mutations, each with a small launch that reaches all of its code.

Real kernels are unrolled. Of mutants that differ only in numbers and have the same neighboring instructions, one is
tested.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from pyptx.types import bf16
from pyptx_ir.syntax import emit
from pyptx_sim.arrays import argument_of
from pyptx_sim.mutations import Altered, mutants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyptx_ir.plugins.rows import Launchable
    from pyptx_ir.syntax.nodes import Module
    from pyptx_sim import SimulationResult
    from pyptx_sim.mutations import Mutant

Values: TypeAlias = NDArray[Any]
Arguments: TypeAlias = "tuple[Sequence[Values], Sequence[Values]]"
"""Arguments of a kernel call, and the expected values of its last arrays and outputs."""

AROUND = 2  # lines before and after a mutated PTX line; of mutants that agree in change and neighbors, one is tried
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Case:
    """An example kernel. The first word of `name` is its file; `kernel` returns it, given the file's module.

    `case`, given the module, returns the arguments and the expected values. These are compared with the outputs and, if
    there are more of them, with the last arguments, which the kernel modifies. The error may be at most `tolerance`,
    relative to the largest magnitude. `keywords` are passed with the arrays. `most` limits the number of mutants per
    operator for slow kernels.
    """

    name: str
    kernel: Callable[[Any], Launchable]
    case: Callable[[Any], Arguments]
    tolerance: float = 1e-2
    keywords: dict[str, Any] = field(default_factory=dict)
    most: int | None = None

    @cached_property
    def file(self) -> Any:
        """Python module of the example's file."""
        return import_module(f"examples.{self.name.partition(' ')[0].replace('/', '.')}")

    @cached_property
    def launched(self) -> Launchable:
        """Kernel object of the example's module."""
        return self.kernel(self.file)

    @cached_property
    def module(self) -> Module:
        """Syntax tree of the kernel's PTX, traced for the arrays of its case."""
        arrays, _ = self.case(self.file)
        return self.launched.specialize([argument_of(array) for array in arrays], self.keywords).module

    def run(self, module: Module | None = None, **options: Any) -> SimulationResult:
        """Run the kernel or a mutant; raise AssertionError if the result is wrong without a finding."""
        arrays, wanted = self.case(self.file)
        altered = Altered(self.launched, module or self.module)
        result = altered.simulate(*arrays, checks="all", **self.keywords, **options)
        if not result.findings:
            for got, expected in zip((*arrays, *result.outputs)[-len(wanted) :], wanted, strict=True):
                assert self._away(np.asarray(got), expected) <= self.tolerance
        return result

    @staticmethod
    def _away(got: Values, wanted: Values) -> float:
        """Return the largest error relative to the largest expected magnitude; infinity if it is not finite."""
        with np.errstate(invalid="ignore"):  # NumPy warns when it casts a signaling NaN
            away = np.abs(got.astype(np.float64) - wanted).max() / np.abs(wanted).max()
        return float(away) if np.isfinite(away) else np.inf


def tried(subject: Case) -> Iterator[Mutant]:
    """Yield the mutants of a kernel to test: at most `subject.most` per mutation operator, evenly distributed."""
    by_operator: dict[str, list[Mutant]] = {}
    for mutant in unlike(subject):
        by_operator.setdefault(mutant.operator.name, []).append(mutant)
    for found in by_operator.values():
        count = len(found) if subject.most is None else min(len(found), subject.most)
        yield from (found[(2 * place + 1) * len(found) // (2 * count)] for place in range(count))


def unlike(subject: Case) -> Iterator[Mutant]:
    """Yield mutants of a kernel: of mutants whose changes and neighboring lines differ only in numbers, the first."""
    shapes = [_NUMBER.sub("#", line) for line in emit(subject.module).splitlines()]
    seen: set[tuple[str, ...]] = set()
    for mutant in mutants(subject.module):
        around = shapes[max(0, mutant.line - 1 - AROUND) : mutant.line + AROUND]
        kind = (mutant.operator.name, _NUMBER.sub("#", mutant.after), *around)
        if kind not in seen:
            seen.add(kind)
            yield mutant


def drawn(*shapes: tuple[int, ...], dtype: Any = ml_dtypes.bfloat16, seed: int = 0) -> list[Values]:
    """Return normally distributed arrays of these shapes."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def of(*shapes: tuple[int, ...], dtype: Any = ml_dtypes.bfloat16) -> Callable[[Any], Arguments]:
    """Return the case of a kernel that computes its file's `reference`, for random arrays of these shapes."""

    def case(file: Any) -> Arguments:
        arrays = drawn(*shapes, dtype=dtype)
        return arrays, [file.reference(*arrays)]

    return case


def product(m: int, n: int, k: int) -> Callable[[Any], Arguments]:
    """Return the case of a GEMM, `C = A · B`."""
    return of((m, k), (k, n))


def called(name: str) -> Callable[[Any], Launchable]:
    """Return a function that returns the kernel `name` of an example's module."""
    return lambda file: getattr(file, name)


def built(maker: str, *arguments: Any, **sizes: Any) -> Callable[[Any], Launchable]:
    """Return a function that builds a kernel with function `maker` of an example's module."""
    return lambda file: getattr(file, maker)(*arguments, **sizes)


def _sum(file: Any) -> Arguments:
    (x,) = drawn((3000,), dtype=np.float32)
    return [x, np.zeros(1, np.float32)], [np.array([file.reference(x)])]


def _attention(
    queries: int, keys: int, head_dim: int, heads: tuple[int, int] = (2, 1), spread: float = 1
) -> Callable[[Any], Arguments]:
    """Return the case of attention; `spread` is the standard deviation of the scores."""

    def case(file: Any) -> Arguments:
        shapes = (queries, heads[0]), (keys, heads[1]), (keys, heads[1])
        q, k, v = drawn(*((1, rows, count, head_dim) for rows, count in shapes))
        q = (q * spread).astype(q.dtype)
        return [q, k, v], list(file.reference(q, k, v))

    return case


def _gradients(queries: int, keys: int, head_dim: int) -> Callable[[Any], Arguments]:
    def case(file: Any) -> Arguments:
        shapes = (queries, 2), (keys, 1), (keys, 1), (queries, 2)
        q, k, v, dout = drawn(*((1, rows, count, head_dim) for rows, count in shapes))
        (dsums,) = drawn((1, 2, queries), dtype=np.float32, seed=1)
        out, sums = file.FORWARD[head_dim](q, k, v)
        told = file.PREPARE[head_dim](out, dout, sums, dsums, T=file.steps_of(queries))
        return [q, k, v, dout, told], list(file.reference(q, k, v, dout, dsums))

    return case


def _fused_gradients(queries: int, keys: int, head_dim: int) -> Callable[[Any], Arguments]:
    """Return the case of the kernel `FUSED`; its additions to dQ are compared with those of the unmodified kernel."""

    def case(file: Any) -> Arguments:
        shapes = (queries, 2), (keys, 1), (keys, 1), (queries, 2)
        q, k, v, dout = drawn(*((1, rows, count, head_dim) for rows, count in shapes))
        (dsums,) = drawn((1, 2, queries), dtype=np.float32, seed=1)
        out, sums = file.FORWARD[head_dim](q, k, v)
        told, added = file.BEGIN[head_dim](out, dout, sums, dsums, T=file.steps_of(queries))
        wanted = added.copy()
        file.FUSED[head_dim](q, k, v, dout, told, wanted)
        return [q, k, v, dout, told, added], [wanted, *file.reference(q, k, v, dout, dsums)[1:]]

    return case


def _fp8(file: Any) -> Arguments:
    a, b = drawn((264, 656), (136, 656), dtype=ml_dtypes.float8_e4m3fn)
    scales = np.array([0.5], np.float32), np.array([3.0], np.float32)
    return [a, b, *scales], [file.reference(a, b, *scales)]


def _grouped(file: Any) -> Arguments:
    x, w = drawn((270, 200), (3, 200, 136))
    ends = np.array([7, 22, 270], np.int32)
    return [x, w, ends], [file.reference(x, w, ends)]


def _norm_gradients(file: Any) -> Arguments:
    x, w, dy = drawn((7, 264), (264,), (7, 264), dtype=np.float32)
    dx, dw = file.reference(x, w, dy)
    return [x, w, dy], [dx, dw[None]]  # dw has one row, because one CTA processes all rows of x


def _column_sums(_: Any) -> Arguments:
    (shares,) = drawn((5, 136), dtype=np.float32)
    return [shares], [shares.astype(np.float64).sum(0)]


def _scales_of_rows(file: Any) -> Arguments:
    m, n, k = 136, 272, 336  # three tiles of C, three loop steps each: the kernel reuses accumulators and stages
    a, b = drawn((m, k), (n, k), dtype=ml_dtypes.float8_e4m3fn)
    scales = (np.abs(each) + 0.5 for each in drawn((m,), (n,), dtype=np.float32, seed=1))
    arrays = [a, b, *scales]
    return arrays, [file.reference(*arrays)]


def _quantized(k: int) -> Callable[[Any], Arguments]:
    """Return the case of a 136 x 136 GEMM with operands quantized by the example."""

    def case(file: Any) -> Arguments:
        arrays = [each for pair in zip(*map(file.quantize, drawn((136, k), (136, k))), strict=True) for each in pair]
        return arrays, [file.reference(*arrays)]

    return case


def _block_scaled(form: str, k: int) -> Callable[[Any], Arguments]:
    """Return the case of a 136 x 136 GEMM with operands in one of the example's formats."""

    def case(file: Any) -> Arguments:
        chosen = getattr(file, form)
        factors = [file.quantize(chosen, each) for each in drawn((136, k), (136, k), **SINGLE)]
        arrays = [each for pair in zip(*factors, strict=True) for each in pair]
        return arrays, [file.reference(chosen, *arrays)]

    return case


def _ragged(file: Any) -> Arguments:
    x, w = drawn((147, 136), (3, 136, 136))
    ends = np.array([31, 36, 147], np.int32)  # end row of each group; 31: one row less than a warp has lanes
    return [x, w, ends], [file.reference(x, w, ends)]


def _largest(_: Any) -> Arguments:
    (x,) = drawn((9003,))
    x[8980] = -99  # the largest magnitude of x, at an index past the loads of the first loop iteration
    return [x], [np.array([99.0])]


def _quantizable(file: Any) -> Arguments:
    """Return the case of a quantizer; it expects the unmodified kernel's result, which other tests verify."""
    (x,) = drawn((130, 160))
    x[3, :32] = 0
    return [x], [each.astype(np.float64) for each in file.quantize(x)]


def _quantizable_below(file: Any) -> Arguments:
    (x,), outputs = _quantizable(file)
    return [x, np.abs(x).max().astype(np.float32)[None]], outputs


FEW = {"blocks": 2, "stages": 2}  # few CTAs: each computes several tiles and reuses its pipeline stages
NARROW = FEW | {"block_n": 128}
SINGLE = {"dtype": np.float32}
KERNELS = {
    subject.name: subject
    for subject in (
        Case("ampere/vector_add", called("vector_add"), of((700,), (700,), **SINGLE)),
        Case("ampere/transpose", called("transpose"), of((64, 96), **SINGLE), tolerance=0),
        Case("ampere/reduce", called("reduce_sum"), _sum, tolerance=1e-5),
        Case("ampere/gemm_simple", called("gemm"), product(70, 66, 50)),
        Case("ampere/gemm_pipelined", called("gemm_pipelined"), product(136, 136, 168)),
        Case("ampere/gemm_highperf_ampere", called("gemm_highperf"), product(136, 264, 168)),
        Case("hopper/gemm_simple_hopper", called("gemm"), product(72, 72, 136)),
        Case("hopper/gemm_pipelined_hopper", called("gemm"), product(136, 136, 392)),
        Case("hopper/gemm_warp_specialized", called("gemm"), product(136, 264, 328)),
        Case("hopper/gemm_highperf_hopper", built("build_gemm", **NARROW), product(264, 264, 200)),
        Case("hopper/gemm_narrow_hopper", built("build_gemm", splits=2, stages=2), product(10, 72, 456)),
        Case("hopper/gemm_fp8_hopper", built("build_gemm", **FEW), _fp8),
        Case("hopper/grouped_gemm", built("build_grouped_gemm", **NARROW), _grouped),
        Case("hopper/flash_attention", built("kernel_for", 64, 1), _attention(136, 712, 64), tolerance=2e-2, most=3),
        Case("hopper/flash_attention clusters", lambda file: file.variant(64, 3, stages=2), _attention(136, 1480, 64),
              tolerance=2e-2, most=2),
        Case("hopper/flash_attention_backward", lambda file: file.BACKWARD[64], _gradients(136, 264, 64),
              tolerance=2e-2),
        Case("hopper/flash_attention_backward_fused", lambda file: file.FUSED[64], _fused_gradients(72, 136, 64),
              tolerance=2e-2, most=1),
        Case("hopper/rms_norm", built("rms_norm_for", 520), of((5, 520), (520,), **SINGLE)),
        Case("hopper/layer_norm", built("layer_norm_for", 520), of((5, 520), (520,), (520,), **SINGLE)),
        Case("hopper/softmax", built("softmax_for", 520), of((5, 520), **SINGLE)),
        Case("hopper/swiglu", called("swiglu"), of((3, 1096), (3, 1096), **SINGLE)),
        Case("hopper/rms_norm_backward", built("rms_norm_gradients_for", 264), _norm_gradients,
              keywords={"P": 1}),
        Case("hopper/rms_norm_backward sums", built("column_sums_for"), _column_sums),
        Case("blackwell/gemm_simple_blackwell", called("gemm"), product(136, 136, 136)),
        Case("blackwell/gemm_pipelined_blackwell", called("gemm"), product(136, 264, 392)),
        Case("blackwell/gemm_2sm_blackwell", called("gemm"), product(264, 264, 392)),
        Case("blackwell/gemm_highperf_blackwell", built("build_gemm", **NARROW), product(264, 392, 200)),
        Case("blackwell/gemm_persistent_blackwell", built("build_gemm", stages=2, block_n=128),
              product(264, 392, 200)),
        Case("blackwell/gemm_multicast_blackwell", built("build_gemm", stages=2, blocks=4), product(520, 264, 200)),
        Case("blackwell/flash_attention_blackwell", lambda file: file.flash_attention_of(file.Plan(64, stages=2)),
              _attention(136, 264, 64, (1, 1), spread=8), tolerance=2e-2, most=1),
        Case("blackwell/flash_attention_backward_blackwell", lambda file: file.BACKWARD[128],
              _gradients(136, 264, 128), tolerance=2e-2, most=1),
        Case("blackwell/gemm_fp8_blackwell", built("build_gemm", **NARROW), _scales_of_rows),
        Case("blackwell/gemm_mxfp8_blackwell", built("build_gemm", **NARROW), _quantized(288)),
        Case("blackwell/gemm_nvfp4_blackwell", built("build_gemm", **NARROW), _quantized(544)),
        Case("blackwell/grouped_gemm_blackwell", built("build_grouped_gemm", **NARROW), _ragged),
        Case("blackwell/gemm_sm120", called("gemm"), product(136, 136, 328)),
        Case("blackwell/gemm_blockscaled_sm120 mxfp8", called("gemm_mxfp8"), _block_scaled("MXFP8", 768)),
        Case("blackwell/gemm_blockscaled_sm120 nvfp4", called("gemm_nvfp4"), _block_scaled("NVFP4", 1536)),
        Case("blackwell/quantize", built("largest_of", bf16), _largest, tolerance=0, keywords={"P": 1}),
        Case("blackwell/quantize_mxfp8", built("mxfp8_of", bf16), _quantizable, tolerance=0,
              keywords={"R": 2, "C": 2}),
        Case("blackwell/quantize_nvfp4", built("nvfp4_of", bf16), _quantizable_below, tolerance=0,
              keywords={"H": 80, "R": 2, "C": 3}),
        Case("blackwell/rms_norm", built("rms_norm_for", 520), of((5, 520), (520,), **SINGLE)),
        Case("blackwell/layer_norm", built("layer_norm_for", 520), of((5, 520), (520,), (520,), **SINGLE)),
        Case("blackwell/softmax", built("softmax_for", 520), of((5, 520), **SINGLE)),
        Case("blackwell/swiglu", called("swiglu"), of((3, 1096), (3, 1096), **SINGLE)),
    )
}  # fmt: skip
