"""Flash attention, written in Triton: its PTX, transpiled and cleaned by hand.

Source: `forward_tma` of `corpus/sources/triton/attention.py`, by Triton 3.9 for sm_90a: softmax(scale · Q · Kᵀ) · V in
f16, sums in f32. A CTA has 64 queries of a head of 64 elements. TMA loads keys and values in blocks of 64 into a ring
of two stages, and the softmax is updated for each block.

Cleaned by hand: registers have names; the softmax of a thread's two rows, descriptors, elected copies and the four
steps of an MMA are functions and loops (`triton_parts.py`); `.loc`, debugging sections and comments are gone, which
`pyptx diff` compares only with `--debug`. Otherwise the diff of the source and `module.ptx()` is empty.

With `checks="all"` the simulator finds an omission of Triton, in its PTX and in this: there is a fence missing between
the `mbarrier.init` of the mbarrier of Q and the copy that arrives there.

    python examples/transpiled/triton_attention.py
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import pyptx
from pyptx import ptx, reg
from pyptx.types import b8, b32, b64, f32, pred, u32, u64
from pyptx_ir.plugins.rows import TensorMap
from pyptx_sim import WithDescriptor, run

sys.path.append(str(Path(__file__).resolve().parents[2]))  # for `examples`, if this file is run as a script

from examples.transpiled.triton_parts import (
    BARRIERS,
    BLOCK,
    Q_TILE,
    ROWS,
    SHARED_BYTES,
    SIGNED,
    STAGES,
    THREADS,
    TILE_BYTES,
    V_TILE,
    WIDTH,
    Maps,
    added,
    advance,
    also,
    barrier_of,
    descriptor,
    elected,
    encoded,
    expect,
    keys_of,
    largest,
    load,
    maps_of,
    meet,
    multiply,
    of_row,
    packed,
    plus,
    row_of,
    wait,
    weights_of,
    word,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx.reg import Reg, RegArray

SOURCE = "triton-3.9/attention.sm_90a.tma.ptx"
ENTRY = "forward_tma"
MEMORY = "global_smem"
LOG2_E = "0f3FB8AA3B"


@dataclass(frozen=True, slots=True)
class Problem:
    """Values that each thread computes first: rows, addresses in shared memory, and predicates of roles."""

    maps: Maps
    length: Reg
    head: Reg  # the first row of the head
    first: Reg  # the first query of the CTA
    thread: Reg
    base: Reg
    queries: Reg
    zero: Reg
    in_first_warp: Reg
    in_loading_warp: Reg
    is_leader: Reg


@dataclass(frozen=True, slots=True)
class Softmax:
    """Online softmax of a thread's two rows, and the accumulator of values that it weights."""

    peaks: tuple[Reg, Reg]
    sums: tuple[Reg, Reg]
    acc: RegArray


# The start ------------------------------------------------------------------------------------------------------------


def started(params: tuple[str, ...]) -> Problem:
    """Compute the values that each thread needs first, and load Q."""
    length = ptx.inst.ld.param.b32(word(), ptx.addr(params[20]))
    maps = maps_of(params)
    head = ptx.inst.mul.lo.s32(word(), length, ptx.inst.mov.u32(word(), ptx.special.ctaid.y()))
    block = ptx.inst.mov.u32(word(), ptx.special.ctaid.x())
    first = plus(head, ptx.inst.shl.b32(word(), block, 6))
    thread = ptx.inst.mov.u32(word(), ptx.special.tid.x())
    in_first_warp, is_leader, in_loading_warp = reg.array(pred, 3)
    ptx.inst.setp.lt.u32(in_first_warp, thread, 32)
    chosen = elected(in_first_warp)
    base = ptx.inst.mov.b32(word(), MEMORY)
    ptx.inst.mbarrier.init.shared__cta.b64(ptx.addr(base), 1, pred=chosen)
    ptx.inst.bar.sync(0)
    within = ptx.inst.and_.b32(word(), thread, THREADS - 1)
    ptx.inst.setp.eq.b32(is_leader, within, 0)
    expect(base, TILE_BYTES, is_leader)
    ptx.inst.bar.sync(0)
    lane = elected()
    ptx.inst.setp.lt.u32(in_loading_warp, within, 32)
    chosen = also(in_loading_warp, lane)
    queries, zero = plus(base, Q_TILE), ptx.inst.mov.b32(word(), 0)
    load(queries, maps.q, (zero, first), base, chosen)
    wait(base, zero)
    ptx.inst.bar.sync(0)
    ptx.inst.mbarrier.inval.shared__cta.b64(ptx.addr(base), pred=elected(in_first_warp))
    who = (in_first_warp, in_loading_warp, is_leader)
    return Problem(maps, length, head, first, thread, base, queries, zero, *who)


