"""What is found though it is known: kernels that race by the letter of the manual, and what the simulator still lacks.

Each has its reason. What is listed and no longer found is a fault of this list.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .running import Fault, Outcome


@dataclass(frozen=True, slots=True)
class Known:
    """What `rules` say of kernels whose `language/source/name.target` fits one of the patterns, and why that stands.

    `letter`: the manual's text gives the finding reason, whatever devices do. `waits`: the simulator is to learn it.
    """

    kernels: tuple[str, ...]
    rules: frozenset[str]
    verdict: Literal["letter", "waits"]
    reason: str


def known(verdict: Literal["letter", "waits"], rules: str, kernels: str, reason: str) -> Known:
    """Return a row; rules and patterns are given as words."""
    return Known(tuple(kernels.split()), frozenset(rules.split()), verdict, reason)


KNOWN = (
    known(
        "letter",
        "read-before-wait",
        "triton/maps/host-maps-roles* triton/attention/attention-roles.*",
        "A tile of 64 rows cannot be shared between two warpgroups: both compute it, and both store it by TMA, the "
        "same bytes at the same time.",
    ),
    known(
        "letter",
        "shared-race wrong",
        "cuda/blocks/large-tiles.*",
        "In a group of two warps, lane 0 of the last warp acquires what the other has written, and lane 1 reads it "
        "behind a shuffle. `shfl.sync` orders no memory, as `bar.warp.sync` would: some schedules show the old value.",
    ),
    known(
        "letter",
        "mbarrier-inval",
        "gluon/tensor_memory/two-blocks*",
        "Gluon ends the barriers of a pair of blocks behind `barrier.cluster.arrive.relaxed`, which orders no "
        "memory: other warps may still wait at them. Without `.relaxed` nothing is found.",
    ),
    known(
        "letter",
        "exited-block",
        "mosaic/kernels/tiles-as-they-come-to-pairs.*",
        "Blocks end behind `barrier.cluster.arrive.relaxed`, which orders no memory: the last arrival at the other "
        "block's barrier may come after that block has ended. Without `.relaxed` nothing is found.",
    ),
    known(
        "letter",
        "barrier-divergence",
        "mosaic/kernels/two-blocks.*",
        "Mosaic GPU writes `bar.sync` as inline assembly that LLVM may copy: the lane that multiplies and the others "
        "of its warp meet the barrier at two instructions. `.aligned`, which `bar.sync` means, wants one.",
    ),
    known(
        "letter",
        "unchecked-wait",
        "cutedsl/kernels/tensor-memory.*",
        "CuTe DSL asks once more whether the next stage is free behind the last step, and nothing looks at the answer.",
    ),
    known(
        "letter",
        "tensor-freed wrong",
        "tilelang/kernels/tensor-memory-*",
        "TileLang gives back tensor memory at the end of the kernel, by the first warp, with no barrier in front: "
        "other warps may not have loaded yet. Some schedules show what another block leaves there.",
    ),
    known(
        "letter",
        "early-reuse tensor-freed wrong",
        "tilelang/kernels/product-in-tensor-memory.*",
        "The warps that copy end first, and the first of them gives back tensor memory while the others multiply. "
        "They also let a stage be filled again as soon as its product is issued, not when it has ended.",
    ),
)


def fitting(kernel: str, fault: Fault) -> Known | None:
    """Return the row that lists what was found of a kernel."""
    rows = (row for row in KNOWN if fault.kind in row.rules and any(fnmatch(kernel, each) for each in row.kernels))
    return next(rows, None)


def unlisted(kernel: str, outcome: Outcome) -> list[Fault]:
    """Return the faults of a kernel that no row lists."""
    return [fault for fault in outcome.faults if fitting(kernel, fault) is None]


def stale(outcomes: Mapping[str, Outcome]) -> list[Known]:
    """Return the rows of which nothing was found, of those that are about kernels that have run."""
    found = [fitting(kernel, fault) for kernel, outcome in outcomes.items() for fault in outcome.faults]
    about = (row for row in KNOWN if any(fnmatch(kernel, each) for kernel in outcomes for each in row.kernels))
    return [row for row in about if row not in found]
