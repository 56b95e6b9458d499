"""Simulation time of rms_norm and softmax, 256 rows of 4096 floats, a 512 x 512 x 512 GEMM, and a scan.

    python benchmarks/bench_sim.py [--repeat N] [--profile]

Prints the best wall time of N runs in seconds, without and with checks, the repository's target, and the error against
a float64 reference. The first run, which parses and lowers, is timed separately. The GEMM uses bf16 mma.sync; NumPy's
float32 GEMM of the same matrices is timed for comparison. In the scan each of 300 CTAs waits for a value in memory from
the preceding CTA. The CTAs run in a random order, which maximizes the waits. The scan's target is for the run with
checks.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from timing import times

from pyptx_sim import run

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

ROWS, COLUMNS, THREADS = 256, 4096, 128
VECTORS = COLUMNS // (4 * THREADS)

_HEAD = """\
.version 8.0
.target sm_80
.address_size 64
.visible .entry {name}(.param .u64 x, .param .u64 w, .param .u64 y)
{{
.reg .pred %p<4>;
.reg .b32 %r<20>;
.reg .b64 %rd<20>;
.reg .f32 %f<80>;
.shared .align 16 .f32 partial[32];
ld.param.u64 %rd1, [x];
ld.param.u64 %rd2, [w];
ld.param.u64 %rd3, [y];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mul.wide.u32 %rd4, %r2, {row_bytes};
mul.wide.u32 %rd5, %r1, 16;
add.s64 %rd6, %rd1, %rd4;
add.s64 %rd6, %rd6, %rd5;
add.s64 %rd7, %rd2, %rd5;
add.s64 %rd8, %rd3, %rd4;
add.s64 %rd8, %rd8, %rd5;
and.b32 %r3, %r1, 31;
shr.u32 %r4, %r1, 5;
mov.u32 %r5, partial;
shl.b32 %r6, %r4, 2;
add.u32 %r6, %r5, %r6;
setp.eq.u32 %p1, %r3, 0;
"""


def _load(base: str, first: int, vector: int) -> str:
    registers = ", ".join(f"%f{first + 4 * vector + part}" for part in range(4))
    return f"ld.global.v4.f32 {{{registers}}}, [{base}+{vector * THREADS * 16}];"


def _store(vector: int, first: int) -> str:
    registers = ", ".join(f"%f{first + 4 * vector + part}" for part in range(4))
    return f"st.global.v4.f32 [%rd8+{vector * THREADS * 16}], {{{registers}}};"


def _block_reduce(operation: str) -> list[str]:
    """Reduce %f0 over the CTA; every thread gets the result, in %f0."""
    lines = []
    for distance in (16, 8, 4, 2, 1):
        lines += [
            "mov.b32 %r10, %f0;",
            f"shfl.sync.bfly.b32 %r11, %r10, {distance}, 31, -1;",
            "mov.b32 %f1, %r11;",
            f"{operation}.f32 %f0, %f0, %f1;",
        ]
    lines += ["@%p1 st.shared.f32 [%r6], %f0;", "bar.sync 0;", "ld.shared.v4.f32 {%f0, %f1, %f2, %f3}, [%r5];"]
    return [*lines, *(f"{operation}.f32 %f0, %f0, %f{part};" for part in (1, 2, 3)), "bar.sync 0;"]


def _module(name: str, body: list[str]) -> str:
    return _HEAD.format(name=name, row_bytes=COLUMNS * 4) + "\n".join([*body, "ret;", "}"]) + "\n"


def rms_norm_ptx() -> str:
    """Return the module of y = x / sqrt(mean(x²) + 1e-6) · w."""
    count = 4 * VECTORS
    body = [_load("%rd6", 10, vector) for vector in range(VECTORS)]
    body += ["mov.f32 %f0, 0f00000000;", *(f"fma.rn.f32 %f0, %f{10 + i}, %f{10 + i}, %f0;" for i in range(count))]
    body += _block_reduce("add")
    body += ["mul.f32 %f0, %f0, 0f39800000;", "add.f32 %f0, %f0, 0f358637BD;", "rsqrt.approx.f32 %f4, %f0;"]
    for vector in range(VECTORS):
        body.append(_load("%rd7", 50 - 4 * vector, vector))
        for part in range(4):
            body.append(f"mul.f32 %f{10 + 4 * vector + part}, %f{10 + 4 * vector + part}, %f4;")
            body.append(f"mul.f32 %f{10 + 4 * vector + part}, %f{10 + 4 * vector + part}, %f{50 + part};")
        body.append(_store(vector, 10))
    return _module("rms_norm", body)


def softmax_ptx() -> str:
    """Return the PTX module of a row-wise softmax, which computes exponentials as ex2(x · log2(e))."""
    count = 4 * VECTORS
    body = [_load("%rd6", 10, vector) for vector in range(VECTORS)]
    body += ["mov.f32 %f0, %f10;", *(f"max.f32 %f0, %f0, %f{10 + i};" for i in range(1, count))]
    body += [*_block_reduce("max"), "mov.f32 %f5, %f0;", "mov.f32 %f0, 0f00000000;"]
    for i in range(count):
        register = f"%f{10 + i}"
        body += [
            f"sub.f32 {register}, {register}, %f5;",
            f"mul.f32 {register}, {register}, 0f3FB8AA3B;",
            f"ex2.approx.f32 {register}, {register};",
            f"add.f32 %f0, %f0, {register};",
        ]
    body += [*_block_reduce("add"), "rcp.approx.f32 %f4, %f0;"]
    body += [f"mul.f32 %f{10 + i}, %f{10 + i}, %f4;" for i in range(count)]
    body += [_store(vector, 10) for vector in range(VECTORS)]
    return _module("softmax", body)


# --- GEMM: C = A Bᵀ, tiles of 128 by 128, eight warps of 64 by 32 each, 32 of K a step -------------------------

SIZE, TILE, STEP = 512, 128, 32
PITCH = 2 * STEP + 16  # bytes from one tile row to the next in shared memory: 16 bytes of 8 rows use every bank once

_GEMM_HEAD = f"""\
.version 8.0
.target sm_80
.address_size 64
.visible .entry gemm(.param .u64 a, .param .u64 b, .param .u64 c)
{{
.reg .pred %p<4>;
.reg .b32 %r<110>;
.reg .b64 %rd<20>;
.reg .f32 %f<64>;
.shared .align 128 .b8 ta[{TILE * PITCH}];
.shared .align 128 .b8 tb[{TILE * PITCH}];
ld.param.u64 %rd0, [a];
ld.param.u64 %rd1, [b];
ld.param.u64 %rd2, [c];
mov.u32 %r0, %tid.x;
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %ctaid.y;
shr.u32 %r3, %r0, 2;
and.b32 %r4, %r0, 3;
shl.b32 %r5, %r4, 4;
cvt.u64.u32 %rd5, %r5;
mad.lo.u32 %r6, %r2, {TILE}, %r3;
mul.wide.u32 %rd3, %r6, {2 * SIZE};
add.s64 %rd3, %rd3, %rd0;
add.s64 %rd3, %rd3, %rd5;
mad.lo.u32 %r7, %r1, {TILE}, %r3;
mul.wide.u32 %rd4, %r7, {2 * SIZE};
add.s64 %rd4, %rd4, %rd1;
add.s64 %rd4, %rd4, %rd5;
mov.u32 %r8, ta;
mov.u32 %r9, tb;
mad.lo.u32 %r10, %r3, {PITCH}, %r5;
add.u32 %r11, %r8, %r10;
add.u32 %r12, %r9, %r10;
shr.u32 %r13, %r0, 5;
and.b32 %r14, %r0, 31;
and.b32 %r15, %r13, 1;
shr.u32 %r16, %r13, 1;
and.b32 %r17, %r14, 15;
shr.u32 %r18, %r14, 4;
mad.lo.u32 %r19, %r15, 64, %r17;
mad.lo.u32 %r20, %r19, {PITCH}, %r8;
mad.lo.u32 %r20, %r18, 16, %r20;
and.b32 %r21, %r14, 7;
shr.u32 %r22, %r14, 3;
and.b32 %r22, %r22, 1;
mad.lo.u32 %r23, %r18, 8, %r21;
mad.lo.u32 %r23, %r16, 32, %r23;
mad.lo.u32 %r24, %r23, {PITCH}, %r9;
mad.lo.u32 %r24, %r22, 16, %r24;
mov.u32 %r30, 0;
"""
_GEMM_TAIL = f"""\
shr.u32 %r31, %r14, 2;
and.b32 %r32, %r14, 3;
mad.lo.u32 %r33, %r2, {TILE}, %r31;
mad.lo.u32 %r33, %r15, 64, %r33;
shl.b32 %r34, %r32, 1;
mad.lo.u32 %r34, %r1, {TILE}, %r34;
mad.lo.u32 %r34, %r16, 32, %r34;
mul.wide.u32 %rd10, %r33, {4 * SIZE};
mul.wide.u32 %rd11, %r34, 4;
add.s64 %rd10, %rd10, %rd11;
add.s64 %rd10, %rd10, %rd2;
"""


def _registers(letter: str, first: int, count: int) -> str:
    return "{" + ", ".join(f"%{letter}{first + index}" for index in range(count)) + "}"


def _products(offset: int) -> list[str]:
    """Return PTX of 16 MMAs over 16 elements of K: four fragments of A times four of B."""
    lines = [
        f"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {_registers('r', first + 4 * i, 4)}, "
        f"[{base}+{i * 16 * PITCH + offset}];"
        for first, base, count in ((60, "%r20", 4), (80, "%r24", 2))
        for i in range(count)
    ]
    for i in range(4):
        for j in range(4):
            d, a, b = _registers("f", 16 * i + 4 * j, 4), _registers("r", 60 + 4 * i, 4), _registers("r", 80 + 2 * j, 2)
            lines.append(f"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {d}, {a}, {b}, {d};")
    return lines


def gemm_ptx() -> str:
    """Return the module of C = A Bᵀ: A and B are bf16 and contiguous along K, C is f32."""
    body = [f"mov.f32 %f{i}, 0f00000000;" for i in range(64)] + ["LOOP:"]
    for half in range(2):
        for source, target in (("%rd3", "%r11"), ("%rd4", "%r12")):
            four = _registers("r", 40, 4)
            body.append(f"ld.global.v4.u32 {four}, [{source}+{half * 128 * SIZE}];")
            body.append(f"st.shared.v4.u32 [{target}+{half * 64 * PITCH}], {four};")
    body += ["bar.sync 0;", *_products(0), *_products(32), "bar.sync 0;"]
    body += [f"add.s64 %rd{i}, %rd{i}, {2 * STEP};" for i in (3, 4)]
    body += [f"add.u32 %r30, %r30, {STEP};", f"setp.lt.u32 %p0, %r30, {SIZE};", "@%p0 bra LOOP;", _GEMM_TAIL.rstrip()]
    body += [
        f"st.global.v2.f32 [%rd10+{(i * 16 + half * 8) * SIZE * 4 + j * 32}], "
        f"{_registers('f', 16 * i + 4 * j + 2 * half, 2)};"
        for i in range(4)
        for j in range(4)
        for half in range(2)
    ]
    return _GEMM_HEAD + "\n".join([*body, "ret;", "}"]) + "\n"


def _bf16(values: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Return the bits of values truncated to bf16."""
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def _widened(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    return (bits.astype(np.uint32) << 16).view(np.float32)


# --- scan: every CTA polls the state of the preceding CTA until that CTA has published its sum --------------------

BLOCKS = 300
_LOOK_BACK = f"""\
.version 8.0
.target sm_80
.address_size 64
.visible .global .align 8 .b64 states[{BLOCKS}];
.visible .entry look_back(.param .u64 x, .param .u64 y)
{{
.reg .pred %p<3>;
.reg .b32 %r<4>;
.reg .b64 %rd<6>;
.reg .f32 %f<3>;
mov.u32 %r0, %tid.x;
setp.ne.u32 %p0, %r0, 0;
@%p0 exit;
ld.param.u64 %rd0, [x];
ld.param.u64 %rd1, [y];
mov.u32 %r1, %ctaid.x;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd0, %rd0, %rd2;
add.s64 %rd1, %rd1, %rd2;
mov.u64 %rd3, states;
mul.wide.u32 %rd4, %r1, 8;
add.s64 %rd3, %rd3, %rd4;
ld.global.f32 %f0, [%rd0];
setp.eq.u32 %p1, %r1, 0;
@%p1 bra PUBLISH;
LOOK:
ld.relaxed.gpu.global.v2.b32 {{%r2, %r3}}, [%rd3+-8];
setp.eq.u32 %p2, %r3, 0;
@%p2 bra LOOK;
mov.b32 %f1, %r2;
add.f32 %f0, %f0, %f1;
PUBLISH:
mov.b32 %r2, %f0;
mov.u32 %r3, 1;
st.relaxed.gpu.global.v2.b32 [%rd3], {{%r2, %r3}};
st.global.f32 [%rd1], %f0;
ret;
}}
"""

# --- cases --------------------------------------------------------------------------------------


def _rms_norm(x: NDArray[np.float64], w: NDArray[np.float64]) -> NDArray[np.float64]:
    return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-6) * w


def _softmax(x: NDArray[np.float64], _: NDArray[np.float64]) -> NDArray[np.float64]:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def _rows(random: np.random.Generator) -> list[NDArray[Any]]:
    return [random.standard_normal(shape, dtype=np.float32) for shape in ((ROWS, COLUMNS), (COLUMNS,))]


def _numbers(random: np.random.Generator) -> list[NDArray[Any]]:
    return [random.random(BLOCKS, np.float32)]


def _factors(random: np.random.Generator) -> list[NDArray[Any]]:
    return [_bf16(random.standard_normal((SIZE, SIZE))) for _ in range(2)]


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel, its inputs, its reference and its target in seconds without checks; `seed` selects the schedule.

    `numpy`, if given, computes the same with NumPy, as fast as possible.
    """

    name: str
    text: str
    inputs: Callable[[np.random.Generator], list[NDArray[Any]]]
    reference: Callable[..., NDArray[np.float64]]
    goal: float
    grid: tuple[int, ...] = (ROWS,)
    block: int = THREADS
    seed: int = 0
    numpy: Callable[..., NDArray[Any]] | None = None


CASES = (
    Case("rms_norm", rms_norm_ptx(), _rows, _rms_norm, 0.02),
    Case("softmax", softmax_ptx(), _rows, _softmax, 0.02),
    Case(
        "gemm",
        gemm_ptx(),
        _factors,
        lambda a, b: _widened(a).astype(np.float64) @ _widened(b).astype(np.float64).T,
        0.1,
        grid=(SIZE // TILE, SIZE // TILE),
        block=256,
        numpy=lambda a, b: a @ b.T,
    ),
    Case("look_back", _LOOK_BACK, _numbers, np.cumsum, 5.0, grid=(BLOCKS,), block=32, seed=1),
)


def measure(case: Case, checks: str, repeat: int) -> tuple[float, float, float]:
    """Return the seconds of the first and of the best run, and the largest error relative to the largest result."""
    inputs = case.inputs(np.random.default_rng(1))
    expected = case.reference(*(each.astype(np.float64) if each.dtype == np.float32 else each for each in inputs))
    y = np.zeros(expected.shape, np.float32)

    def simulate() -> None:
        result = run(case.text, grid=case.grid, block=case.block, args=[*inputs, y], checks=checks, seed=case.seed)
        if result.findings:
            sys.exit(f"{case.name}: {result.findings[0]}")

    ((first, *others),) = times(simulate, repeat=repeat + 1, clock=time.perf_counter)
    return first, min(others), float(np.abs(y - expected).max() / np.abs(expected).max())


def beside(case: Case, repeat: int) -> str:
    """Return the seconds of NumPy's best run of the case in float32; "" if the case has no NumPy version."""
    if case.numpy is None:
        return ""
    inputs = [_widened(each) for each in case.inputs(np.random.default_rng(1))]
    (found,) = times(partial(case.numpy, *inputs), repeat=repeat + 1, clock=time.perf_counter)
    return f"{min(found):8.4f}"


def main() -> None:
    """Measure every case without and with checks; print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--profile", action="store_true", help="print a profile instead of times")
    arguments = parser.parse_args()
    if arguments.profile:
        for case in CASES:
            with cProfile.Profile() as profile:
                measure(case, "none", arguments.repeat)
            pstats.Stats(profile).sort_stats("tottime").print_stats(25)
        return
    print(f"{'kernel':10} {'first':>8} {'none':>8} {'goal':>8} {'all':>8} {'ratio':>6} {'error':>9} {'numpy':>8}")
    for case in CASES:
        first, best, error = measure(case, "none", arguments.repeat)
        _, checked, _ = measure(case, "all", arguments.repeat)
        ratio = checked / best
        numbers = f"{first:8.4f} {best:8.4f} {case.goal:8.4f} {checked:8.4f} {ratio:6.1f} {error:9.1e}"
        print(f"{case.name:10} {numbers} {beside(case, arguments.repeat)}".rstrip())


if __name__ == "__main__":
    main()
