"""Flash attention on Blackwell: `O = softmax(scale · Q · Kᵀ) · V` for each head, and `LSE`, each row's log of its sum.

Interface and result are those of `examples/hopper/flash_attention.py`. The structure differs, because the tensor cores
of Blackwell accumulate in tensor memory, read operand A from there, and are driven by one thread. So every warp has one
job, and a CTA owns two tiles of 128 rows of Q, which alternate:

    load warp        K and V by TMA, stages ahead; the two tiles of Q once
    multiply warp    S0 = Q0·Kᵀ | S1 = Q1·Kᵀ | O0 += P0·V | S0 = Q0·K'ᵀ | O1 += P1·V | S1 = Q1·K'ᵀ | …
    softmax 0, 1     a warpgroup per tile, a thread per row: P = 2^(S - max), while the other tile is multiplied
    correction       O *= 2^(old max - new max) where the maximum grew; at the end, stores O / sum by TMA

    multiply --s_ready--> softmax --factor_ready--> correction --p_ready--> multiply (and softmax --p_ready--> multiply)

Tensor memory has 512 columns: S of both tiles, 128 each, and O of both, one for each of the head's dimensions. P, in
bf16, takes the left half of its S, so that one MMA reads P and the next one overwrites it. MMAs of one thread execute
in issue order. The manual guarantees this only for MMAs with one accumulator ("Pipelined tcgen05 Instructions");
FlashAttention-4, which has the same structure, relies on it as this kernel does.

*Rare rescaling.* The rows of P and O are scaled by 2^-max. Any max is valid if it is the same for the row's P, O and
sum: it cancels in O / sum, and LSE adds it again. So it stays unchanged until the true maximum exceeds it by more than
`THRESHOLD` = 8 (as exponents of 2). P is then up to 256, which bf16 holds with the same relative error as 1, and the
sum of f32 is far from its limits. Most steps rescale nothing.

*Exponentials.* A quarter of them are polynomials (`exponentials.py`).

Arrays are dense, [batch, sequence, heads, head_dim]; heads of K and V may be fewer than those of Q. With `causal=True`
query i sees the keys up to i + Skv - Sq. A query that sees no key gets O = 0 and LSE = -inf.

    python examples/blackwell/flash_attention_blackwell.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32

sys.path.append(str(Path(__file__).resolve().parents[2]))  # makes `examples` importable if this file is run as a script

from examples.attention import float64
from examples.attention.problem import TilePosition, divided, problem_of
from examples.attention.tiles import fetch_maps, heads_tile, load
from examples.blackwell.attention_block import (
    COLUMNS,
    CORRECTION,
    KEYS,
    LOADER,
    MULTIPLIER,
    OTHERS,
    PLANS,
    REGISTERS,
    THREADS,
    TILES,
    Memory,
    Plan,
    Work,
    accumulator_of,
    scores_of,
    tiles_of,
    work_of,
)
from examples.blackwell.attention_correction import Correction
from examples.blackwell.attention_mma import accumulate, multiply
from examples.blackwell.attention_softmax import Softmax

if TYPE_CHECKING:
    from pyptx.kernel import Kernel
    from pyptx.reg import Reg
    from pyptx_arch_blackwell.ptx.tensor_memory import TensorMemory


# --- the warp that loads tiles ----------------------------------------------------------------------


def fetch(work: Work, memory: Memory, arrays) -> None:
    """Load Q, then K and V from the last step to the first: masked keys come first."""
    q, k, v = arrays
    for tile in range(TILES):
        ptx.mbarrier.arrive_expect_tx(memory.loaded[tile], memory.plan.q.stage_bytes)
        load(memory.plan.q, memory.q, tile, q, work.place_of(tile), memory.loaded[tile])
    head = divided(work.place.head, work.problem.shared)
    turn = ptx.pipeline(memory.plan.stages, phase=reg.scalar(u32, init=1))
    for row in ptx.range_((work.steps - 1) * KEYS, -1, -KEYS):
        stage, phase = turn.advance()
        for ring, array in ((memory.k, k), (memory.v, v)):
            ptx.mbarrier.wait(ring.empty[stage], phase)
            ptx.mbarrier.arrive_expect_tx(ring.full[stage], ring.layout.stage_bytes)
            load(ring.layout, ring.tiles, stage, array, TilePosition(head, work.place.batch, row), ring.full[stage])


# --- the warp that issues MMAs ----------------------------------------------------------------------


class Multiplier:
    """The thread that issues all MMAs: S = Q · Kᵀ into tensor memory, and O += P · V with P from tensor memory."""

    def __init__(self, memory: Memory, t: TensorMemory) -> None:
        """Create the shared memory descriptors of the tiles."""
        self.memory, self.plan = memory, memory.plan
        self.scores = [scores_of(t, tile) for tile in range(TILES)]
        self.accumulators = [accumulator_of(t, tile, self.plan.head_dim) for tile in range(TILES)]
        self.q = [ptx.tcgen05.descriptor(memory.q[tile]) for tile in range(TILES)]
        self.rings = [(ring, ptx.tcgen05.descriptor(ring.tiles)) for ring in (memory.k, memory.v)]
        self.turns = [ptx.pipeline(self.plan.stages) for _ in self.rings]
        self.phase = reg.scalar(u32, init=0)  # phase parity of the next wait on mbarriers `p_ready`

    def run(self, steps: Reg) -> None:
        """Issue all MMAs: for each query tile, P · V of the previous step, then the scores of this step."""
        keys, stage = self.next_stage(0)
        for tile in range(TILES):
            ptx.mbarrier.wait(self.memory.loaded[tile], 0)
            self.score(tile, keys)
        ptx.tcgen05.commit(self.memory.k.empty[stage])
        for step in ptx.range_(1, steps):
            values, values_stage = self.next_stage(1)
            keys, keys_stage = self.next_stage(0)
            for tile in range(TILES):
                self.add(tile, values, step > 1)
                self.score(tile, keys)
            ptx.tcgen05.commit(self.memory.v.empty[values_stage])
            ptx.tcgen05.commit(self.memory.k.empty[keys_stage])
            self.phase ^= 1
        values, _ = self.next_stage(1)
        for tile in range(TILES):
            self.add(tile, values, steps > 1)
            ptx.tcgen05.commit(self.memory.o_ready[tile])

    def next_stage(self, which: int) -> tuple[Reg, Reg]:
        """Wait for the next tile of K (0) or V (1); return its descriptor and stage."""
        ring, first = self.rings[which]
        stage, phase = self.turns[which].advance()
        ptx.mbarrier.wait(ring.full[stage], phase)
        return ptx.tcgen05.advance(first, ring.layout.stage_bytes, times=stage), stage

    def score(self, tile: int, keys: Reg) -> None:
        """Start S = Q · Kᵀ, and signal the tile's softmax on completion."""
        multiply(self.scores[tile], self.q[tile], self.plan.q, keys, self.plan.k)
        ptx.tcgen05.commit(self.memory.s_ready[tile])

    def add(self, tile: int, values: Reg, more: Reg) -> None:
        """Wait until P is in tensor memory, then start O += P · V, or O = P · V unless `more`."""
        ptx.mbarrier.wait(self.memory.p_ready[tile], self.phase)
        ptx.tcgen05.fence_after_thread_sync()
        accumulate(self.accumulators[tile], [self.scores[tile]], values, self.plan.v, more=more)


