"""Mutants of the subjects that survive every schedule, and the reasons: no effect, or not checked on purpose.

A `Survivor` matches all mutants by one operator of instructions that start with its `code`, in all subjects or in some.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from pyptx_sim.mutations import Mutant

Kind: TypeAlias = Literal["equivalent", "lenient", "gap"]
"""`equivalent`: no run differs. `lenient`: wrong by the manual, deliberately not reported. `gap`: not detected."""


@dataclass(frozen=True, slots=True)
class Survivor:
    """Surviving mutants of one operator in `subjects` (in every subject if empty), and the reason."""

    kind: Kind
    operator: str
    code: str
    reason: str
    subjects: tuple[str, ...] = ()

    def speaks_of(self, subject: str, mutant: Mutant) -> bool:
        """Return whether this `Survivor` lists the surviving mutant of a subject."""
        here = not self.subjects or subject in self.subjects
        return here and mutant.operator.name == self.operator and mutant.before.startswith(self.code)


def same(operator: str, code: str, reason: str, *subjects: str) -> Survivor:
    return Survivor("equivalent", operator, code, reason, subjects)


def lenient(operator: str, code: str, reason: str, *subjects: str) -> Survivor:
    return Survivor("lenient", operator, code, reason, subjects)


def gap(operator: str, code: str, reason: str, *subjects: str) -> Survivor:
    return Survivor("gap", operator, code, reason, subjects)


ANOTHER = "another thread executes the single-thread code"
TRADED = "the two groups of threads swap roles"
OVER = "reads before an arrival are complete for each waiting thread, whatever the scopes of arrival and wait"
TOGETHER = (
    "tensor_pipeline",
    "tensor_pair",
    "tensor_scales",
    "tensor_probabilities",
    "tensor_turns",
    "tensor_stationary",
)
COMPLETED = "like NVIDIA's own code, the kernel waits at CTA scope for asynchronous operations of other CTAs"

FEWER = "there are fewer clusters than iterations that a cluster may run"
INITIALIZED = "fence.mbarrier_init precedes the arrival"

SURVIVORS = (
    same("change a barrier number", "bar.sync 0", "all threads use the changed barrier number"),
    same("move a bound", "setp.eq.u32 %p0, %r1, 0", ANOTHER),
    same("move a bound", "setp.ne.u32 %p0, %r1, 0", ANOTHER, "tile_pipeline"),
    same("move a bound", "setp.eq.u32 %p6, %r4, 0", ANOTHER, "tile_pipeline"),
    same("move a bound", "setp.eq.u32 %p4, %r2, 0", ANOTHER, "copy_signal"),
    same("drop a group wait", "cp.async.wait_all", "the wait on the mbarrier covers all copies", "copy_signal"),
    same("add .nc to a global load", "ld.global", "the kernel never writes the global memory that it loads"),
    same("move a bound", "setp.ne.u32 %p2, %r3, 0", ANOTHER, "multicast"),
    same("move a bound", "setp.eq.u32 %p1, %r12, 0", ANOTHER, "cluster_words"),
    same("move a bound", "setp.ne.u32 %p1, %r1, 0", "after the shuffles, thread 1 has the sum too", "last_block"),
    same("move a bound", "setp.ne.u32 %p0, %r1, 0", TRADED, "flags"),
    same("move a bound", "setp.eq.u32 %p1, %r1, 32", ANOTHER, "edited_map"),
    same("move a bound", "setp.ne.u32 %p2, %r2, 0", ANOTHER, "warpgroup_pipeline"),
    same("move a bound", "setp.eq.u32 %p5, %r2, 0", ANOTHER, "warpgroup_pipeline"),
    same("move a bound", "setp.lt.u32 %p2, %r6, 2", "no thread waits for the last arrivals", "named_barriers"),
    same("move a bound", "setp.eq.u32 %p1, %r3, 0", ANOTHER, "taken_over"),
    same("move a bound", "setp.lt.u32 %p4, %r6, 16", FEWER, "taken_over"),
    same("flip a constant", "mov.u32 %r6, 0", FEWER, "taken_over"),
    same("invert a guard", "@%p1 bra CONSUME", TRADED, "copy_signal", "multicast"),
    same("invert a guard", "@%p0 bra TAKE", TRADED, "named_barriers", "registers"),
    same("invert a guard", "@%p0 bra RECEIVE", TRADED, "flags"),
    same("invert a guard", "@%p1 bra SKIP", TRADED, "matrices"),
    same("drop a guard", "@%p0 cp.async.bulk.commit_group", "the bulk groups of the other threads are empty"),
    same("delay a fence", "fence.proxy.async", "the thread that issues the copy has its own fence after the barrier"),
    same("delay a fence", "@%p0 fence.mbarrier_init", "the delayed fence still precedes the copy", "tile_transpose"),
    same("delay a fence", "@%p1 fence.proxy", "the delayed fence still precedes the copy", "edited_map"),
    same("drop a barrier", "bar.sync 0", "after the barrier, thread 0 only stores its own register", "last_block"),
    same("drop a cluster barrier", "barrier.cluster.arrive", "the last mbarrier phase follows all accesses",
         "cluster_messages"),
    same("relax a cluster arrival", "barrier.cluster.arrive", "as above", "cluster_messages"),
    same("drop a cluster wait", "barrier.cluster.wait", "as above", "cluster_messages"),
    same("relax a release", "barrier.cluster.arrive.release", INITIALIZED, "multicast", "taken_over"),
    same("wait for source reads only", "@%p0 cp.async.bulk.wait_group 0",
         "the end of the kernel waits for the writes of the bulk copies"),
    same("narrow a device scope", "@%p0 fence.proxy.tensormap", "both threads are in one CTA", "edited_map"),
    same("narrow a device scope", "@%p1 fence.proxy.tensormap", "both threads are in one CTA", "edited_map"),
    same("add 16 to the stride byte offset of a wgmma descriptor", "wgmma.mma_async",
         "eight columns are one core matrix: the stride byte offset is unused"),
    same("drop a move", "mov.u32 %r20, %r5", "the first iteration does not use the register that `mov` writes",
         "warpgroup_pipeline"),
    same("narrow a cluster scope", "mbarrier.arrive.release.cluster", OVER, "cluster_messages"),
    same("narrow a cluster scope", "@%p5 mbarrier.arrive.release.cluster", OVER, "multicast"),
    same("narrow a cluster scope", "@%p0 mbarrier.arrive.expect_tx", "the waiting thread is in this CTA", "taken_over"),
    same("drop a setmaxnreg", "setmaxnreg.inc", "the values of the warpgroup fit into fewer registers too",
         "registers"),
    lenient("narrow a cluster scope", "mbarrier.try_wait", COMPLETED, "taken_over"),
    lenient("narrow a cluster scope", "mbarrier.try_wait", COMPLETED, "cluster_messages", "cluster_copy",
            "tensor_pair"),
    same("narrow a cluster scope", "mbarrier.try_wait", OVER, "multicast"),
    same("move a bound", "setp.ne.u32 %p0, %r1, 0", ANOTHER, "tensor_scales", "tensor_stationary"),
    same("move a bound", "setp.ne.u32 %p1, %r2, 0", ANOTHER, "tensor_scales", "tensor_stationary"),
    same("move a bound", "setp.ne.u32 %p2, %r3, 0", ANOTHER, "tensor_probabilities"),
    same("move a bound", "setp.ne.u32 %p3, %r3, 0", ANOTHER, "tensor_pipeline", "tensor_pair", "tensor_turns"),
    same("move a bound", "setp.ne.u32 %p1, %r2, 5", TRADED, "tensor_pipeline", "tensor_pair"),
    same("move a bound", "setp.lt.u32 %p5, %r11, 512",
         "the loop counter grows by 128: the new bound ends the loop in the same iteration",
         "tensor_turns"),
    same("move a bound", "setp.eq.u32 %p0, %r2, 0", ANOTHER, "launches"),
    same("move a bound", "setp.lt.u32 %p3, %r4, 13",
         "the loop ends earlier: no CTA takes over the work of 13 other CTAs", "launches"),
    same("flip a constant", "mov.u32 %r4, 0",
         "the loop ends earlier: no CTA takes over the work of 13 other CTAs", "launches"),
    same("invert a guard", "@!%p1 bra MULTIPLY", TRADED, "tensor_pipeline", "tensor_pair"),
    same("delay a fence", "@%p0 fence.mbarrier_init", "the delayed fence still precedes the barrier",
         "tensor_pipeline", "tensor_turns"),
    same("delay a fence", "@%p0 fence.mbarrier_init", "the delayed fence still precedes try_cancel", "launches"),
    same("delay a fence", "@%p0 fence.proxy.async", "the delayed fence still precedes the barrier",
         "tensor_probabilities"),
    same("relax a release", "barrier.cluster.arrive.release", "fence.mbarrier_init, or all MMAs, precede the arrival",
         "tensor_pair"),
    lenient("drop a tcgen05 fence", "tcgen05.fence::before", "the thread has waited for its tcgen05 operations",
            *TOGETHER),
    lenient("drop a tcgen05 fence", "tcgen05.fence::after", "the mbarrier wait is for data in shared memory",
            "tensor_pipeline", "tensor_pair"),
    lenient("drop a proxy fence", "fence.proxy.async::generic", "one of the two proxy fences is enough", "launches"),
)  # fmt: skip
