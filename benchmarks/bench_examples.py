"""Time of the example kernels: tracing, and simulation with and without checks.

    python benchmarks/bench_examples.py [--repeat N] [--again N] [--only WORD …]

Prints, for each kernel at one size, the best CPU time of N runs in seconds: the simulation without checks, with all
checks (measured alternately, so that both see the same load), and their ratio. For GEMMs it also prints the time of
tracing and emitting. Exits with 1 if a target is missed:

- a GEMM of size 512 in 0.1 s (0.4 s if one CTA pair takes over all tiles; no target for sm_120);
- a GEMM of size 1024 on Hopper in 1.2 s;
- a simulation with all checks in 3 times the time without checks;
- tracing and emitting a GEMM in 20 ms.

A kernel that misses a target is measured a second time, best of 30 (`--again`), and only that counts: shared machines
have slow moments. CPU time is not wall time: limit BLAS to one thread (`OMP_NUM_THREADS=1`).
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import ml_dtypes
import numpy as np
from timing import best, times

sys.path.append(str(Path(__file__).resolve().parents[1]))

from pyptx.types import bf16

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Arrays: TypeAlias = Sequence[Any]

BFLOAT16, E4M3 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn
MOST_FOR_CHECKS = 3.0
TRACING = 0.020  # maximum seconds to trace and emit a GEMM
HEIGHTS = count(1024, 128)  # a new value of M for each traced GEMM, because a kernel caches one trace per size


@dataclass(frozen=True)
class Case:
    """A call of a kernel: `kernel` and `arrays` get the imported module of a file in examples/.

    `size` is shown in the table. `limit` is the target in seconds without checks, if any. `traces` are N and K of a
    GEMM that is also traced.
    """

    file: str
    size: str
    kernel: Callable[[Any], Any]
    arrays: Callable[[Any], Arrays]
    keywords: dict[str, Any] = field(default_factory=dict)
    limit: float | None = None
    traces: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        """Name of the case in the table: its example file and size."""
        return f"{self.file} {self.size}"


def drawn(*shapes: tuple[int, ...], dtype: Any = BFLOAT16) -> list[Any]:  # noqa: ANN401 - a NumPy type of any kind
    """Return arrays of normally distributed numbers."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def of(*shapes: tuple[int, ...], dtype: Any = BFLOAT16) -> Callable[[Any], Arrays]:  # noqa: ANN401 - as above
    """Return a function that ignores its argument, an example's module, and draws arrays of these shapes."""
    return lambda _: drawn(*shapes, dtype=dtype)


def called(name: str, *arguments: Any) -> Callable[[Any], Any]:  # noqa: ANN401 - arguments of any maker
    """Return a function of an example's module: it returns the kernel `name`, or calls `name` to build it."""
    return lambda module: getattr(module, name)(*arguments) if arguments else getattr(module, name)


def product(
    file: str, m: int, n: int | None = None, k: int | None = None, *, name: str = "gemm", limit: float | None = None
) -> Case:
    """Return the case of a bf16 GEMM; its matrices are square if only `m` is given."""
    n, k = n or m, k or m
    size = str(m) if m == n == k else f"{m} x {n} x {k}"
    return Case(file, size, called(name), of((m, k), (k, n)), limit=limit, traces=(n, k))


def resident(case: Case, blocks: int, limit: float) -> Case:
    """Return the case for a device on which all CTAs are resident: no CTA takes over a tile of another CTA."""
    return replace(case, size=f"{case.size}, all resident", keywords={"resident_blocks": blocks}, limit=limit)


def scaled(file: str, size: int, *, limit: float | None = None) -> Case:
    """Return the case of a GEMM of two matrices, quantized by the example's own `quantize`."""

    def arrays(module: Any) -> Arrays:  # noqa: ANN401 - the module of a file
        parts = [module.quantize(each) for each in drawn((size, size), (size, size))]
        return [each for pair in zip(*parts, strict=True) for each in pair]

    return Case(file, str(size), called("gemm"), arrays, limit=limit)


def in_format(form: str, size: int) -> Case:
    """Return the case of a GEMM by mma.sync in one of the block-scaled formats."""

    def arrays(module: Any) -> Arrays:  # noqa: ANN401 - the module of a file
        chosen = getattr(module, form.upper())
        parts = [module.quantize(chosen, each) for each in drawn((size, size), (size, size), dtype=np.float32)]
        return [each for pair in zip(*parts, strict=True) for each in pair]

    return Case("blackwell/gemm_blockscaled_sm120", f"{size} {form}", called(f"gemm_{form}"), arrays)


