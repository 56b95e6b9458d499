"""Rules of the simulator for Blackwell's instructions."""

from __future__ import annotations

from typing import Final

from pyptx_sim.extension import Rule

RULES: Final = (
    Rule(
        name="tensor-race",
        summary="two accesses to the same cells of tensor memory, one of them writes, and nothing orders the two",
        hint="let one thread issue the work (elect.sync), or order the threads: a barrier, an mbarrier",
        observer="races",
    ),
    Rule(
        name="tensor-allocation",
        summary="columns of tensor memory that cannot be allocated or freed so",
        hint="ask for 32, 64, 128, 256 or 512 columns, and free what tcgen05.alloc gave, once",
    ),
    Rule(
        name="tensor-freed",
        summary="columns of tensor memory are given back while work may use them, or used behind that",
        hint="let a barrier or an mbarrier stand between the last use of the columns, waited for, and tcgen05.dealloc",
        observer="races",
    ),
    Rule(
        name="tensor-leak",
        summary="a block ends and keeps columns of tensor memory",
        hint="tcgen05.dealloc all that was allocated before the block ends",
    ),
    Rule(
        name="tensor-pair",
        summary="the blocks of a pair, or the instructions of a kernel, disagree on what is done together",
        hint="let both blocks of the pair execute it, with the same operands",
    ),
    Rule(
        name="tensor-lanes",
        summary="a warp accesses lanes of tensor memory that belong to another warp",
        hint="add 32 times the warp's number in its warpgroup to the lane, the upper half of the address",
    ),
    Rule(
        name="tensor-product",
        summary="a product that there is not, or whose operands do not fit",
        hint="make the instruction descriptor of types and sizes",
    ),
    Rule(
        name="tensor-descriptor",
        summary="a descriptor of a product that describes no matrix, or another one than what lies there",
        hint="describe the tile once (SharedTile), and take TMA's layout and the descriptor from that",
        observer="races",
    ),
    Rule(
        name="tensor-collector",
        summary="a product takes a matrix from a buffer of the tensor core that does not hold it",
        hint="fill the buffer first (.collector::…::fill), by a product with the same matrix",
    ),
    Rule(
        name="tensor-scales",
        summary="a product reads scales that differ between the quarters of tensor memory's lanes",
        hint="copy the scales to all four quarters of the lanes, in both blocks of a pair (.warpx4)",
    ),
    Rule(
        name="tensor-fence",
        summary="work in tensor memory is ordered by synchronising threads, without tcgen05.fence",
        hint="tcgen05.fence::before_thread_sync before the threads synchronise, tcgen05.fence::after_thread_sync after",
        severity="note",
    ),
    Rule(
        name="unfinished-tensor-work",
        summary="a thread ends, and nobody has waited at an mbarrier for its products, copies or shifts",
        hint="tcgen05.commit to an mbarrier, and wait there before the block ends",
        severity="warning",
    ),
    Rule(
        name="unfinished-tensor-store",
        summary="a warp ends before it has waited for its stores to tensor memory",
        hint="tcgen05.wait::st",
        severity="warning",
    ),
    Rule(
        name="unfinished-tensor-load",
        summary="a warp ends before it has waited for its loads from tensor memory",
        hint="tcgen05.wait::ld",
        severity="note",
    ),
)