def prefetched(problem: Problem) -> tuple[list[Reg], Reg]:
    """Initialize the mbarriers of the ring and load the first stage; return them, and whether the length is 0."""
    barriers: list[Reg] = []
    for stage in range(STAGES):
        chosen = elected(problem.in_first_warp)
        barriers.append(plus(problem.base, BARRIERS + 8 * stage))
        ptx.inst.mbarrier.init.shared__cta.b64(ptx.addr(barriers[stage]), 1, pred=chosen)
    empty, some = reg.array(pred, 2)
    ptx.inst.setp.lt.s32(empty, problem.length, 1)
    ptx.inst.setp.gt.s32(some, problem.length, 0)
    ptx.inst.bar.sync(0)
    expect(barriers[0], 2 * TILE_BYTES, also(problem.is_leader, some))
    ptx.inst.fence.proxy.async_.shared__cta()
    ptx.inst.bar.sync(0)
    at = (problem.zero, problem.head)
    load(problem.base, problem.maps.k, at, barriers[0], elected(some, problem.in_loading_warp))
    ptx.inst.bar.sync(0)
    chosen = elected(some, problem.in_loading_warp)
    load(plus(problem.base, V_TILE), problem.maps.v, at, barriers[0], chosen)
    return barriers, empty


# A block of keys ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ring:
    """Stage that is read and its phase, stage that is filled, and first key of the stage that is read."""

    stage: Reg
    phase: Reg
    filled: Reg
    start: Reg


def score(problem: Problem, queries: list[Reg], keys: Reg) -> tuple[RegArray, Reg]:
    """Multiply Q by the keys, in four steps of 16; also return a predicate that is true."""
    scores, yes, units = reg.array(b32, 32), reg.scalar(pred), encoded(keys)
    ptx.inst.wgmma.fence.sync.aligned()
    for step, query in enumerate(queries):
        key = descriptor(plus(units, 2 * step) if step else units)
        if step == 1:
            ptx.inst.mov.pred(yes, -1)
        multiply(scores, query, key, yes if step else 0)
    ptx.inst.wgmma.commit_group.sync.aligned()
    for address in (keys, problem.queries):  # operands of Triton's wait, which keeps them alive until here
        ptx.inst.cvt.u64.u32(reg.scalar(b64), address)
    return scores, yes


def renewed(softmax: Softmax, scores: RegArray, scale: Reg) -> tuple[list[Reg], list[Reg]]:
    """Update the softmax by scores; return the weights as f16 pairs, and the new maxima."""
    scaled = [ptx.inst.mul.f32(word(), scale, value) for value in scores]
    tops = [largest(of_row(scaled, row)) for row in ROWS]
    tops = [meet(ptx.inst.max.f32, top) for top in tops]
    peaks = [ptx.inst.max.f32(word(), softmax.peaks[row], tops[row]) for row in ROWS]
    weights = weights_of(list(scores), peaks, scale)
    less = [ptx.inst.sub.f32(word(), softmax.peaks[row], peaks[row]) for row in ROWS]
    shrink = [ptx.inst.ex2.approx.ftz.f32(word(), value) for value in less]
    totals = [added(of_row(weights, row)) for row in ROWS]
    totals = [meet(ptx.inst.add.f32, total) for total in totals]
    for row in ROWS:
        ptx.inst.fma.rn.f32(softmax.sums[row], softmax.sums[row], shrink[row], totals[row])
    pairs = packed(weights)
    for i, value in enumerate(softmax.acc):
        ptx.inst.mul.f32(value, value, shrink[row_of(i)])
    return pairs, peaks


def weigh(acc: RegArray, pairs: list[Reg], values: Reg, yes: Reg) -> None:
    """Add the weighted values to `acc`, in four steps of 16."""
    ptx.inst.bar.sync(0)
    units = encoded(values)
    pairs = [ptx.inst.mov.b32(word(), pair) for pair in pairs]
    ptx.inst.wgmma.fence.sync.aligned()
    first = descriptor(units)
    multiply(acc, pairs[:4], first, yes)
    steps: dict[int, Reg] = {}
    second = plus(units, 128)
    for step in (3, 2):  # LLVM's order
        steps[step] = descriptor(plus(units, 128 * step))
    steps[1] = descriptor(second)
    for step in (1, 2, 3):
        multiply(acc, pairs[4 * step : 4 * step + 4], steps[step], yes)
    ptx.inst.wgmma.commit_group.sync.aligned()


