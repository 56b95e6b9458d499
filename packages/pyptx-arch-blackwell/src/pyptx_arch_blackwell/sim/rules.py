"""Finding rules of the simulator for Blackwell's instructions."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pyptx_sim.extension import Rule, explained
from pyptx_sim.rules import RaceChecker

RULES: Final = explained(
    Path(__file__).with_name("pages"),
    Rule(
        name="tmem-race",
        summary="data race on tensor memory",
        help="issue both operations from one thread (elect.sync), or order the threads with a barrier or mbarrier",
        checker=RaceChecker,
    ),
    Rule(
        name="tmem-alloc",
        summary="invalid tcgen05.alloc or tcgen05.dealloc: column count or order",
        help="allocate 32, 64, 128, 256 or 512 columns; free each allocation once, with its address and size",
    ),
    Rule(
        name="tmem-use-after-free",
        summary="tensor memory deallocated while in use, or used after deallocation",
        help="wait for the last use, synchronize with the deallocating warp, then tcgen05.dealloc",
        checker=RaceChecker,
    ),
    Rule(
        name="tmem-leak",
        summary="CTA exits with tensor memory allocated",
        help="tcgen05.dealloc everything before the CTA exits",
    ),
    Rule(
        name="cta-pair",
        summary="different tcgen05 operations in the CTAs of a pair, or different .cta_group values",
        help="execute the instruction in both CTAs of the pair with the same operands",
    ),
    Rule(
        name="tmem-lanes",
        summary="warp accesses tensor memory lanes outside the warp's lane quarter",
        help="add 32 * (warp % 4) to the lane field (bits 31-16) of the address",
    ),
    Rule(
        name="tcgen05-mma",
        summary="invalid tcgen05.mma: shape, kind and operands do not match",
        help="build the instruction descriptor with InstructionDescriptor",
    ),
    Rule(
        name="tcgen05-descriptor",
        summary="shared memory descriptor invalid, or different from the layout in shared memory",
        help="build the descriptor and the TMA box from one SharedTile",
        checker=RaceChecker,
    ),
    Rule(
        name="tcgen05-collector",
        summary="collector buffer used before it is filled",
        help="issue an MMA with .collector::…::fill and the same matrix first",
    ),
    Rule(
        name="tcgen05-scales",
        summary="scale factors differ between lane quarters",
        help="copy them with .warpx4, in both CTAs of a pair",
    ),
    Rule(
        name="missing-tcgen05-fence",
        summary="tensor memory accesses ordered by thread synchronization without tcgen05.fence",
        help="tcgen05.fence::before_thread_sync before the arrive, ::after_thread_sync after the wait",
        severity="note",
    ),
    Rule(
        name="unfinished-tcgen05",
        summary="thread exits with outstanding tcgen05.mma, cp or shift",
        help="tcgen05.commit to an mbarrier and wait for its phase before exit",
        severity="warning",
    ),
    Rule(
        name="unfinished-tcgen05-st",
        summary="warp exits with outstanding tcgen05.st",
        help="tcgen05.wait::st before exit",
        severity="warning",
    ),
    Rule(
        name="unfinished-tcgen05-ld",
        summary="warp exits with outstanding tcgen05.ld",
        help="tcgen05.wait::ld before exit",
        severity="note",
    ),
)