def attention(file: str, length: int, head_dim: int, *, causal: bool = False) -> Case:
    """Return the case of attention with two heads."""
    size = f"{length}, D {head_dim}{', causal' * causal}"
    shapes = [(1, length, 2, head_dim)] * 3
    return Case(file, size, called("kernel_for", head_dim), of(*shapes), {"causal": causal})


def gradients(file: str, kernels: str, first: str, length: int, head_dim: int) -> Case:
    """Return the case of the slowest kernel of attention's gradients; `first` names the kernels that run before it."""

    def arrays(module: Any) -> Arrays:  # noqa: ANN401 - the module of a file
        q, k, v, dout = drawn(*[(1, length, 2, head_dim)] * 4)
        (dlse,) = drawn((1, 2, length), dtype=np.float32)
        out, lse = module.FORWARD[head_dim](q, k, v)
        stats = getattr(module, first)[head_dim](out, dout, lse, dlse, T=module.steps_of(length))
        return [q, k, v, dout, *(stats if isinstance(stats, (tuple, list)) else [stats])]

    return Case(file, f"{length}, D {head_dim}", lambda module: getattr(module, kernels)[head_dim], arrays)


def grouped(file: str, rows: int, size: int) -> Case:
    """Return the case of four uneven groups of rows, each multiplied by its own matrix."""
    ends = np.array([rows // 8, rows // 2, rows // 2, rows], np.int32)

    def arrays(_: Any) -> Arrays:  # noqa: ANN401 - as `Case` has it
        return [*drawn((rows, size), (4, size, size)), ends]

    return Case(file, f"{rows} rows, 4 of {size} x {size}", called("grouped_gemm"), arrays)


def rows(folder: str, count: int, length: int) -> list[Case]:
    """Return the cases of normalizing rows of float32, and of SwiGLU."""
    single = np.float32
    size = f"{count} x {length}"
    row, vector = (count, length), (length,)
    given = {"rms_norm": (row, vector), "layer_norm": (row, vector, vector), "softmax": (row,)}
    norms = [
        Case(f"{folder}/{name}", size, called(f"{name}_for", length), of(*shapes, dtype=single))
        for name, shapes in given.items()
    ]
    return [*norms, Case(f"{folder}/swiglu", size, called("swiglu"), of(row, row, dtype=single))]


def quantizer(name: str, block: int, size: int) -> Case:
    """Return the case of quantizing a square matrix by blocks of `block` elements."""
    scales = import_module("examples.blackwell.scales")
    extent = dict(zip("RC", scales.extent(size, size // block), strict=True))
    keywords = extent if name == "mxfp8" else {"H": size // 2, **extent}

    def arrays(_: Any) -> Arrays:  # noqa: ANN401 - as `Case` has it
        (x,) = drawn((size, size))
        return [x] if name == "mxfp8" else [x, np.abs(x).max().astype(np.float32)[None]]

    return Case(f"blackwell/quantize_{name}", str(size), called(f"{name}_of", bf16), arrays, keywords)


def fp8(file: str, size: int, *, of_rows: bool = False) -> Case:
    """Return the case of an e4m3 GEMM whose operands have one scale each, or one per row."""
    scale = np.ones(size if of_rows else 1, np.float32)

    def arrays(_: Any) -> Arrays:  # noqa: ANN401 - as `Case` has it
        return [*drawn((size, size), (size, size), dtype=E4M3), scale, scale]

    return Case(file, str(size), called("gemm"), arrays, limit=0.1, traces=None if of_rows else (size, size))


LADDERS = ("simple", "pipelined", "2sm", "highperf", "multicast")
# Persistent GEMM: one CTA pair computes all tiles of C, one after another.
PERSISTENT = product("blackwell/gemm_persistent_blackwell", 512, limit=0.4)
CASES = (
    Case("ampere/vector_add", "2^20", called("vector_add"), of((1 << 20,), (1 << 20,), dtype=np.float32)),
    Case("ampere/transpose", "512", called("transpose"), of((512, 512), dtype=np.float32)),
    product("ampere/gemm_simple", 512, limit=0.1),
    product("ampere/gemm_pipelined", 512, name="gemm_pipelined", limit=0.1),
    product("ampere/gemm_highperf_ampere", 512, name="gemm_highperf", limit=0.1),
    *(product(f"hopper/gemm_{step}", 512, limit=0.1)
      for step in ("simple_hopper", "pipelined_hopper", "warp_specialized", "highperf_hopper")),
    product("hopper/gemm_warp_specialized", 1024, limit=1.2),
    product("hopper/gemm_highperf_hopper", 1024, limit=1.2),
    product("hopper/gemm_highperf_hopper", 777, 504, 1000),
    fp8("hopper/gemm_fp8_hopper", 512),
    Case("hopper/gemm_narrow_hopper", "16 x 2048 x 1024", lambda module: module.build_gemm(),
         of((16, 1024), (1024, 2048))),
    grouped("hopper/grouped_gemm", 512, 256),
    attention("hopper/flash_attention", 512, 64),
    attention("hopper/flash_attention", 512, 128, causal=True),
    gradients("hopper/flash_attention_backward", "BACKWARD", "PREPARE", 256, 128),
    gradients("hopper/flash_attention_backward_fused", "FUSED", "BEGIN", 256, 64),
    *rows("hopper", 64, 8192),
    Case("hopper/rms_norm_backward", "64 x 8192", called("rms_norm_gradients_for", 8192),
         of((64, 8192), (8192,), (64, 8192), dtype=np.float32), {"P": 64}),
    *(product(f"blackwell/gemm_{step}_blackwell", 512, limit=0.1) for step in LADDERS),
    resident(PERSISTENT, blocks=8, limit=0.1),
    PERSISTENT,
    fp8("blackwell/gemm_fp8_blackwell", 512, of_rows=True),
    scaled("blackwell/gemm_mxfp8_blackwell", 512, limit=0.1),
    scaled("blackwell/gemm_nvfp4_blackwell", 512, limit=0.1),
    scaled("blackwell/gemm_mxfp8_blackwell", 1024),
    scaled("blackwell/gemm_nvfp4_blackwell", 1024),
    grouped("blackwell/grouped_gemm_blackwell", 512, 256),
    attention("blackwell/flash_attention_blackwell", 512, 64),
    attention("blackwell/flash_attention_blackwell", 512, 128, causal=True),
    gradients("blackwell/flash_attention_backward_blackwell", "BACKWARD", "PREPARE", 256, 128),
    *rows("blackwell", 64, 8192),
    quantizer("mxfp8", 32, 512),
    quantizer("nvfp4", 16, 512),
    product("blackwell/gemm_sm120", 512),
    in_format("mxfp8", 512),
    in_format("nvfp4", 512),
)  # fmt: skip


@dataclass(frozen=True)
class Figures:
    """Seconds of a case: simulation without checks and with all checks, and tracing (None if not measured)."""

    case: Case
    plain: float
    checked: float
    traced: float | None

    @property
    def kept(self) -> bool:
        """Whether the case meets its targets."""
        slow = self.checked > MOST_FOR_CHECKS * self.plain or self.plain > (self.case.limit or math.inf)
        return not slow and (self.traced or 0) <= TRACING

    def __str__(self) -> str:
        """Return the case's line of the table."""
        traced = "" if self.traced is None else f"{self.traced * 1e3:.1f}"
        limit = "" if self.case.limit is None else f"{self.case.limit:.1f}"
        ratio = self.checked / self.plain
        return f"{self.case.name:56} {traced:>8} {self.plain:8.3f} {limit:>6} {self.checked:8.3f} {ratio:6.1f}"


def measure(case: Case, repeat: int) -> Figures:
    """Return the `Figures` of a case, each the fastest of `repeat` runs."""
    module = import_module(f"examples.{case.file.replace('/', '.')}")
    kernel, arrays = case.kernel(module), case.arrays(module)

    def simulate(checks: str) -> None:
        result = kernel.simulate(*arrays, checks=checks, **case.keywords)
        if result.findings:
            sys.exit(f"{case.name}: {result.findings[0]}")

    plain, checked = map(min, times(partial(simulate, "none"), partial(simulate, "all"), repeat=repeat + 1))
    traced = None
    if case.traces is not None:
        n, k = case.traces
        traced = best(lambda: str(kernel.ptx(M=next(HEIGHTS), N=n, K=k)), repeat + 1)
    return Figures(case, plain, checked, traced)


def main() -> int:
    """Measure every case, or those whose names contain a word of `--only`; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--again", type=int, default=30)
    parser.add_argument("--only", nargs="*", default=[""])
    options = parser.parse_args()
    print(f"{'kernel':56} {'trace ms':>8} {'none s':>8} {'limit':>6} {'all s':>8} {'ratio':>6}")
    chosen = [case for case in CASES if any(word in case.name for word in options.only)]
    slow = 0
    for case in chosen:
        figures, runs = measure(case, options.repeat), ""
        if not figures.kept and options.again:
            figures, runs = measure(case, options.again), f"   best of {options.again}"
        slow += not figures.kept
        print(f"{figures}{runs}{'' if figures.kept else '   above the limit'}", flush=True)
    return int(slow > 0)


if __name__ == "__main__":
    sys.exit(main())