# --- the kernel -------------------------------------------------------------------------------------


def flash_attention_of(plan: Plan) -> Kernel[tuple[Tile, Tile]]:
    """Return the attention kernel for the tile sizes of `plan`."""
    queries, keys, values = (
        heads_tile(tile, *names)
        for tile, *names in ((plan.q, "Sq", "Hq"), (plan.k, "Skv", "Hkv"), (plan.v, "Skv", "Hkv"))
    )

    @kernel(
        in_specs=(queries, keys, values),
        out_specs=(queries, Tile("B", "Hq", "Sq", f32)),
        grid=lambda B, Sq, Hq: B * Hq * tiles_of(Sq),
        block=THREADS,
        raw_directives=[("maxntid", (THREADS, 1, 1)), ("minnctapersm", (1,))],
        arch="sm_100a",
    )
    def flash_attention(Q, K, V, OUT, LSE, *, causal: bool = False, scale: float | None = None) -> None:
        """Compute O and LSE; `scale` is 1 / sqrt(head_dim) by default."""
        problem, memory = problem_of(Q, K, scale, causal=causal), Memory(plan)
        group, warp = (uniform(reg.from_(ptx.special.tid.x(), u32) >> shift) for shift in (7, 5))
        with ptx.if_((warp == LOADER) & ptx.elect_sync()):
            fetch_maps(Q, K, V, OUT)
            memory.init()
        work = work_of(problem)
        with ptx.tmem.alloc(COLUMNS, when=warp == MULTIPLIER, relinquish=True) as t:
            with ptx.if_(group == OTHERS):
                ptx.setmaxnreg_dec(REGISTERS[2])
                with ptx.if_((warp == LOADER) & ptx.elect_sync()):
                    fetch(work, memory, (Q, K, V))
                with ptx.if_((warp == MULTIPLIER) & ptx.elect_sync()):
                    Multiplier(memory, t).run(work.steps)
            with ptx.elif_(group == CORRECTION):
                ptx.setmaxnreg_dec(REGISTERS[1])
                correction = Correction(work, memory, t, warp)
                correction.run()
                correction.finish(OUT)
            with ptx.else_():
                ptx.setmaxnreg_inc(REGISTERS[0])
                softmax = Softmax(work, memory, t, warp)
                softmax.run()
                softmax.finish(LSE)
        ptx.ret()

    return flash_attention


