"""Execution events that checkers observe.

A factory creates one checker per run from a `RunView`. The checker then receives events in execution order and reports
findings with `RunView.report`. `pc` is an index into the program's instruction list; `RunView.place(pc)` maps it to a
PTX line.

Offsets are byte offsets in the arena of a state space. `"global"` has one arena per launch. `"shared"` has one arena in
which CTA slot `s` owns `[s * stride, (s + 1) * stride)`. Each extension space has its own arena. Constant and
thread-private spaces have no events. Warps are numbered within a wave (the CTAs that run together); `wave_started`
precedes each wave. A release is a `fence` event before the access, an acquire a `fence` event after it.

Events with `warps` and `masks` apply to lanes `masks[i]` (bool `[n, 32]`) of `warps[i]`. No warp occurs twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Unpack

    from pyptx_sim.extension.group import GroupKind
    from pyptx_sim.extension.layout import AccessLayout
    from pyptx_sim.extension.rule import FindingDetails
    from pyptx_sim.extension.space import Proxy
    from pyptx_sim.origins import SourceLocation

# Strong accesses do not race with each other if they are morally strong. "atomic": strong writes (`atom`, `red`, and
# `st` with `.volatile`, `.relaxed`, `.release` or `.mmio`). "strong-read": `ld` with `.volatile`, `.relaxed`,
# `.acquire` or `.mmio`. Manual: "Memory Consistency Model".
AccessKind: TypeAlias = Literal["read", "write", "atomic", "strong-read"]
Space: TypeAlias = str
"""State space: `"global"`, `"shared"`, or the name of a `pyptx_sim.extension.Space`."""
Offsets: TypeAlias = NDArray[np.int64]
Masks: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class AsyncAccess:
    """Memory accesses of asynchronous operations: `size` bytes at `offsets[i]` by operation number `owners[i]`."""

    space: Space
    writes: bool
    offsets: Offsets
    size: int
    owners: Offsets
    barriers: Offsets | None = None
    """Offset of the mbarrier that each operation signals on completion; None if an async-group tracks completion."""
    atomic: bool = False
    """Whether each element is updated atomically, so that it does not race with other updates."""
    proxy: Proxy | None = None
    """Proxy of the access, if it differs from the proxy of its `AsyncOperations`."""
    layout: AccessLayout | None = None
    """Element layout (swizzle) of the bytes, which a later reader must use too; None without one."""
    after_reads: bool = False
    """Whether this write requires a proxy fence after earlier reads by warps, not only after their earlier writes.

    If so, the `InstructionSemantics` of the instruction sets `fences_reads`.
    """


@dataclass(frozen=True, slots=True)
class AsyncOperations:
    """Asynchronous operations issued by one instruction; operation i is issued by lane `lanes[i]` of `warps[i]`.

    If several warps issue one operation together, `warps[i]` is the first warp and `together` the number of warps.

    Later events refer to these operations by `item_id`. `kind` is the kind of the async-groups `groups[i]`; None if an
    mbarrier tracks completion. `proxy` is None for the generic proxy.
    """

    item_id: int
    pc: int
    kind: GroupKind | None
    proxy: Proxy | None
    warps: Offsets
    lanes: Offsets
    groups: Offsets
    touches: tuple[AsyncAccess, ...]

    @property
    def together(self) -> int:
        """Number of consecutive warps, from `warps[i]` on, that issue operation i together."""
        return 1 if self.kind is None else self.kind.together

    def proxy_of(self, touch: AsyncAccess) -> Proxy | None:
        """Return the proxy of access `touch`; None for the generic proxy."""
        proxy = touch.proxy or self.proxy
        return None if proxy is not None and proxy.one_way and touch.writes else proxy


@dataclass(frozen=True, slots=True)
class Signal:
    """Arrivals in one phase at the mbarrier at shared memory offset `place`, by lanes `masks` of `warps`."""

    place: int
    phase: int
    warps: Offsets
    masks: Masks


@dataclass(frozen=True, slots=True)
class Order:
    """Ordering semantics and scope of strong accesses. Manual: "Release and Acquire Patterns", "Scope".

    `hears`: the access's read can be part of an acquire pattern, alone or with a later fence; the read of `red` cannot.
    """

    scope: str
    reads: bool
    writes: bool
    acquires: bool = False
    releases: bool = False
    hears: bool = True


class Stores(Protocol):
    """Values that an instruction is about to store, one per write."""

    def unchanged(self, some: Offsets) -> Masks:
        """Return, per write, whether the write leaves memory unchanged."""
        ...

    def bytes_of(self, some: Offsets) -> NDArray[np.uint8]:
        """Return the bytes that each write stores, `[writes, bytes]`."""
        ...

    def addressed_by(self, some: Offsets) -> tuple[Offsets, Offsets]:
        """Return, per write, the warp and the lane that supply the address."""
        ...

    def single(self, which: Offsets, at: Offsets, width: int) -> Stores:
        """Return parts of the writes, of `width` bytes each: part i starts at byte `at[i]` of write `which[i]`."""
        ...


class Rows(Protocol):
    """Matrix rows of 16 bytes (ldmatrix, stmatrix): one lane supplies a row's address, other lanes access the bytes."""

    def masks(self, lanes: Offsets, count: int) -> NDArray[np.int32]:
        """Return the lanes (as bits) that access each of `count` contiguous parts of the rows addressed by `lanes`."""
        ...

    def narrowed(self, mask: int, part: int, count: int) -> int:
        """Return the lanes of `mask`, the lanes of a whole row, that access part `part` of `count` parts of the row."""
        ...

    def of_single_lanes(self, lanes: Offsets) -> tuple[Offsets, Offsets, Offsets]:
        """Return the accesses of `width` bytes by single lanes to the rows whose addresses `lanes` supply.

        The result is, per access, the index of the row in `lanes`, the byte offset in the row, and the accessing lane.
        """
        ...

    @property
    def width(self) -> int:
        """Number of contiguous bytes of a row that the same lanes access: a power of 2."""
        ...


