"""Simulation time of a 512 x 512 x 512 GEMM on Blackwell's tensor cores, with a tile of 128 x 256 per CTA.

    python benchmarks/bench_tensor_cores.py [--repeat N] [--profile none|all]

tcgen05.mma multiplies bf16 into f32, 64 of K at a time, from two stages that bulk copies fill; the result is stored
from tensor memory. Prints the best CPU time of N runs in seconds, without checks and with all of them, the repository's
targets, and the error against float64. NumPy's float32 GEMM of the same matrices is timed for comparison.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
from timing import best

from pyptx_arch_blackwell.descriptors import InstructionDescriptor, SharedDescriptor
from pyptx_sim import run

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIZE, ROWS, COLUMNS, STEP, STAGES = 512, 128, 256, 64, 2
ROW = 2 * STEP  # bytes of a tile row of A or B: the width of the 128B swizzle
A_BYTES, B_BYTES = ROWS * ROW, COLUMNS * ROW
AT_ONCE = 64  # accumulator columns that a thread loads from tensor memory and stores at once
GOAL, GOAL_RATIO = 0.1, 3.0


def gemm_ptx() -> str:
    """Return the module of C = A Bᵀ: one thread issues copies and MMAs, all threads store."""
    idesc = InstructionDescriptor("f16", d="f32", a="bf16", b="bf16", m=ROWS, n=COLUMNS).bits
    tile = SharedDescriptor(leading=16, stride=8 * ROW, swizzle=128).bits
    return f"""
