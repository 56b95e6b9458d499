"""What the engine tells a checker while a kernel runs.

A checker is made once per run by a factory, gets a `RunView` and then events in execution order. It reports through
`RunView.report`. Positions are `pc`s: indices into the program's instruction list; `RunView.site(pc)` makes them lines.

Offsets are flat byte offsets in the arena of the space: `"global"` one arena for the whole launch, `"shared"` one
arena in which the CTA of slot `s` owns `[s * stride, (s + 1) * stride)`, and one for each space that an extension
brings; the other spaces are constant or a thread's own. Warps are numbered over the warps that run together (a wave);
`wave_started` comes before each wave. A release is told as a `fence` in front of the access, an acquire as one behind
it.

Where an event names `warps` and `masks`, it is of the lanes in row i of `masks`, bool `[n, 32]`, of `warps[i]`; no warp
is named twice.
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

    from pyptx_sim.extension import FindingDetails, GroupKind, Layout, Proxy
    from pyptx_sim.origins import Place

# Strong accesses may meet each other without a race: "atomic" is every one that writes (`atom`, `red`, and `st` that is
# `.volatile`, `.relaxed`, `.release` or `.mmio`), "strong-read" every `ld` that is `.volatile`, `.relaxed`, `.acquire`
# or `.mmio`. Manual: "Memory Consistency Model".
AccessKind: TypeAlias = Literal["read", "write", "atomic", "strong-read"]
Space: TypeAlias = str
"""The name of a memory: `"global"`, `"shared"`, or that of a `pyptx_sim.extension.Space`."""
Offsets: TypeAlias = NDArray[np.int64]
Masks: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Touch:
    """What asynchronous work reads or writes: `size` bytes at each of `offsets`, entry i for operation `owners[i]`."""

    space: Space
    writes: bool
    offsets: Offsets
    size: int
    owners: Offsets
    barriers: Offsets | None = None
    """The mbarrier that tells of each operation's completion; None if a group does."""
    atomic: bool = False
    """Whether it updates element by element, and may meet other updates."""
    proxy: Proxy | None = None
    """The way by which it reaches memory, where that is another one than its work's."""
    layout: Layout | None = None
    """How elements lie there, where who writes and who reads have to agree on it."""
    after_reads: bool = False
    """Whether a fence has to stand between what warps have read there and what it writes, as behind their writes.

    The step of the instruction `fences_reads`, then.
    """


@dataclass(frozen=True, slots=True)
class Work:
    """Asynchronous operations that one instruction has issued; number i for lane `lanes[i]` of `warps[i]`.

    Of what several warps issue as one, `warps[i]` is the first of those that issue number i (`together` of them).

    `item_id` names the work in later events. `kind` says whose group `groups[i]` it belongs to, None for an mbarrier's.
    `proxy` is the way by which it reaches memory, None for the generic one.
    """

    item_id: int
    pc: int
    kind: GroupKind | None
    proxy: Proxy | None
    warps: Offsets
    lanes: Offsets
    groups: Offsets
    touches: tuple[Touch, ...]

    @property
    def together(self) -> int:
        """How many warps issue an operation as one, from `warps[i]` on."""
        return 1 if self.kind is None else self.kind.together

    def proxy_of(self, touch: Touch) -> Proxy | None:
        """Return the way by which one of its touches reaches memory, None for the generic proxy."""
        proxy = touch.proxy or self.proxy
        return None if proxy is not None and proxy.one_way and touch.writes else proxy


@dataclass(frozen=True, slots=True)
class Signal:
    """Arrivals at the mbarrier at offset `place` of shared memory in a phase: by the lanes in `masks` of `warps`."""

    place: int
    phase: int
    warps: Offsets
    masks: Masks


@dataclass(frozen=True, slots=True)
class Order:
    """What strong accesses do beside reading and writing. Manual: "Release and Acquire Patterns", "Scope".

    `hears`: what they read can be acquired, now or by a fence behind; what `red` reads cannot.
    """

    scope: str
    reads: bool
    writes: bool
    acquires: bool = False
    releases: bool = False
    hears: bool = True


class Stores(Protocol):
    """What an instruction is about to store: its writes, by their numbers."""

    def unchanged(self, some: Offsets) -> Masks:
        """Tell which of some writes write what lies there."""
        ...

    def bytes_of(self, some: Offsets) -> NDArray[np.uint8]:
        """Return what some writes write, `[writes, bytes]`."""
        ...

    def addressed_by(self, some: Offsets) -> tuple[Offsets, Offsets]:
        """Return the warps and the lanes that give the addresses of some writes."""
        ...

    def single(self, which: Offsets, at: Offsets, width: int) -> Stores:
        """Return writes of `width` bytes: those from byte `at[i]` on of write `which[i]`."""
        ...


