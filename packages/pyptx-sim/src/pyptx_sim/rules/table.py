"""Checker rules of base PTX, reported by simulated instructions and by the race checker."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pyptx_sim.extension.rule import Rule, explained
from pyptx_sim.rules.races import RaceChecker

RULES: Final = explained(
    Path(__file__).with_name("pages"),
    Rule(
        name="out-of-bounds",
        summary="access outside every array, allocation and stack frame",
    ),
    Rule(
        name="other-variable",
        summary="an address formed from one variable is in another variable, or in the padding between variables",
        help="check the index against the extent of the variable: ptxas chooses the addresses of variables",
        severity="warning",
    ),
    Rule(
        name="generic-address",
        summary="an address of shared memory is used as a generic address",
        help="name the space in the opcode (.shared::cta, .shared::cluster), or convert the address (cvta.shared)",
        severity="note",
    ),
    Rule(
        name="misaligned",
        summary="address not aligned to the access size",
    ),
    Rule(
        name="uninitialized-register",
        summary="result depends on an uninitialized register",
    ),
    Rule(
        name="uninitialized-memory",
        summary="result depends on uninitialized memory",
    ),
    Rule(
        name="undefined-value",
        summary="result depends on an undefined value, such as that of an integer division by zero",
    ),
    Rule(
        name="element-type",
        summary="scalar access of one float type to an array of another float type",
        help="access the array with its element type, and convert the value with cvt",
        severity="note",
    ),
    Rule(
        name="unwritten-output",
        summary="output elements were never written",
    ),
    Rule(
        name="barrier-divergence",
        summary="some threads of the CTA or cluster do not arrive at this barrier",
    ),
    Rule(
        name="barrier-phase",
        summary="arrival at a named barrier that is not ordered after the completion of the barrier's previous phase",
        checker=RaceChecker,
    ),
    Rule(
        name="membermask-mismatch",
        summary="executing lanes differ from the instruction's membermask",
    ),
    Rule(
        name="inactive-lane",
        summary="result depends on a register of a lane that has exited, is inactive or is not in the membermask",
    ),
    Rule(
        name="deadlock",
        summary="no warp can make progress",
    ),
    Rule(
        name="mbarrier-uninitialized",
        summary="mbarrier operation on memory without an initialized mbarrier",
    ),
    Rule(
        name="mbarrier-reinit",
        summary="mbarrier initialized twice",
    ),
    Rule(
        name="mbarrier-inval",
        summary="mbarrier invalidated while in use",
        help="bar.sync after the last wait, then mbarrier.inval in one thread",
        checker=RaceChecker,
    ),
    Rule(
        name="mbarrier-arrival-count",
        summary="more arrivals than the phase expects, or a count outside 1 to 2^20 - 1",
    ),
    Rule(
        name="mbarrier-tx-count",
        summary="tx-count out of range",
    ),
    Rule(
        name="mbarrier-phase",
        summary="arrive at an mbarrier, or wait for it, one phase early or late",
    ),
    Rule(
        name="unchecked-mbarrier-wait",
        summary="result of mbarrier.test_wait or try_wait ignored",
    ),
    Rule(
        name="unfinished-copy",
        summary="thread exits with outstanding asynchronous copies",
        help="wait for completion before exit: the shared memory may belong to another CTA by then",
    ),
    Rule(
        name="sparse-metadata",
        summary="sparse-MMA metadata indices are not strictly increasing",
    ),
    Rule(
        name="shared-race",
        summary="data race between warps on shared memory",
        help="put bar.sync (__syncthreads) between the two accesses",
        checker=RaceChecker,
    ),
    Rule(
        name="global-race",
        summary="data race between warps on global memory",
        help="same CTA: bar.sync; across CTAs: st.release.gpu / ld.acquire.gpu on a flag, or two launches",
        checker=RaceChecker,
    ),
    Rule(
        name="noncoherent-read",
        summary="ld.global.nc of memory written in the same launch",
        help="use ld.global: .nc requires memory that is read-only for the whole kernel",
        checker=RaceChecker,
    ),
    Rule(
        name="lane-race",
        summary="data race between lanes of one warp",
        part_of=frozenset({"shared-race", "global-race"}),
        help="put bar.warp.sync (__syncwarp) between the two accesses: warps do not run in lockstep",
        checker=RaceChecker,
    ),
    Rule(
        name="read-before-wait",
        summary="destination of an asynchronous operation accessed before its completion is awaited",
        help="wait for the group or mbarrier phase, then synchronize with the other readers",
        checker=RaceChecker,
    ),
    Rule(
        name="early-reuse",
        summary="buffer overwritten before its readers are done (WAR hazard)",
        help='wait for the readers first: an "empty" mbarrier, a barrier, or cp.async.bulk.wait_group.read',
        checker=RaceChecker,
    ),
    Rule(
        name="missing-proxy-fence",
        summary="missing proxy fence between generic-proxy and async-proxy accesses",
        help="put fence.proxy.async after the writes and before the barrier; after mbarrier.init, fence.mbarrier_init "
        "also works",
        checker=RaceChecker,
    ),
    Rule(
        name="mbarrier-as-data",
        summary="non-mbarrier access to a live mbarrier object",
        help="use separate memory, or mbarrier.inval and bar.sync before reuse",
        checker=RaceChecker,
    ),
    Rule(
        name="mbarrier-init-race",
        summary="mbarrier used before its initialization is visible",
        help="put bar.sync after mbarrier.init; across CTAs fence.mbarrier_init and a cluster barrier",
        checker=RaceChecker,
    ),
    Rule(
        name="cluster-cta-not-started",
        summary="access to another CTA of the cluster before that CTA is known to have started",
        help="execute barrier.cluster.arrive and .wait before the first access",
        checker=RaceChecker,
    ),
    Rule(
        name="cluster-cta-exited",
        summary="distributed shared memory access after the target CTA may have exited",
        help="execute a cluster barrier before exit",
        checker=RaceChecker,
    ),
)