.version 8.6
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 tiles[];
.visible .entry gemm(.param .u64 a, .param .u64 b, .param .u64 c)
{{
.reg .pred %leads, %allocates, %others, %done;
.reg .b32 %thread, %warp, %row, %column, %s, %t, %d, %v<{AT_ONCE}>;
.reg .b64 %a, %b, %c, %x, %y;
.shared .align 4 .b32 slot;
.shared .align 8 .b64 full[{STAGES}];
.shared .align 8 .b64 free[{STAGES}];
.shared .align 8 .b64 done[1];
mov.u32 %thread, %tid.x; mov.u32 %column, %ctaid.x; mov.u32 %row, %ctaid.y; shr.u32 %warp, %thread, 5;
setp.eq.u32 %leads, %thread, 0; setp.ne.u32 %others, %thread, 0; setp.eq.u32 %allocates, %warp, 0;
{"".join(f"@%leads mbarrier.init.shared.b64 [{name}+{8 * i}], 1;" for name in ("full", "free") for i in range(STAGES))}
@%leads mbarrier.init.shared.b64 [done], 1;
@%leads fence.mbarrier_init.release.cluster;
@%allocates tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], {COLUMNS};
bar.sync 0;
ld.shared.b32 %d, [slot];
ld.param.u64 %a, [a]; mad.wide.u32 %a, %row, {A_BYTES * SIZE // STEP}, %a;
ld.param.u64 %b, [b]; mad.wide.u32 %b, %column, {B_BYTES * SIZE // STEP}, %b;
ld.param.u64 %c, [c]; mad.lo.u32 %t, %row, {ROWS}, %thread; mad.wide.u32 %c, %t, {4 * SIZE}, %c;
mad.wide.u32 %c, %column, {4 * COLUMNS}, %c;
@%others bra STORE;
{"".join(_step(k, idesc, tile) for k in range(SIZE // STEP))}
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];
STORE:
{_waited("done", 0)}
tcgen05.fence::after_thread_sync;
shl.b32 %t, %warp, 21; add.u32 %t, %t, %d;
{"".join(_stored(first) for first in range(0, COLUMNS, AT_ONCE))}
tcgen05.fence::before_thread_sync;
bar.sync 0;
tcgen05.fence::after_thread_sync;
@%allocates tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, {COLUMNS};
ret;
}}
"""


def _waited(name: str, use: int) -> str:
    """Return PTX that waits on mbarrier `name` of stage `use` % STAGES for its phase `use` // STAGES."""
    barrier, label = f"{name}+{8 * (use % STAGES)}", f"{name.upper()}{use}"
    poll = f"mbarrier.try_wait.parity.shared.b64 %done, [{barrier}], {use // STAGES % 2};"
    return f"{label}:\n{poll}\n@!%done bra {label};\n"


def _step(k: int, idesc: int, tile: int) -> str:
    """Return PTX that copies 64 elements of K of A and B, and issues the MMAs that read them."""
    full, free = (f"{name}+{8 * (k % STAGES)}" for name in ("full", "free"))
    place = k % STAGES * (A_BYTES + B_BYTES)
    bulk = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
    lines = [_waited("free", k - STAGES)] if k >= STAGES else []
    lines.append(f"mbarrier.arrive.expect_tx.shared.b64 _, [{full}], {A_BYTES + B_BYTES};")
    lines.append(f"mov.u32 %s, tiles; add.u32 %s, %s, {place};")
    lines.append(f"{bulk} [%s], [%a], {A_BYTES}, [{full}]; add.u64 %a, %a, {A_BYTES};")
    lines.append(f"add.u32 %t, %s, {A_BYTES}; {bulk} [%t], [%b], {B_BYTES}, [{full}]; add.u64 %b, %b, {B_BYTES};")
    lines.append(_waited("full", k))
    for register, address in (("%x", "%s"), ("%y", "%t")):
        lines.append(f"shr.u32 {address}, {address}, 4; cvt.u64.u32 {register}, {address};")
        lines.append(f"or.b64 {register}, {register}, {tile:#x};")
    for part in range(STEP // 16):
        adds = int(k > 0 or part > 0)
        lines.append(f"tcgen05.mma.cta_group::1.kind::f16 [%d], %x, %y, {idesc:#x}, {adds};")
        lines.append("add.u64 %x, %x, 2; add.u64 %y, %y, 2;")
    lines.append(f"tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [{free}];")
    return "\n".join(lines) + "\n"


def _stored(first: int) -> str:
    registers = [f"%v{i}" for i in range(AT_ONCE)]
    load = f"tcgen05.ld.sync.aligned.32x32b.x{AT_ONCE}.b32 {{{', '.join(registers)}}}, [%t+{first}];\n"
    fours = ((4 * (first + i), ", ".join(registers[i : i + 4])) for i in range(0, AT_ONCE, 4))
    stores = "".join(f"st.global.v4.b32 [%c+{offset}], {{{four}}};\n" for offset, four in fours)
    return f"{load}tcgen05.wait::ld.sync.aligned;\n{stores}"


def tiled(matrix: NDArray[Any], rows: int) -> NDArray[np.uint16]:
    """Return a matrix as contiguous tiles, each with the byte order of the 128B swizzle in shared memory."""
    parts = matrix.view(np.uint16).reshape(SIZE // rows, rows, SIZE // STEP, 8, 8).swapaxes(1, 2)
    row, chunk = np.indices((rows, 8))
    return np.ascontiguousarray(parts[:, :, row, chunk ^ row % 8])


def main() -> None:
    """Measure the GEMM without and with checks; print the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--profile", choices=("none", "all"), help="print a profile instead of times")
    arguments = parser.parse_args()
    random = np.random.default_rng(1)
    a, b = (random.standard_normal((SIZE, SIZE)).astype(ml_dtypes.bfloat16) for _ in range(2))
    given, c, text = (tiled(a, ROWS), tiled(b, COLUMNS)), np.zeros((SIZE, SIZE), np.float32), gemm_ptx()
    shared = STAGES * (A_BYTES + B_BYTES)

    def multiply(checks: str) -> None:
        grid = SIZE // COLUMNS, SIZE // ROWS
        result = run(text, grid=grid, block=128, args=[*given, c], checks=checks, shared_bytes=shared)
        if result.findings:
            sys.exit(str(result.findings[0]))

    if arguments.profile:
        profile = cProfile.Profile(time.process_time)
        with profile:
            for _ in range(arguments.repeat):
                multiply(arguments.profile)
        pstats.Stats(profile).sort_stats("tottime").print_stats(30)
        return
    multiply("all")
    wanted = a.astype(np.float64) @ b.astype(np.float64).T
    error = float(np.abs(c - wanted).max() / np.abs(wanted).max())
    plain, checked = (best(partial(multiply, checks), arguments.repeat) for checks in ("none", "all"))
    x, y = a.astype(np.float32), b.astype(np.float32)
    beside = best(lambda: x @ y.T, arguments.repeat)
    print(f"{'none':>8} {'goal':>8} {'all':>8} {'ratio':>6} {'goal':>6} {'error':>9} {'numpy':>8}")
    print(
        f"{plain:8.4f} {GOAL:8.4f} {checked:8.4f} {checked / plain:6.1f} {GOAL_RATIO:6.1f} {error:9.1e} {beside:8.4f}"
    )


if __name__ == "__main__":
    main()