class Rows(Protocol):
    """Rows of a matrix, of 16 bytes each: some lanes give their addresses, and others access the bytes."""

    def masks(self, lanes: Offsets, count: int) -> NDArray[np.int32]:
        """Return the lanes, as bits, that access each of `count` parts of the rows whose addresses `lanes` give.

        The parts of a row stand one behind the other.
        """
        ...

    def narrowed(self, mask: int, part: int, count: int) -> int:
        """Return which lanes of a mask, that of a whole row, access one of `count` parts of the row."""
        ...

    def of_single_lanes(self, lanes: Offsets) -> tuple[Offsets, Offsets, Offsets]:
        """Return the accesses of single lanes to `width` bytes of the rows whose addresses `lanes` give.

        They are the numbers of rows among `lanes`, the first bytes in these rows, and the lanes.
        """
        ...

    @property
    def width(self) -> int:
        """How many bytes that lie side by side have the same lanes: a power of 2."""
        ...


class Past(Protocol):
    """What lay in memory before, where the memory model lets reads return it still."""

    def look(self, space: Space, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets) -> Mapping[int, bytes]:
        """Return at which of some offsets the next reads return other bytes than those that lie there, and which."""
        ...

    def happens(self, likely: float) -> bool:
        """Draw whether something happens that is so likely."""
        ...

    def place(self, space: Space, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets) -> Masks | None:
        """Return which of the next stores come before what lies there, and are not seen in memory; None: none do."""
        ...


class RunView(Protocol):
    """What a checker may ask of the run that it watches."""

    @property
    def warps(self) -> int:
        """How many warps run together at most."""
        ...

    @property
    def warps_per_cta(self) -> int:
        """How many warps one CTA has; warp `w` belongs to CTA slot `w // warps_per_cta`."""
        ...

    @property
    def cluster_size(self) -> int:
        """How many CTAs one cluster has; CTA slot `s` belongs to cluster `s // cluster_size` of the wave."""
        ...

    @property
    def threads(self) -> Masks:
        """Which lanes of each of these warps there are, bool `[warps, 32]`."""
        ...

    @property
    def narrows_scopes(self) -> bool:
        """Whether any access that is strong is so for its block or its cluster only."""
        ...

    @property
    def fences_reads(self) -> bool:
        """Whether any work needs a fence between what warps have read and what it writes (`Touch.after_reads`)."""
        ...

    def arena_size(self, space: Space) -> int:
        """Return how many bytes the arena of `space` has."""
        ...

    def shared_stride(self) -> int:
        """Return the bytes from one CTA's shared memory to the next one's."""
        ...

    def bytes_at(self, space: Space, offset: int, size: int) -> bytes:
        """Return what lies in the arena of `space`."""
        ...

    def opcode(self, pc: int) -> tuple[str, ...]:
        """Return the words of an instruction's opcode."""
        ...

    def describe(self, space: Space, offset: int) -> str:
        """Return where `offset` lies in the user's words: `s_partial+12`, `argument 0 'x' +64`."""
        ...

    def warp_name(self, warp: int) -> str:
        """Return a warp of this wave in CUDA's words: `warp 0 of CTA (1, 0, 0)`."""
        ...

    def cta_name(self, slot: int) -> str:
        """Return the CTA of a slot of this wave in CUDA's words: `CTA (1, 0, 0)`."""
        ...

    def place(self, pc: int) -> Place | None:
        """Return the PTX line of an instruction, None for one that stands on no line."""
        ...

    def report(
        self, rule: str, message: str, pc: int, *, other_pc: int | None = None, **details: Unpack[FindingDetails]
    ) -> None:
        """Record a finding; of reports with one rule and cause, the first one's message is kept."""
        ...


