"""Mutants of the example kernels that survive every schedule, and the reasons.

A row matches the mutants by one operator of instructions that start with its `code` (registers without numbers: `%r`),
in the kernels that match its patterns.
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
    """A kind of survivor; `kernels` are patterns of kernel names."""

    kind: Kind
    operator: str
    code: str
    reason: str
    kernels: tuple[str, ...]

    def speaks_of(self, kernel: str, mutant: Mutant) -> bool:
        """Return whether this row matches a mutant of a kernel."""
        code = _NUMBER_OF_REGISTER.sub(r"\1", mutant.before)
        here = any(fnmatchcase(kernel, pattern) for pattern in self.kernels)
        return here and mutant.operator.name == self.operator and code.startswith(self.code)


def same(operator: str, code: str, reason: str, *kernels: str) -> Survivor:
    return Survivor("equivalent", operator, code, reason, kernels)


def lenient(operator: str, code: str, reason: str, *kernels: str) -> Survivor:
    return Survivor("lenient", operator, code, reason, kernels)


ANOTHER = "another thread does what one must do"
STEPPED = "the number comes in steps of more than one, and goes by the bound either way"
INSIDE = "at this width every lane is inside"
UNUSED = "at this width every lane loads it, or its lane stores nothing"
LAST = "the last arrivals are nobody's business"
FREE = "the first wait for a stage returns at once"
OUTSIDE = "where one factor is outside of its matrix the other one is zero, or nothing is stored"
TRUE = "registers that a load fills are ordered by who uses them, wait or not"
ALONE = "a cluster is one block, which meets itself"
FEWER_ROWS = "no group of this case ends so many rows into a tile"
ONLY = "the end of the kernel waits for the rest"
FOUND = "all lanes have the largest number"
NEIGHBOURS = "both threads of a block have its scale"
BEYOND = "what becomes of elements outside of the matrix is not stored, and their scale is zero"

KEYS = "keys that are not there are zeros, which add nothing; of a pair of columns the second may be the last that is"
GRADIENTS = "hopper/flash_attention_backward"
CLUSTERS = "hopper/flash_attention clusters"
ATTENTION = ("hopper/flash_attention", CLUSTERS)
GEMMS, NORMS = "*/*gemm*", ("*/rms_norm", "*/layer_norm", "*/softmax")
KERNEL_SURVIVORS = (
    same("read without coherence", "ld.global", "nothing writes what it reads in this launch", "*"),
    same("read without coherence", "@%p ld.global", "nothing writes what it reads in this launch", "ampere/*"),
    same("take another barrier", "bar.sync 0", "all threads meet at the other one", "*"),
    same("take another barrier", "bar.sync 3", "all threads meet at the other one",
         "hopper/flash_attention_backward_fused"),
    same("take another barrier", "bar.sync 1", "the consumers meet at the other one", "hopper/gemm_narrow_hopper"),
    same("move a bound", "setp.lt.s32 %p, %r, ", STEPPED, GEMMS, GRADIENTS),
    same("move a bound", "setp.lt.u32 %p, %r, ", STEPPED, GEMMS, "ampere/reduce", "hopper/rms_norm_backward*",
         "blackwell/quantise"),
    same("move a bound", "setp.gt.s32 %p, %r, ", STEPPED, GEMMS),
    same("move a bound", "setp.ge.u32 %p, %r, ", STEPPED, GEMMS, "hopper/rms_norm_backward", "blackwell/quantise"),
    same("move a bound", "setp.eq.u32 %p, %r, 0", ANOTHER, "ampere/reduce", "hopper/rms_norm_backward", GEMMS,
         "blackwell/quantise*", GRADIENTS),
    same("let the other threads", "@!%p bra", "all lanes have the sum", "ampere/reduce", "hopper/rms_norm_backward"),
    same("let the other threads", "@!%p bra", FOUND, "blackwell/quantise"),
    same("let every thread", "@%p st.global", FOUND, "blackwell/quantise"),
    same("let the other threads", "@%p st.global", FOUND, "blackwell/quantise"),
    same("let every thread", "@%p st.global.u8", NEIGHBOURS, "blackwell/quantise_mxfp8"),
    same("let the other threads", "@%p st.global.u8", NEIGHBOURS, "blackwell/quantise_mxfp8"),
    same("drop a move", "mov.b32 %r, 0", BEYOND, "blackwell/quantise_*"),
    same("flip a constant", "mov.b32 %r, 0", BEYOND, "blackwell/quantise_*"),
    same("copy after the MMA", "tcgen05.cp", "a later product of the stage is the first to use it",
         "blackwell/gemm_nvfp4_blackwell"),
    same("drop a move", "mov.u32 %r, %clusterid.x", "the warp that multiplies counts tiles, it needs no number",
         "blackwell/gemm_persistent_blackwell"),
    same("stay at home", "mapa.shared::cluster.u32 %r, %r, 0", "the warp that asks is in the first block anyway",
         "blackwell/gemm_persistent_blackwell"),
    same("move a bound", "setp.le.u32 %p, %r, %r", "rows of one group go out one by one as well",
         "blackwell/grouped_gemm_blackwell", "hopper/grouped_gemm"),
    same("move a bound", "setp.eq.u32 %p, %r, 2", "a tile of an even number of steps ends within the ring of two",
         "hopper/grouped_gemm", "hopper/gemm_highperf_hopper"),
    same("move a bound", "setp.eq.u32 %p, %r, 2", "the ring is never at its end when one of these tiles is",
         "hopper/grouped_gemm"),
    same("drop a store", "@%p st.global.v4.b32 [%rd+3264]", FEWER_ROWS, "hopper/grouped_gemm"),
    same("access one word off", "@%p st.global.v4.b32 [%rd+3264]", FEWER_ROWS, "hopper/grouped_gemm"),
    same("store far off", "@%p st.global.v4.b32 [%rd+3264]", FEWER_ROWS, "hopper/grouped_gemm"),
    same("stay at home", "mapa", ALONE, "hopper/grouped_gemm"),
    same("drop a cluster barrier", "barrier.cluster.arrive", ALONE, "hopper/grouped_gemm"),
    same("drop a cluster wait", "barrier.cluster.wait", ALONE, "hopper/grouped_gemm"),
    same("wait for reads only", "cp.async.bulk.wait_group 0", ONLY, "blackwell/*gemm*", "hopper/*gemm*"),
    same("fence too late", "fence.proxy.async", "who issues the copy has a fence of its own behind the barrier",
         "blackwell/*gemm*"),
    lenient("drop a warp barrier", "bar.warp.sync", "all lanes of the warp wait for its loads together",
            "blackwell/*gemm*"),
    same("drop a move", "mov.f32 %f, 0f3F800000", "sums beyond the edges, and their scales, are not stored",
         "blackwell/gemm_fp8_blackwell"),
    same("move a bound", "setp.lt.u32 %p, %r, ", INSIDE, *NORMS, "*/swiglu"),
    same("let every thread", "@%p st.global", INSIDE, "*/swiglu"),
    same("drop a move", "mov.f32 %f, ", UNUSED, *NORMS, "*/swiglu"),
    same("drop a move", "mov.b32 %r, 0", OUTSIDE, "ampere/gemm_simple", "blackwell/gemm_blockscaled_sm120*"),
    same("flip a constant", "mov.b32 %r, 0", OUTSIDE, "ampere/gemm_simple", "blackwell/gemm_blockscaled_sm120*"),
    same("drop a move", "mov.u32 %r, dyn_smem+65536", "panels are addressed anew: nothing uses it",
         "hopper/gemm_pipelined_hopper"),
    same("change an arrival count", "mbarrier.init", LAST, "hopper/*gemm*", "blackwell/gemm_2sm_blackwell",
         "blackwell/gemm_pipelined_blackwell", "blackwell/gemm_fp8_blackwell"),
    same("drop a move", "mov.u32 %r, 0", LAST, "hopper/*gemm*"),
    same("flip a constant", "mov.u32 %r, 0", LAST, "hopper/*gemm*"),
    same("fence too late", "fence.proxy.async", "still in front of the copy", "hopper/gemm_pipelined_hopper"),
    same("fence too late", "fence.proxy.async", "who issues the copy has a fence of its own behind the barrier",
         "*/flash_attention*", "hopper/*gemm*"),
    same("move a bound", "setp.gt.s32 %p, %r, 0", "stages are handed back a step later", "hopper/*gemm*"),
    same("arrive too soon", "mbarrier.arrive.expect_tx", "the arrival names another barrier than the copies before",
         "hopper/gemm_pipelined_hopper"),
    same("arrive too soon", "mbarrier.arrive.expect_tx", "it trades places with an addition",
         "blackwell/flash_attention*"),
    same("drop a setmaxnreg", "setmaxnreg.inc", "what it holds would fit into fewer too", "hopper/*gemm*",
         "hopper/flash_attention*", "blackwell/flash_attention_backward*"),
    lenient("drop a barrier", "bar.sync 0", "a warpgroup's products have read once one of its warps has waited",
            "hopper/gemm_simple_hopper"),
    same("drop a wgmma fence", "wgmma.fence", "nothing but products stands between it and the fence before",
         *ATTENTION),
    same("drop a wgmma fence", "wgmma.fence", "that of the products before stands behind what has used their registers",
         GRADIENTS),
    same("drop a move", "mov.s32 %r, %r", "nothing uses the row, which is for masks of the other kind", GRADIENTS),
    same("flip a constant", "mov.s32 %r, 0", STEPPED, GRADIENTS),
    same("move a bound", "setp.ge.s32 %p, %r, ", KEYS, GRADIENTS),
    same("let the other threads", "@!%p bra $L_else_7", KEYS, GRADIENTS),
    same("take another barrier", "bar.sync %r, 128", "all threads of the warpgroup meet at the other one", GRADIENTS),
    lenient("drop a barrier", "bar.sync %r, 128", "a warpgroup's products have read once one of its warps has waited",
            GRADIENTS),
    same("drop a commit", "wgmma.commit_group", "the next one commits both, which are waited for together", GRADIENTS),
    same("drop a commit", "cp.async.bulk.commit_group", "the next one commits both", GRADIENTS),
    same("commit too soon", "wgmma.commit_group", "it trades places with an address", GRADIENTS),
    same("commit too soon", "cp.async.bulk.commit_group", "it trades places with an address", GRADIENTS),
    same("move a bound", "setp.le.s32 %p, %r, -1", "there is more than one block of keys", "hopper/flash_attention"),
    same("move a bound", "setp.lt.u32 %p, %r, 4", "some stage has been used before", "hopper/flash_attention"),
    same("flip a constant", "mov.u32 %r, 4", "what stands for no stage may be any number from there on",
         "hopper/flash_attention"),
    same("flip a constant", "mov.u32 %r, 2", "what stands for no stage may be any number from there on",
         CLUSTERS),
    same("let every thread", "@%p st.shared.v2.f32", "the four lanes of a row hold the same", CLUSTERS),
    same("move a bound", "setp.eq.u32 %p, %r, 0", ANOTHER, *ATTENTION),
    same("change an arrival count", "mbarrier.init", LAST, "hopper/flash_attention"),
    same("take the next mbarrier", "mbarrier.try_wait", FREE, "hopper/flash_attention"),
    same("drop a wait", "mbarrier.try_wait", FREE, *ATTENTION),
    same("arrive too soon", "bar.arrive", "it trades places with a move", *ATTENTION),
    same("move a bound", "setp.gt.u32 %p, %r, 1", "every block has more than two steps",
         "blackwell/flash_attention_backward*"),
    lenient("take the next mbarrier", "mbarrier.try_wait", "products of what the same copies brought are waited for",
            "blackwell/flash_attention_backward*"),
    same("drop a wait for loads", "tcgen05.wait::ld", TRUE, "blackwell/*gemm*", "blackwell/flash_attention*"),
    same("wait for stores, not loads", "tcgen05.wait::ld", TRUE, "blackwell/*gemm*", "blackwell/flash_attention*"),
    lenient("drop a tcgen05 fence", "tcgen05.fence::before", "what stands before it has been waited for",
            "blackwell/*gemm*"),
    lenient("drop a tcgen05 fence", "tcgen05.fence::after", "the wait is for what shared memory holds",
            "blackwell/*gemm*"),
    same("relax a cluster arrival", "barrier.cluster.arrive", "fence.mbarrier_init stands before it",
         "blackwell/*gemm*"),
    same("flip a constant", "mov.b64 %rd, ", "the last bit of a number is less than a rounding", "blackwell/*norm",
         "blackwell/softmax", "blackwell/swiglu"),
)  # fmt: skip
