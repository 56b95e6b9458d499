"""Accepted findings: data races by the manual's text, and kernels that need a feature a compiler release lacks.

Each `AcceptedFinding` states its reason. A listed finding that no longer occurs is a fault of this list.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .running import Fault, Outcome


@dataclass(frozen=True, slots=True)
class AcceptedFinding:
    """Findings of `rules` in kernels whose `compiler/source/name.target` matches one of the patterns, and their reason.

    - `letter`: the finding is right by the manual's text, whatever devices do.
    - `lacks`: the release of the compiler lacks a feature of the source, and rejects it.
    """

    kernels: tuple[str, ...]
    rules: frozenset[str]
    verdict: Literal["letter", "lacks"]
    reason: str


def known(verdict: Literal["letter", "lacks"], rules: str, kernels: str, reason: str) -> AcceptedFinding:
    """Return an `AcceptedFinding`; `rules` and `kernels` (patterns) are separated by blanks."""
    return AcceptedFinding(tuple(kernels.split()), frozenset(rules.split()), verdict, reason)


ACCEPTED = (
    known(
        "letter",
        "read-before-wait",
        "triton-*/maps/host-maps-roles* triton-*/attention/attention-roles.*",
        "A tile of 64 rows cannot be shared between two warpgroups: both compute it, and both store it by TMA, the "
        "same bytes at the same time.",
    ),
    known(
        "letter",
        "shared-race wrong",
        "nv*/blocks/large-tiles.*",
        "In a group of two warps, lane 0 of the last warp acquires the other warp's write, and lane 1 reads the value "
        "after a shuffle. `shfl.sync` orders no memory, as `bar.warp.sync` would: some schedules show the old value.",
    ),
    known(
        "letter",
        "mbarrier-inval",
        "gluon-*/tensor_memory/two-blocks*",
        "Gluon invalidates the mbarriers of a CTA pair after `barrier.cluster.arrive.relaxed`, which orders no memory: "
        "other warps may still wait at them. Without `.relaxed` the kernel is clean.",
    ),
    known(
        "letter",
        "cluster-cta-exited",
        "mosaic-*/kernels/tiles-as-they-come-to-pairs.*",
        "CTAs exit after `barrier.cluster.arrive.relaxed`, which orders no memory: the last arrival at the peer CTA's "
        "mbarrier may come after the peer has exited. Without `.relaxed` the kernel is clean.",
    ),
    known(
        "letter",
        "tmem-use-after-free",
        "mosaic-*/kernels/two-blocks.*",
        "The CTA that deallocates tensor memory of a pair waits for its peer by `barrier.cluster.arrive.relaxed`, "
        "which orders no memory: the peer's loads are not ordered before the deallocation.",
    ),
    known(
        "letter",
        "barrier-divergence",
        "mosaic-*/kernels/two-blocks.*",
        "Mosaic GPU writes `bar.sync` as inline assembly that LLVM may copy: the lane that issues the MMA and the "
        "other lanes of its warp execute two copies of the barrier. `bar.sync` is `.aligned`: all lanes must execute "
        "the same instruction.",
    ),
    known(
        "letter",
        "unchecked-mbarrier-wait",
        "cutedsl-*/kernels/tensor-memory.*",
        "After the last iteration, CuTe DSL tests once more whether the next stage is free, and ignores the result.",
    ),
    known(
        "letter",
        "tmem-use-after-free wrong",
        "tilelang-*/kernels/tensor-memory-*",
        "The first warp deallocates tensor memory at the end of the kernel, without a barrier before it: loads of "
        "other warps may still be outstanding. Under some schedules they return data of another CTA.",
    ),
    known(
        "letter",
        "early-reuse tmem-use-after-free wrong",
        "tilelang-*/kernels/product-in-tensor-memory.*",
        "The producer warps exit first, and the first of them deallocates tensor memory while the consumer's MMAs are "
        "outstanding. The producers also refill a stage when its MMA is issued, not when it completes.",
    ),
    known(
        "letter",
        "missing-proxy-fence",
        "triton-3.[246]/attention/*.sm_90a triton-3.[246]/mma/*.sm_90a triton-3.[46]/attention/*.sm_100a "
        "triton-3.[46]/mma/*.sm_100a triton-3.[46]/scaled/*.sm_100a",
        "Triton before 3.9 emits no `fence.proxy.async` between `cp.async` and the MMA that reads the copied tile. "
        "`cp.async` writes through the generic proxy, `wgmma` and `tcgen05.mma` read through the async proxy.",
    ),
    known(
        "letter",
        "global-race lane-race",
        "triton-3.[246]/memory/locked-tile*",
        "Triton before 3.9 puts no barrier between the loads of a flag by all threads and the atomic operation by "
        "which one of them changes it: another warp may load the new value.",
    ),
    known(
        "letter",
        "missing-proxy-fence",
        "triton-3.4/maps/* triton-3.6/maps/device-maps-roles.sm_100a triton-3.[46]/flagships/matmul.sm_100a "
        "triton-3.4/tensor_cores/experts.sm_100a",
        "Triton 3.4 and 3.6 make tensor maps in shared memory that a TMA copy fills next, without `fence.proxy.async` "
        "between their stores and the copy.",
    ),
    known(
        "letter",
        "mbarrier-as-data mbarrier-reinit",
        "triton-3.[46]/maps/*-roles*.sm_90a triton-3.[46]/attention/attention-roles.sm_90a",
        "With warp specialization Triton 3.4 and 3.6 initialize unused mbarriers twice, in shared memory that tiles "
        "reuse, without `mbarrier.inval` between.",
    ),
    known(
        "letter",
        "mbarrier-uninitialized",
        "triton-3.[46]/attention/attention-roles*.sm_100a triton-3.6/maps/*-roles*.sm_100a "
        "triton-3.[46]/flagships/attention.sm_100a",
        "With warp specialization Triton 3.4 and 3.6 wait for the last `tcgen05.commit` of a thread, and invalidate "
        "the mbarriers of earlier commits. The manual does not order arrivals of different commits.",
    ),
    known(
        "letter",
        "mbarrier-phase",
        "triton-3.4/attention/attention-roles*.sm_100a triton-3.4/flagships/*.sm_100a "
        "triton-3.4/tensor_cores/halves-of-sums-with-roles.sm_100a",
        "Triton 3.4 completes the first phase of a buffer's mbarrier by an arrival before the warp roles begin. The "
        "manual asks for a wait that returns true in each phase before an arrival in the next; nothing waits for that "
        "phase.",
    ),
    known(
        "letter",
        "shared-race",
        "triton-3.4/flagships/matmul.sm_100a triton-3.4/tensor_cores/halves-of-sums-with-roles.sm_100a",
        "Triton 3.4 loads values that a role captures after the barrier that frees them. Only `tcgen05.commit` leads "
        "from these loads to the store over them; its arrival follows tensor core work, not earlier loads.",
    ),
    known(
        "letter",
        "tmem-use-after-free cluster-cta-not-started",
        "triton-3.[46]/maps/device-maps-of-a-cluster.sm_100a triton-3.[46]/mma/dot-half-of-a-cluster.sm_100a",
        "Triton 3.4 and 3.6 allocate tensor memory of a CTA pair before the peer CTA is known to have started, and "
        "deallocate it without waiting for the peer's outstanding operations.",
    ),
    known(
        "letter",
        "wrong tmem-use-after-free cluster-cta-not-started",
        "triton-3.4/maps/device-maps-of-a-cluster.sm_100a triton-3.4/mma/dot-half-of-a-cluster.sm_100a",
        "Triton 3.4 loads the accumulator of a CTA pair, 64 rows in each CTA, in the layout of a single CTA "
        "(`16x32bx2`). Triton 3.6 loads it in the layout of the pair (`32x32b`), and is right.",
    ),
    known(
        "lacks",
        "refused",
        "triton-3.2/maps/* triton-3.2/attention/attention-roles.* triton-3.2/attention/attention-through-maps*",
        "Triton has tensor descriptors since 3.3.",
    ),
    known(
        "lacks",
        "refused",
        "triton-3.2/rows/gather-in-a-block.* triton-3.2/rows/topk.* triton-3.2/rows/histogram.* "
        "triton-3.2/memory/atomic-add-of-bfloat16.* triton-3.[24]/memory/dependent-launch.*",
        "`tl.gather`, `tl.topk`, masks of `tl.histogram`, `atomic_add` of bfloat16 and `gdc_wait` are newer.",
    ),
    known(
        "lacks",
        "refused",
        "triton-3.[24]/mma/dot-double.* triton-3.2/mma/scaled-product.*",
        "`tl.dot` takes doubles since 3.6, and `tl.dot_scaled` two scaled operands of 8 bits since 3.3.",
    ),
    known(
        "lacks",
        "refused",
        "triton-3.6/maps/persistent-roles.sm_100a triton-3.6/rows/softmax-of-a-cluster.sm_90a",
        "Triton 3.6 fails in its passes for warp specialization and for layouts of a cluster.",
    ),
    known(
        "letter",
        "ProgramError",
        "nvrtc-12.4/linked/*",
        "NVRTC 12.4 defines a constructor of `__half` in every module that includes `cuda_fp16.h`, `.visible` and not "
        "`.weak`. Two such modules cannot be linked; nvlink refuses them, too.",
    ),
    known(
        "lacks",
        "refused",
        "nvrtc-12.4/messages/*",
        "PTX 8.4, which NVRTC 12.4 writes, has no relaxed arrival at an mbarrier for `cuda::ptx` to emit.",
    ),
    known(
        "lacks",
        "refused",
        "cutedsl-4.2/kernels/rows-of-any-size.* cutedsl-4.2/kernels/t[eo]* cutedsl-4.2/kernels/*warpgroup* "
        "cutedsl-4.2/flagships/*",
        "CuTe DSL 4.2 has no symbolic extents, no fake tensors of bfloat16 and of 8-bit types, no warp-wide sum, "
        "and other helpers for layouts in shared memory and for copies to tensor memory's operands.",
    ),
)


def fitting(kernel: str, fault: Fault) -> AcceptedFinding | None:
    """Return the `AcceptedFinding` that lists a fault of a kernel, or None."""
    rows = (row for row in ACCEPTED if fault.kind in row.rules and any(fnmatch(kernel, each) for each in row.kernels))
    return next(rows, None)


def unlisted(kernel: str, outcome: Outcome) -> list[Fault]:
    """Return the faults of a kernel that no `AcceptedFinding` lists."""
    return [fault for fault in outcome.faults if fitting(kernel, fault) is None]


def stale(outcomes: Mapping[str, Outcome]) -> list[AcceptedFinding]:
    """Return each `AcceptedFinding` whose kernels ran without the listed fault."""
    found = [fitting(kernel, fault) for kernel, outcome in outcomes.items() for fault in outcome.faults]
    about = (row for row in ACCEPTED if any(fnmatch(kernel, each) for kernel in outcomes for each in row.kernels))
    return [row for row in about if row not in found]