def refill(problem: Problem, ring: Ring, after: Reg, wanted: Reg, zero: Reg) -> Reg:
    """Start the loads of the keys and values two blocks ahead; return the first key of the next block."""
    advance(ring.filled)
    following, row = plus(ring.start, BLOCK), plus(after, ring.start)
    barrier = barrier_of(problem.base, ring.filled)
    ptx.inst.bar.sync(0)
    expect(barrier, 2 * TILE_BYTES, also(problem.is_leader, wanted))
    keys = keys_of(problem.base, ring.filled)
    ptx.inst.bar.sync(0)
    load(keys, problem.maps.k, (zero, row), barrier, elected(wanted, problem.in_loading_warp))
    values = plus(keys, V_TILE)
    ptx.inst.bar.sync(0)
    load(values, problem.maps.v, (zero, row), barrier, elected(wanted, problem.in_loading_warp))
    return following


def attend(problem: Problem, softmax: Softmax, scale_name: str) -> None:
    """Loop over all blocks of keys."""
    scale = ptx.inst.mul.f32(word(), ptx.inst.ld.param.b32(word(), ptx.addr(scale_name)), LOG2_E)
    last, units = plus(problem.length, -BLOCK), encoded(problem.queries)
    queries = [descriptor(plus(units, 2 * step) if step else units) for step in range(4)]
    after, ring = plus(problem.head, BLOCK), Ring(*reg.array(b32, 4))
    begin(problem, softmax, ring)
    wanted, more = reg.array(pred, 2)
    with ptx.loop(pred=more):
        ptx.inst.setp.lt.s32(wanted, ring.start, last)
        around = advance(ring.stage)
        ptx.inst.xor.b32(ring.phase, ring.phase, ptx.inst.selp.b32(word(), 1, 0, around))
        wait(barrier_of(problem.base, ring.stage), ring.phase)
        keys = keys_of(problem.base, ring.stage)
        values = plus(keys, V_TILE)
        scores, yes = score(problem, queries, keys)
        zero = ptx.inst.mov.b32(word(), 0)
        for _ in range(4):  # the upper halves of two descriptors, also operands of Triton's wait
            ptx.inst.mov.b32(word(), zero)
        ptx.inst.wgmma.wait_group.sync.aligned(0)
        pairs, peaks = renewed(softmax, scores, scale)
        weigh(softmax.acc, pairs, values, yes)
        following = refill(problem, ring, after, wanted, zero)
        ptx.inst.setp.lt.s32(more, following, problem.length)
        for old, new in zip((*softmax.peaks, ring.start), (*peaks, following), strict=True):
            ptx.inst.mov.b32(old, new)


def begin(problem: Problem, softmax: Softmax, ring: Ring) -> None:
    """Initialize: the stage is the one before the first, the maxima are -inf, the accumulator is 0."""
    ptx.inst.mov.b32(softmax.peaks[0], "0fFF800000")
    ptx.inst.mov.b32(softmax.acc[0], "0f00000000")
    ptx.inst.mov.b32(ring.stage, -1)
    for register in (ring.phase, ring.filled):
        ptx.inst.mov.b32(register, problem.zero)
    for register in (*softmax.acc[1:32], *softmax.sums):
        ptx.inst.mov.b32(register, softmax.acc[0])
    ptx.inst.mov.b32(softmax.peaks[1], softmax.peaks[0])
    ptx.inst.mov.b32(ring.start, problem.zero)


# The end --------------------------------------------------------------------------------------------------------------