class Observer:
    """A checker, which overrides what it wants to hear of.

    Every method is called in execution order; arrays must not be kept without a copy.
    """

    def wave_started(self) -> None:
        """Forget: new CTAs run on the same warps, with fresh shared and local memory."""

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
        """See `size` bytes accessed at each of `offsets`, all in bounds; entry i by lane `lanes[i]` of `warps[i]`."""

    def strong(
        self, order: Order, space: Space, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int
    ) -> None:
        """See that the accesses told of next are strong, with this order; not told of accesses to mbarriers."""

    def noncoherent(self) -> None:
        """See that the reads told of next go through a cache that no write of the launch need reach: `ld.global.nc`."""

    def rows(self, rows: Rows) -> None:
        """See that the accesses told of next are to rows of a matrix: who gives an address need not access the row."""

    def storing(self, stores: Stores) -> None:
        """See what the accesses told of next store: write i is entry i of theirs. Not told of atomic updates."""

    def freed(
        self, rule: str, space: Space, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int
    ) -> None:
        """See `size` bytes at each of `offsets` given back, entry i by lane `lanes[i]` of `warps[i]`.

        Work that uses them, and that nobody has waited for, breaks `rule`.
        """

    def barrier(self, warps: Offsets, masks: Masks, barriers: Offsets, pc: int) -> None:
        """Receive the completion of phases of named barriers, for the lanes that waited.

        `barriers[i]` is the barrier of `warps[i]`: 16 times the CTA's slot plus the barrier's number. Barriers of many
        CTAs may complete together. Arrivals without a wait (`bar.arrive`) are `signal` instead.
        """

    def barrier_arrivals(self, warps: Offsets, masks: Masks, barriers: Offsets, pc: int) -> None:
        """Receive arrivals at named barriers without a wait, before their `signal`; `barriers` as in `barrier`."""

    def warp_sync(self, warps: Offsets, masks: Masks, pc: int) -> None:
        """See that in each of `warps` the lanes of its mask have synchronised."""

    def fence(self, warps: Offsets, masks: Masks, scope: str, pc: int, *, in_order: bool) -> None:
        """See a memory fence of `scope` (`cta`, `cluster`, `gpu`, `sys`) executed; `in_order`: one that is `.sc`."""

    def signal(
        self, place: int, phase: int, warps: Offsets, masks: Masks, pc: int, *, scope: str, releases: bool
    ) -> None:
        """See lanes arrive at the mbarrier at offset `place` of shared memory, and release all that they did.

        A negative `place` is no mbarrier, but a named barrier of a block, or whatever else lanes leave what they know
        at. `scope` is "cta" or "cluster". A relaxed arrival `releases` nothing but what fences in front of it do.
        """

    def signalled_together(self, signals: Sequence[Signal], pc: int, *, scope: str, releases: bool) -> None:
        """See different threads arrive at mbarriers by one execution of an instruction: as `signal`, one by one."""
        for each in signals:
            self.signal(each.place, each.phase, each.warps, each.masks, pc, scope=scope, releases=releases)

    def acquire(
        self, place: int, phase: int, warps: Offsets, masks: Masks, pc: int, *, scope: str, acquires: bool
    ) -> None:
        """See lanes find that phase complete: what was released to it is visible to them, if the scopes reach.

        To one that waits relaxed, and `acquires` nothing, it is so behind the next fence.
        """

    def barrier_made(self, place: int, warp: int, lane: int, pc: int) -> None:
        """See an mbarrier initialised."""

    def barrier_ended(self, place: int, warp: int, lane: int, pc: int) -> None:
        """See an mbarrier invalidated."""

    def barrier_used(self, place: int, warps: Offsets, masks: Masks, pc: int) -> None:
        """See lanes use an mbarrier, or issue work that will."""

    def block_used(self, blocks: Offsets, warps: Offsets, pc: int) -> None:
        """Receive an instruction that `warps[i]` also executes for the CTA in slot `blocks[i]` of its cluster."""

    def init_fence(self, warps: Offsets, masks: Masks) -> None:
        """See `fence.mbarrier_init` executed."""

    def work_fence(self, kinds: tuple[GroupKind, ...], warps: Offsets, masks: Masks, *, before: bool) -> None:
        """See a fence of lanes that orders work of some kinds, and no memory, before or after they synchronise."""

    def proxy_fence(self, proxy: Proxy, warps: Offsets, masks: Masks, spaces: tuple[Space, ...]) -> None:
        """See a fence between the generic proxy and another one executed."""

    def proxy_released(self, proxy: Proxy, warps: Offsets, masks: Masks) -> None:
        """See lanes release what they know to a proxy that is fenced one way."""

    def proxy_acquired(self, proxy: Proxy, space: Space, place: int, size: int, warps: Offsets, masks: Masks) -> None:
        """See lanes acquire `size` bytes at offset `place` for a proxy that is fenced one way."""

    def issued(self, work: Work) -> None:
        """See asynchronous work issued; what it reads and writes happens any time from now on."""

    def issued_together(self, works: Sequence[Work]) -> None:
        """See what threads have issued by one execution of an instruction, one behind the other."""
        for work in works:
            self.issued(work)

    def follows(self, kind: GroupKind, item_id: int, warps: Offsets, lanes: Offsets, places: Offsets) -> None:
        """See arrivals issued, entry i by lane `lanes[i]` of `warps[i]` at the mbarrier at offset `places[i]`.

        Each comes once the earlier work of a kind of its thread has completed. A thread may arrive at several.
        """

    def completed(self, item_id: int, place: int, phase: int) -> None:
        """See work (or arrivals) named `item_id` complete, told to an mbarrier in a phase."""

    def waited(self, kind: GroupKind, warps: Offsets, masks: Masks, done: Offsets, read: Offsets) -> None:
        """See lanes wait for the groups below `done`, and for what those below `read` read; each `[warps, 32]`."""

    def grids_complete(self, warps: Offsets, masks: Masks) -> None:
        """See lanes find that the grids in front are complete: all that these did is visible to them."""

    def dependents_released(self, warps: Offsets, masks: Masks) -> None:
        """See lanes let dependent grids start."""

    def launched_behind(self, before: Observer) -> None:
        """See that this launch may overlap with one that an observer of the same kind watches, before either runs."""

    def run_ended(self) -> None:
        """See that all launches of the run have ended."""

    def wave_ended(self) -> None:
        """See that every thread of the wave has exited."""


ObserverFactory: TypeAlias = Callable[[RunView], Observer]