def uniform(value: Reg) -> Reg:
    """Return `number`, equal in all lanes of a warp, in a register that ptxas infers to be warp-uniform."""
    return ptx.shfl.sync.idx(reg.scalar(u32), value, 0)


KERNELS = {plan.head_dim: flash_attention_of(plan) for plan in PLANS}
"""Kernel of each head dimension."""


def kernel_for(head_dim: int) -> Kernel[tuple[Tile, Tile]]:
    """Return the kernel of a head dimension; raise ValueError if no `Plan` has that head dimension."""
    if head_dim not in KERNELS:
        raise ValueError(f"flash_attention has head dimensions {', '.join(map(str, KERNELS))}, not {head_dim}")
    return KERNELS[head_dim]


def flash_attention(q, k, v, *, causal: bool = False, scale: float | None = None):
    """Return O and LSE of bf16 arrays [B, S, H, D]; raise ValueError for head dimensions other than 64 or 128."""
    return kernel_for(q.shape[-1])(q, k, v, causal=causal, scale=scale)


def reference(q, k, v, *, causal: bool = False, scale: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Compute attention's O and LSE by NumPy in float64."""
    return float64.attention(q, k, v, causal=causal, scale=scale)


def main() -> None:
    """Run the kernels on the simulator and print their largest errors against a float64 reference."""
    rng = np.random.default_rng(0)
    for head_dim, causal in ((64, False), (128, True)):
        q, k, v = (rng.standard_normal((1, 300, heads, head_dim)).astype(ml_dtypes.bfloat16) for heads in (2, 1, 1))
        results = zip(flash_attention(q, k, v, causal=causal), reference(q, k, v, causal=causal), strict=True)
        errors = [np.abs(np.asarray(actual, np.float64) - expected).max() for actual, expected in results]
        name = f"flash_attention_blackwell D={head_dim} causal={causal}"
        print(f"{name}: largest error {errors[0]:.2e}, of LSE {errors[1]:.2e}")


if __name__ == "__main__":
    main()