class Past(Protocol):
    """Source of older values that the memory model still allows reads to return."""

    def look(self, space: Space, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets) -> Mapping[int, bytes]:
        """Return the offsets at which the next reads return an older value, and the bytes of the older values."""
        ...

    def happens(self, likely: float) -> bool:
        """Return True with probability `likely`, by the schedule's random numbers."""
        ...

    def place(self, space: Space, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets) -> Masks | None:
        """Return which next stores precede the current value in coherence order: no read returns them. None: none."""
        ...


class RunView(Protocol):
    """Properties of the run that a checker observes."""

    @property
    def warps(self) -> int:
        """Maximum number of warps in a wave (the CTAs that run together)."""
        ...

    @property
    def warps_per_cta(self) -> int:
        """Number of warps per CTA; warp `w` belongs to running CTA number `w // warps_per_cta`."""
        ...

    @property
    def cluster_size(self) -> int:
        """Number of CTAs per cluster; of the CTAs that run together, CTA `s` belongs to cluster `s // cluster_size`."""
        ...

    @property
    def threads(self) -> Masks:
        """Lanes of each warp that have a thread, bool `[warps, 32]`."""
        ...

    @property
    def narrows_scopes(self) -> bool:
        """Whether the program has a strong access of `.cta` or `.cluster` scope."""
        ...

    @property
    def fences_reads(self) -> bool:
        """Whether any asynchronous write requires a fence after earlier reads (`AsyncAccess.after_reads`)."""
        ...

    def arena_size(self, space: Space) -> int:
        """Return the size in bytes of the arena (simulated memory) of the state space `space`."""
        ...

    def shared_stride(self) -> int:
        """Return the distance in bytes between the shared memory of consecutive CTAs in the `shared` arena."""
        ...

    def bytes_at(self, space: Space, offset: int, size: int) -> bytes:
        """Return `size` bytes at `offset` in the arena (simulated memory) of the state space `space`."""
        ...

    def opcode(self, pc: int) -> tuple[str, ...]:
        """Return the opcode and modifiers of an instruction."""
        ...

    def describe(self, space: Space, offset: int) -> str:
        """Return `offset` as a symbolic address for messages: `s_partial+12`, `argument 0 'x'+64`."""
        ...

    def warp_name(self, warp: int) -> str:
        """Return the name of a warp of the CTAs that run now: `warp 0, CTA (1, 0, 0)`."""
        ...

    def cta_name(self, slot: int) -> str:
        """Return the name of running CTA number `slot`: `CTA (1, 0, 0)`."""
        ...

    def place(self, pc: int) -> SourceLocation | None:
        """Return the PTX line of an instruction; None if the instruction is not in the PTX text."""
        ...

    def report(
        self, rule: str, message: str, pc: int, *, other_pc: int | None = None, **details: Unpack[FindingDetails]
    ) -> None:
        """Record a finding. Findings with equal rule and cause are merged; the message of the first one is kept."""
        ...


