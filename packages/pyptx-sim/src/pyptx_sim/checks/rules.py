"""The rules of ordinary PTX: what the machine and its steps report, and what the race checker does."""

from __future__ import annotations

from typing import Final

from pyptx_sim.checks.race.races import RaceChecker
from pyptx_sim.extension import Rule

RULES: Final = (
    Rule(
        name="out-of-bounds",
        summary="an access outside every array, allocation or frame",
    ),
    Rule(
        name="other-variable",
        summary="an address formed from one variable is in another variable, or in the padding between variables",
        hint="check the index against the extent of the variable: ptxas chooses the addresses of variables",
        severity="warning",
    ),
    Rule(
        name="generic-address",
        summary="an address of shared memory is used as a generic address",
        hint="name the space in the opcode (.shared::cta, .shared::cluster), or convert the address (cvta.shared)",
        severity="note",
    ),
    Rule(
        name="misaligned",
        summary="an address that is no multiple of what the access asks for",
    ),
    Rule(
        name="uninitialised-register",
        summary="a register is read that nothing has written on the path taken",
    ),
    Rule(
        name="uninitialised-memory",
        summary="memory is read before anything wrote it",
    ),
    Rule(
        name="undefined-value",
        summary="result depends on an undefined value, such as that of an integer division by zero",
    ),
    Rule(
        name="element-type",
        summary="scalar access of one float type to an array of another one",
        hint="access the array with its element type, and convert the value with cvt",
        severity="note",
    ),
    Rule(
        name="unwritten-output",
        summary="elements of an output that no thread has written",
    ),
    Rule(
        name="barrier-divergence",
        summary="a barrier of the block or of the cluster that not all meet who should",
    ),
    Rule(
        name="barrier-phase",
        summary="arrival at a named barrier that is not ordered after the completion of the barrier's previous phase",
        observer=RaceChecker,
    ),
    Rule(
        name="warp-divergence",
        summary="an instruction of several lanes that some of them do not execute, or others do",
    ),
    Rule(
        name="inactive-lane",
        summary="result depends on a register of a lane that has exited, is inactive or is not in the membermask",
    ),
    Rule(
        name="deadlock",
        summary="no warp can ever go on",
    ),
    Rule(
        name="mbarrier-uninitialised",
        summary="an arrival, a wait or a copy at a place that holds no mbarrier",
    ),
    Rule(
        name="mbarrier-reinit",
        summary="an mbarrier is initialised while it is valid",
    ),
    Rule(
        name="mbarrier-inval",
        summary="an mbarrier ends while others wait for it, or may still ask it",
        hint="let all waits return, and a barrier of the block order them, before one thread invalidates it",
        observer=RaceChecker,
    ),
    Rule(
        name="mbarrier-arrivals",
        summary="more arrivals than the phase expects, or a count that an mbarrier cannot hold",
    ),
    Rule(
        name="mbarrier-bytes",
        summary="more bytes are pending than an mbarrier counts",
    ),
    Rule(
        name="mbarrier-phase",
        summary="an arrival or a wait that is a whole phase late or early",
    ),
    Rule(
        name="unchecked-wait",
        summary="nothing looks at the answer of a wait that may say: not yet",
    ),
    Rule(
        name="unfinished-copy",
        summary="a thread ends before it has waited for its copies",
        hint="wait for it before the thread ends: its memory may be another block's by the time it completes",
    ),
    Rule(
        name="sparse-metadata",
        summary="ordered metadata of a sparse product whose places do not grow",
    ),
    Rule(
        name="shared-race",
        summary="two warps touch the same bytes of shared memory, one writes, and nothing orders the two",
        hint="let the threads of the block meet between the two: bar.sync",
        observer=RaceChecker,
    ),
    Rule(
        name="global-race",
        summary="two warps touch the same bytes of global memory, one writes, and nothing orders the two",
        hint="order the two: a barrier inside a block; across blocks a fence and an atomic, or two launches",
        observer=RaceChecker,
    ),
    Rule(
        name="noncoherent-read",
        summary="what is read by ld.global.nc is written in the same launch",
        hint="read it without .nc, which is for what nothing writes while the kernel runs",
        observer=RaceChecker,
    ),
    Rule(
        name="lane-race",
        summary="two lanes of a warp touch the same bytes, one writes, and nothing orders the two",
        hint="lanes of a warp are not ordered by running together: put bar.warp.sync between the two",
        observer=RaceChecker,
    ),
    Rule(
        name="read-before-wait",
        summary="what asynchronous work writes is touched before the work is known to be complete",
        hint="wait for the work first: for its group, and then a barrier, or for its mbarrier's phase",
        observer=RaceChecker,
    ),
    Rule(
        name="early-reuse",
        summary="memory is written while somebody may still read what it held",
        hint="wait until everybody has read it: an mbarrier that the readers arrive at, or wait_group(.read)",
        observer=RaceChecker,
    ),
    Rule(
        name="missing-proxy-fence",
        summary="what one proxy has written is used through another, and no fence stands between",
        hint="put fence.proxy.async behind the writes, before the barrier that orders them; behind mbarrier.init "
        "fence.mbarrier_init does too",
        observer=RaceChecker,
    ),
    Rule(
        name="mbarrier-as-data",
        summary="bytes of a valid mbarrier are touched by what is no instruction of mbarriers",
        hint="give data and mbarriers places of their own, or end the mbarrier first: mbarrier.inval, and a "
        "barrier of the block",
        observer=RaceChecker,
    ),
    Rule(
        name="mbarrier-unsynchronised",
        summary="an mbarrier is used by a warp that may not see its initialisation yet",
        hint="let everybody see the initialisation: a barrier of the block; across blocks fence.mbarrier_init "
        "and a barrier of the cluster",
        observer=RaceChecker,
    ),
    Rule(
        name="unstarted-block",
        summary="access to another CTA of the cluster before that CTA is known to have started",
        hint="begin with a barrier of the cluster (barrier.cluster.arrive, barrier.cluster.wait), behind which all "
        "blocks have started",
        observer=RaceChecker,
    ),
    Rule(
        name="exited-block",
        summary="shared memory of a block is used by another one, and nothing says that it is still there",
        hint="end with a barrier of the cluster, so that no block ends while others use its shared memory",
        observer=RaceChecker,
    ),
)