def finish(problem: Problem, softmax: Softmax, barriers: list[Reg]) -> None:
    """Divide by the row sums, round, and store 64 rows through the first stage."""
    ptx.inst.wgmma.wait_group.sync.aligned(0)
    ptx.inst.bar.sync(0)
    for barrier in barriers:
        ptx.inst.mbarrier.inval.shared__cta.b64(ptx.addr(barrier), pred=elected(problem.in_first_warp))
    results = [ptx.inst.div.full.f32(word(), value, softmax.sums[row_of(i)]) for i, value in enumerate(softmax.acc)]
    pairs, thread = packed(results), problem.thread
    with ptx.expr(temps=reg.array(b32, 10), spelling=SIGNED):
        row, warp = (thread << 7) & 1920, (thread << 6) & 6144
        chunk, half = (thread << 4) & 112, thread & 16
        place = (row | warp) | (chunk ^ half)
    for i in range(4):
        offset = ptx.inst.xor.b32(word(), place, 32 * i) if i else place
        target = plus(problem.base, offset)
        ptx.inst.stmatrix.sync.aligned.m8n8.x4.shared.b16(ptx.addr(target), pairs[4 * i : 4 * i + 4])
    ptx.inst.fence.proxy.async_.shared__cta()
    ptx.inst.bar.sync(0)
    ptx.inst["cp.async.bulk.tensor.2d.global.shared::cta.bulk_group"](
        ptx.tensor_addr(problem.maps.o, [problem.zero, problem.first]),
        ptx.addr(problem.base),
        pred=elected(problem.in_loading_warp),
    )
    ptx.inst.cp.async_.bulk.commit_group()
    ptx.inst.cp.async_.bulk.wait_group(0)
    ptx.inst.bar.sync(0)


def pair() -> tuple[Reg, Reg]:
    """Return two fresh 32-bit registers."""
    first, second = reg.array(b32, 2)
    return first, second


module = pyptx.module(version=(9, 0), target="sm_90a")
module.var("shared", MEMORY, b8, 0, align=16, linking="extern")
module.var("global", "_$_str", b8, 11, init=list(b"__CUDA_FTZ"), align=1)

MAP = (module.param(..., b8, 128, align=64), u32, u32, u64, u64)  # with two extents and two strides
SCRATCH = module.param(..., u64, ptr="global", ptr_align=1)


@module.entry(ENTRY, [*(MAP * 4), u32, f32, SCRATCH, SCRATCH], reqntid=THREADS, linking="visible")
def forward(*params: str) -> None:
    """O = softmax(scale · Q · Kᵀ) · V. Parameters: tensor maps of Q, K, V and O, the length and the scale."""
    problem = started(params)
    barriers, empty = prefetched(problem)
    softmax = Softmax(pair(), pair(), reg.array(b32, 32))
    ptx.inst.mov.b32(softmax.sums[0], "0f00000000")
    for register in (softmax.sums[1], *softmax.acc):
        ptx.inst.mov.b32(register, softmax.sums[0])
    with ptx.if_(~empty):
        attend(problem, softmax, params[21])
    finish(problem, softmax, barriers)
    ptx.inst.ret()


# Running it -----------------------------------------------------------------------------------------------------------


def arguments(
    q: NDArray[np.generic],
    k: NDArray[np.generic],
    v: NDArray[np.generic],
    o: NDArray[np.generic],
    length: int,
    scale: float,
) -> list[Any]:
    """Return the arguments of the kernel for f16 matrices of heads · length rows."""
    args: list[Any] = []
    for array in (q, k, v, o):
        tensor_map = TensorMap("f16", array.shape, array.strides, (BLOCK, WIDTH), (1, 1), swizzle="128B")
        args += [WithDescriptor(array, tensor_map), *array.shape, *array.strides]
    scratch = np.zeros(1, np.uint64)
    return [*args, length, scale, scratch, scratch]


def reference(
    q: NDArray[np.generic], k: NDArray[np.generic], v: NDArray[np.generic], length: int, scale: float
) -> NDArray[np.float64]:
    """Return the attention of each head in float64."""
    heads = [array.astype(np.float64).reshape(-1, length, WIDTH) for array in (q, k, v)]
    scores = scale * heads[0] @ heads[1].transpose(0, 2, 1)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return (weights / weights.sum(axis=2, keepdims=True) @ heads[2]).reshape(-1, WIDTH)


def main() -> None:
    """Run two heads on the simulator, and print the largest error."""
    random, heads, length = np.random.default_rng(0), 2, 192
    q, k, v = (random.standard_normal((heads * length, WIDTH)).astype(np.float16) for _ in range(3))
    o = np.zeros_like(q)
    args, grid = arguments(q, k, v, o, length, 0.125), (length // BLOCK, heads)
    run(module.module(), entry=ENTRY, args=args, grid=grid, block=THREADS, shared_bytes=SHARED_BYTES, checks="all")
    error = np.abs(o - reference(q, k, v, length, 0.125)).max()
    print(f"{heads} heads of {length} queries and keys: largest error {error:.3g}")


if __name__ == "__main__":
    main()
