"""Mutants of the example kernels that survive every schedule, and the reasons.

A `Survivor` matches the mutants by one operator of instructions that start with its `code` (registers without numbers:
`%r`), in the kernels that match its patterns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx_sim.mutations import Mutant

    from .survivors import Kind

_NUMBER_OF_REGISTER = re.compile(r"(%[a-z]+)\d+(_\d+)?")


@dataclass(frozen=True, slots=True)
class Survivor:
    """Surviving mutants of one operator in kernels whose names match `kernels`, and the reason."""

    kind: Kind
    operator: str
    code: str
    reason: str
    kernels: tuple[str, ...]

    def speaks_of(self, kernel: str, mutant: Mutant) -> bool:
        """Return whether this `Survivor` lists the surviving mutant of a kernel."""
        code = _NUMBER_OF_REGISTER.sub(r"\1", mutant.before)
        here = any(fnmatchcase(kernel, pattern) for pattern in self.kernels)
        return here and mutant.operator.name == self.operator and code.startswith(self.code)


def same(operator: str, code: str, reason: str, *kernels: str) -> Survivor:
    return Survivor("equivalent", operator, code, reason, kernels)


def lenient(operator: str, code: str, reason: str, *kernels: str) -> Survivor:
    return Survivor("lenient", operator, code, reason, kernels)


ANOTHER = "another thread executes the single-thread code"
STEPPED = "the loop counter grows by more than one and exceeds the old and the new bound in the same iteration"
INSIDE = "at the tested row length no lane is out of bounds"
UNUSED = "at the tested row length, each lane overwrites the register by a load or stores nothing"
LAST = "no thread waits for the last arrivals"
FREE = "the first wait for a stage returns at once"
OUTSIDE = "where one operand is out of bounds, the other is zero or the result is not stored"
TRUE = "uses of loaded registers are ordered after the load, with or without the wait"
ALONE = "the cluster has one CTA"
FEWER_ROWS = "in the tested case, no last tile of a group has a row that this store writes"
ONLY = "the end of the kernel waits for the writes of the bulk copies"
FOUND = "all lanes have the maximum"
NEIGHBORS = "both threads of a block have the block's scale factor"
BEYOND = "results of out-of-bounds elements are not stored, and their scale factor is zero"

KEYS = "out-of-bounds keys are zeros, which add nothing; the second column of a pair may be the last in bounds"
GRADIENTS = "hopper/flash_attention_backward"
CLUSTERS = "hopper/flash_attention clusters"
ATTENTION = ("hopper/flash_attention", CLUSTERS)
GEMMS, NORMS = "*/*gemm*", ("*/rms_norm", "*/layer_norm", "*/softmax")
KERNEL_SURVIVORS = (
    same("add .nc to a global load", "ld.global", "the kernel never writes the global memory that it loads", "*"),
    same("add .nc to a global load", "@%p ld.global", "the kernel never writes the global memory that it loads",
         "ampere/*"),
    same("change a barrier number", "bar.sync 0", "all threads use the changed barrier number", "*"),
    same("change a barrier number", "bar.sync 3", "all threads use the changed barrier number",
         "hopper/flash_attention_backward_fused"),
    same("change a barrier number", "bar.sync 1", "all consumers use the changed barrier number",
         "hopper/gemm_narrow_hopper"),
    same("move a bound", "setp.lt.s32 %p, %r, ", STEPPED, GEMMS, GRADIENTS),
    same("move a bound", "setp.lt.u32 %p, %r, ", STEPPED, GEMMS, "ampere/reduce", "hopper/rms_norm_backward*",
         "blackwell/quantize"),
    same("move a bound", "setp.gt.s32 %p, %r, ", STEPPED, GEMMS),
    same("move a bound", "setp.ge.u32 %p, %r, ", STEPPED, GEMMS, "hopper/rms_norm_backward", "blackwell/quantize"),
    same("move a bound", "setp.eq.u32 %p, %r, 0", ANOTHER, "ampere/reduce", "hopper/rms_norm_backward", GEMMS,
         "blackwell/quantize*", GRADIENTS),
    same("invert a guard", "@!%p bra", "all lanes have the sum", "ampere/reduce", "hopper/rms_norm_backward"),
    same("invert a guard", "@!%p bra", FOUND, "blackwell/quantize"),
    same("drop a guard", "@%p st.global", FOUND, "blackwell/quantize"),
    same("invert a guard", "@%p st.global", FOUND, "blackwell/quantize"),
    same("drop a guard", "@%p st.global.u8", NEIGHBORS, "blackwell/quantize_mxfp8"),
    same("invert a guard", "@%p st.global.u8", NEIGHBORS, "blackwell/quantize_mxfp8"),
    same("drop a move", "mov.b32 %r, 0", BEYOND, "blackwell/quantize_*"),
    same("flip a constant", "mov.b32 %r, 0", BEYOND, "blackwell/quantize_*"),
    same("move a tcgen05.cp after the next MMA", "tcgen05.cp", "only a later MMA of the stage reads the copied columns",
         "blackwell/gemm_nvfp4_blackwell"),
    same("drop a move", "mov.u32 %r, %clusterid.x", "the MMA warp counts tiles and does not use their indices",
         "blackwell/gemm_persistent_blackwell"),
    same("replace mapa by mov", "mapa.shared::cluster.u32 %r, %r, 0",
         "the requesting warp runs in CTA 0, the target of mapa", "blackwell/gemm_persistent_blackwell"),
    same("move a bound", "setp.le.u32 %p, %r, %r", "storing the rows of a whole tile one by one is correct too",
         "blackwell/grouped_gemm_blackwell", "hopper/grouped_gemm"),
    same("move a bound", "setp.eq.u32 %p, %r, 2",
         "a tile with an even number of steps ends within the two stages of the ring",
         "hopper/grouped_gemm", "hopper/gemm_highperf_hopper"),
    same("move a bound", "setp.eq.u32 %p, %r, 2", "the ring of stages never wraps at the end of a tile in this case",
         "hopper/grouped_gemm"),
    same("drop a store", "@%p st.global.v4.b32 [%rd+3264]", FEWER_ROWS, "hopper/grouped_gemm"),
    same("add 4 bytes to a store address", "@%p st.global.v4.b32 [%rd+3264]", FEWER_ROWS, "hopper/grouped_gemm"),
    same("add 1 MiB to a store address", "@%p st.global.v4.b32 [%rd+3264]", FEWER_ROWS, "hopper/grouped_gemm"),
    same("replace mapa by mov", "mapa", ALONE, "hopper/grouped_gemm"),
    same("drop a cluster barrier", "barrier.cluster.arrive", ALONE, "hopper/grouped_gemm"),
    same("drop a cluster wait", "barrier.cluster.wait", ALONE, "hopper/grouped_gemm"),
    same("wait for source reads only", "cp.async.bulk.wait_group 0", ONLY, "blackwell/*gemm*", "hopper/*gemm*"),
    same("delay a fence", "fence.proxy.async", "the thread that issues the copy has its own fence after the barrier",
         "blackwell/*gemm*"),
    lenient("drop a warp barrier", "bar.warp.sync", "all lanes of a warp wait for the warp's loads together",
            "blackwell/*gemm*"),
    same("drop a move", "mov.f32 %f, 0f3F800000", "out-of-bounds accumulators, and their scales, are not stored",
         "blackwell/gemm_fp8_blackwell"),
    same("move a bound", "setp.lt.u32 %p, %r, ", INSIDE, *NORMS, "*/swiglu"),
    same("drop a guard", "@%p st.global", INSIDE, "*/swiglu"),
    same("drop a move", "mov.f32 %f, ", UNUSED, *NORMS, "*/swiglu"),
    same("drop a move", "mov.b32 %r, 0", OUTSIDE, "ampere/gemm_simple", "blackwell/gemm_blockscaled_sm120*"),
    same("flip a constant", "mov.b32 %r, 0", OUTSIDE, "ampere/gemm_simple", "blackwell/gemm_blockscaled_sm120*"),
    same("drop a move", "mov.u32 %r, dyn_smem+65536", "the register is unused: each TMA box has its own address",
         "hopper/gemm_pipelined_hopper"),
    same("change an arrival count", "mbarrier.init", LAST, "hopper/*gemm*", "blackwell/gemm_2sm_blackwell",
         "blackwell/gemm_pipelined_blackwell", "blackwell/gemm_fp8_blackwell"),
    same("drop a move", "mov.u32 %r, 0", LAST, "hopper/*gemm*"),
    same("flip a constant", "mov.u32 %r, 0", LAST, "hopper/*gemm*"),
    same("delay a fence", "fence.proxy.async", "the delayed fence still precedes the copy",
         "hopper/gemm_pipelined_hopper"),
    same("delay a fence", "fence.proxy.async", "the thread that issues the copy has its own fence after the barrier",
         "*/flash_attention*", "hopper/*gemm*"),
    same("move a bound", "setp.gt.s32 %p, %r, 0", "the consumer releases each stage one iteration later",
         "hopper/*gemm*"),
    same("arrive before preceding accesses", "mbarrier.arrive.expect_tx",
         "the preceding copies signal another mbarrier", "hopper/gemm_pipelined_hopper"),
    same("arrive before preceding accesses", "mbarrier.arrive.expect_tx",
         "the mutant only exchanges the arrival with an addition",
         "blackwell/flash_attention*"),
    same("drop a setmaxnreg", "setmaxnreg.inc", "the values of the warpgroup fit into fewer registers too",
         "hopper/*gemm*", "hopper/flash_attention*", "blackwell/flash_attention_backward*"),
    lenient("drop a barrier", "bar.sync 0", "wgmma of a warpgroup has read its operands once one warp has waited",
            "hopper/gemm_simple_hopper"),
    same("drop a wgmma fence", "wgmma.fence", "only wgmma.mma_async is between this fence and the previous one",
         *ATTENTION),
    same("drop a wgmma fence", "wgmma.fence", "the fence of the previous MMAs follows all accesses to the registers",
         GRADIENTS),
    same("drop a move", "mov.s32 %r, %r", "the row index is unused: only causal masks need it", GRADIENTS),
    same("flip a constant", "mov.s32 %r, 0", STEPPED, GRADIENTS),
    same("move a bound", "setp.ge.s32 %p, %r, ", KEYS, GRADIENTS),
    same("invert a guard", "@!%p bra $L_else_7", KEYS, GRADIENTS),
    same("change a barrier number", "bar.sync %r, 128", "all threads of the warpgroup use the changed barrier number",
         GRADIENTS),
    lenient("drop a barrier", "bar.sync %r, 128", "wgmma of a warpgroup has read its operands once one warp has waited",
            GRADIENTS),
    same("drop a commit", "wgmma.commit_group", "the next commit_group commits both groups; one wait covers both",
         GRADIENTS),
    same("drop a commit", "cp.async.bulk.commit_group", "the next commit_group commits both groups", GRADIENTS),
    same("commit before preceding copies", "wgmma.commit_group",
         "the mutant only exchanges the commit with an address computation",
         GRADIENTS),
    same("commit before preceding copies", "cp.async.bulk.commit_group",
         "the mutant only exchanges the commit with an address computation",
         GRADIENTS),
    same("move a bound", "setp.le.s32 %p, %r, -1", "the tested case has more than one iteration over keys",
         "hopper/flash_attention"),
    same("move a bound", "setp.lt.u32 %p, %r, 4", "the warp has read a stage before: the stage's index is below 4",
         "hopper/flash_attention"),
    same("flip a constant", "mov.u32 %r, 4", "any stage index above 3 means that no stage was read",
         "hopper/flash_attention"),
    same("flip a constant", "mov.u32 %r, 2", "any stage index above 1 means that no stage was read",
         CLUSTERS),
    same("drop a guard", "@%p st.shared.v2.f32", "the four lanes of a row have the same value", CLUSTERS),
    same("move a bound", "setp.eq.u32 %p, %r, 0", ANOTHER, *ATTENTION),
    same("change an arrival count", "mbarrier.init", LAST, "hopper/flash_attention"),
    same("add 8 bytes to an mbarrier address", "mbarrier.try_wait", FREE, "hopper/flash_attention"),
    same("drop a wait", "mbarrier.try_wait", FREE, *ATTENTION),
    same("arrive before preceding accesses", "bar.arrive", "the mutant only exchanges the arrival with a `mov`",
         *ATTENTION),
    same("move a bound", "setp.gt.u32 %p, %r, 1", "every CTA has more than two iterations",
         "blackwell/flash_attention_backward*"),
    lenient("add 8 bytes to an mbarrier address", "mbarrier.try_wait",
            "the thread also waits at the mbarrier of the same stage's MMAs", "blackwell/flash_attention_backward*"),
    same("drop a tcgen05.wait::ld", "tcgen05.wait::ld", TRUE, "blackwell/*gemm*", "blackwell/flash_attention*"),
    same("change tcgen05.wait::ld to ::st", "tcgen05.wait::ld", TRUE, "blackwell/*gemm*", "blackwell/flash_attention*"),
    lenient("drop a tcgen05 fence", "tcgen05.fence::before", "the thread has waited for its tcgen05 operations",
            "blackwell/*gemm*"),
    lenient("drop a tcgen05 fence", "tcgen05.fence::after", "the mbarrier wait is for data in shared memory",
            "blackwell/*gemm*"),
    same("relax a cluster arrival", "barrier.cluster.arrive", "fence.mbarrier_init precedes it",
         "blackwell/*gemm*"),
    same("flip a constant", "mov.b64 %rd, ", "the last bit of the constant is less than the rounding error",
         "blackwell/*norm", "blackwell/softmax", "blackwell/swiglu"),
)  # fmt: skip