class Observer:
    """Base class of checkers: override the methods of the events to observe.

    Methods are called in execution order. Copy arrays that outlive the call.
    """

    def wave_started(self) -> None:
        """Observe the start of a wave: new CTAs with new shared and local memory reuse the warp numbers."""

    def access(
        self,
        space: Space,
        kind: AccessKind,
        offsets: Offsets,
        size: int,
        warps: Offsets,
        lanes: Offsets,
        pc: int,
    ) -> None:
        """Observe accesses of `size` bytes at `offsets[i]`, all in bounds, by lane `lanes[i]` of `warps[i]`."""

    def strong(
        self, order: Order, space: Space, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int
    ) -> None:
        """Observe that the next accesses are strong, with ordering `ordering`. Not called for mbarrier operations."""

    def noncoherent(self) -> None:
        """Observe that the next reads are non-coherent (`ld.global.nc`): writes of the launch need not be visible."""

    def rows(self, rows: Rows) -> None:
        """Observe that the next accesses are to matrix rows: the lane with a row's address need not access that row."""

    def storing(self, stores: Stores) -> None:
        """Observe the values of the next stores: write i belongs to access i. Not called for atomic updates."""

    def freed(
        self, rule: str, space: Space, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int
    ) -> None:
        """Observe that `size` bytes at `offsets[i]` are freed by lane `lanes[i]` of `warps[i]`.

        Outstanding asynchronous operations on these bytes violate `rule`.
        """

    def barrier(self, warps: Offsets, masks: Masks, barriers: Offsets, pc: int) -> None:
        """Observe that phases of named barriers complete, for the lanes of `masks` that waited.

        `barriers[i]` is the barrier of `warps[i]`: 16 · (CTA number) + (barrier number). Barriers of many CTAs
        may complete together. Arrivals without a wait (`bar.arrive`) are reported by `signal` instead.
        """

    def barrier_arrivals(self, warps: Offsets, masks: Masks, barriers: Offsets, pc: int) -> None:
        """Observe arrivals without a wait (`bar.arrive`), before event `signal`; `barriers` is as in `barrier`."""

    def warp_sync(self, warps: Offsets, masks: Masks, pc: int) -> None:
        """Observe `bar.warp.sync`: the lanes `masks[i]` of `warps[i]` synchronize."""

    def fence(self, warps: Offsets, masks: Masks, scope: str, pc: int, *, in_order: bool) -> None:
        """Observe a memory fence of `scope` (`cta`, `cluster`, `gpu`, `sys`); `in_order` is True for `fence.sc`."""

    def signal(
        self, place: int, phase: int, warps: Offsets, masks: Masks, pc: int, *, scope: str, releases: bool
    ) -> None:
        """Observe arrivals (a release) at the mbarrier at shared memory offset `place`.

        A negative `place` is another synchronization object, such as a CTA's named barrier. `scope` is "cta" or
        "cluster". `releases` is False for a relaxed arrival, which releases only accesses before an earlier fence.
        """

    def signalled_together(self, signals: Sequence[Signal], pc: int, *, scope: str, releases: bool) -> None:
        """Observe arrivals at several mbarriers by one instruction; by default, call `signal` for each of `signals`."""
        for each in signals:
            self.signal(each.place, each.phase, each.warps, each.masks, pc, scope=scope, releases=releases)

    def acquire(
        self, place: int, phase: int, warps: Offsets, masks: Masks, pc: int, *, scope: str, acquires: bool
    ) -> None:
        """Observe that waiting lanes see a phase complete: an acquire of its arrivals, if scopes include both threads.

        If `acquires` is False (a relaxed wait), the next fence of the lanes acquires the arrivals.
        """

    def barrier_made(self, place: int, warp: int, lane: int, pc: int) -> None:
        """Observe `mbarrier.init`."""

    def barrier_ended(self, place: int, warp: int, lane: int, pc: int) -> None:
        """Observe `mbarrier.inval`."""

    def barrier_used(self, place: int, warps: Offsets, masks: Masks, pc: int) -> None:
        """Observe a use of an mbarrier: an mbarrier operation, or the issue of an operation that signals it."""

    def block_used(self, blocks: Offsets, warps: Offsets, pc: int) -> None:
        """Observe an instruction that `warps[i]` executes also for a peer CTA: running CTA number `blocks[i]`."""

    def init_fence(self, warps: Offsets, masks: Masks) -> None:
        """Observe `fence.mbarrier_init`."""

    def work_fence(self, kinds: tuple[GroupKind, ...], warps: Offsets, masks: Masks, *, before: bool) -> None:
        """Observe a fence of only the asynchronous operations of `kinds`, `before` or after a synchronization."""

    def proxy_fence(self, proxy: Proxy, warps: Offsets, masks: Masks, spaces: tuple[Space, ...]) -> None:
        """Observe a proxy fence between the generic proxy and `proxy`."""

    def proxy_released(self, proxy: Proxy, warps: Offsets, masks: Masks) -> None:
        """Observe the release half of a unidirectional proxy fence."""

    def proxy_acquired(self, proxy: Proxy, space: Space, place: int, size: int, warps: Offsets, masks: Masks) -> None:
        """Observe the acquire half of a unidirectional proxy fence, for `size` bytes at offset `place`."""

    def issued(self, work: AsyncOperations) -> None:
        """Observe the issue of asynchronous operations, whose accesses happen at any later time."""

    def issued_together(self, works: Sequence[AsyncOperations]) -> None:
        """Observe all operations that one instruction issues, in order; by default, call `issued` for each."""
        for work in works:
            self.issued(work)

    def follows(self, kind: GroupKind, item_id: int, warps: Offsets, lanes: Offsets, places: Offsets) -> None:
        """Observe asynchronous arrivals; arrival i by lane `lanes[i]` of `warps[i]`, at the mbarrier at `places[i]`.

        Each arrival is performed once the thread's earlier operations of `kind` have completed. A thread may arrive at
        several mbarriers.
        """

    def completed(self, item_id: int, place: int, phase: int) -> None:
        """Observe that operations (or arrivals) `item_id` complete, in phase `phase` of the mbarrier at `place`."""

    def waited(self, kind: GroupKind, warps: Offsets, masks: Masks, done: Offsets, read: Offsets) -> None:
        """Observe waits for async-groups < `done`, and for source reads of groups < `read`; indices `[warps, 32]`."""

    def grids_complete(self, warps: Offsets, masks: Masks) -> None:
        """Observe `griddepcontrol.wait`: all accesses of prerequisite grids happen before the warps' later accesses."""

    def dependents_released(self, warps: Offsets, masks: Masks) -> None:
        """Observe `griddepcontrol.launch_dependents`."""

    def launched_behind(self, before: Observer) -> None:
        """Observe, before both launches run, that this launch may overlap the launch that `before` observes."""

    def run_ended(self) -> None:
        """Observe that all launches of the run have ended."""

    def wave_ended(self) -> None:
        """Observe that every thread of the wave (the CTAs that ran together) has exited."""


ObserverFactory: TypeAlias = Callable[[RunView], Observer]
