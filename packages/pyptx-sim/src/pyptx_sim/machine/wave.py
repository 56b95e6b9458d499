"""A wave: the CTAs that are resident together, with all state of their warps."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

import numpy as np

from pyptx_sim.machine.asynchrony.groups import Groups
from pyptx_sim.machine.barriers.mbarriers import Mbarriers
from pyptx_sim.machine.deferred import DeferredRegisters
from pyptx_sim.machine.lanes import WARP, Lanes
from pyptx_sim.machine.memory.spaces import BlockMemory
from pyptx_sim.machine.scheduling.warp_splits import State, WarpSplits
from pyptx_sim.machine.specials import Specials
from pyptx_sim.machine.stalled import Stalled
from pyptx_sim.machine.undefined import UndefinedRegisters
from pyptx_sim.program.program import FRAME_SLOT, STACK_SLOT
from pyptx_sim.program.unassigned import unassigned_registers
from pyptx_sim.program.windows import FIRST_OFFSET, RANK_SHIFT

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable
    from typing import Unpack

    from pyptx_sim.extension.group import GroupKind
    from pyptx_sim.extension.rule import FindingDetails
    from pyptx_sim.extension.space import Space
    from pyptx_sim.extension.stall import Stall
    from pyptx_sim.machine.asynchrony.engine import Engine
    from pyptx_sim.machine.barriers.barriers import Barriers
    from pyptx_sim.machine.geometry import Geometry
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.machine.machine import Machine
    from pyptx_sim.machine.memory.frames import Frames
    from pyptx_sim.machine.memory.spaces import SharedMemory, SpaceMemory
    from pyptx_sim.operation import Array, Mask

T = TypeVar("T")
KeyOwner: TypeAlias = "Space | type[object]"
"""Namespace of keys with which lanes release and acquire: a memory space or a class of an extension."""
_BLANK = np.zeros((1, 1), np.uint32)  # value of never-written registers until an asynchronous write to them completes
_FIRST_PLACE = -(1 << 40)  # barrier numbers in events: up to this number, keys of a `KeyOwner`; above, real barriers


class Wave:
    """CTAs of the grid (whole clusters) that are resident together; one row per warp.

    `registers`: one array per register slot; None for a register never written. `undefined`: undefined bits of
    registers (checks only). `live`: lanes that have not exited. `exited`: some lanes have exited. `pc`: the instruction
    being executed. `version`: incremented on every write to memory (if `watching`, only if the contents change).
    `completed_barriers`: number of completed named barriers. `progress`: incremented on every completed mbarrier phase,
    resume and exit. `endings`: functions to call when the wave has completed, in a checked run. `exits`: functions to
    call whenever threads have exited. `forced`: warps in which lanes continued without other lanes of their membermask,
    with the pc of the instruction where this first happened.
    """

    __slots__ = (
        "_parts",
        "_places",
        "_stalls",
        "barriers",
        "completed_barriers",
        "endings",
        "engine",
        "exited",
        "exits",
        "forced",
        "frames",
        "geometry",
        "groups",
        "height",
        "live",
        "machine",
        "mbarriers",
        "memories",
        "pc",
        "progress",
        "rank",
        "rank_base",
        "registers",
        "specials",
        "splits",
        "steps",
        "undefined",
        "version",
        "watching",
    )

    def __init__(
        self,
        machine: Machine,
        geometry: Geometry,
        memories: dict[str, SpaceMemory],
        frames: Frames,
        barriers: Barriers,
        engine: Engine,
    ) -> None:
        """Start every thread of the wave's CTAs at the first basic block of the kernel entry."""
        program = machine.program
        self.machine = machine
        self.geometry = geometry
        self.height = geometry.height
        self.memories = memories
        self.frames = frames
        self.barriers = barriers
        self.engine = engine
        self.mbarriers = Mbarriers()
        self.groups: dict[GroupKind, Groups] = {}
        self._parts: dict[Callable[[Wave], object], object] = {}
        self._stalls: list[Stall] = []
        self._places: dict[tuple[KeyOwner, Hashable], int] = {}
        self.endings: list[Callable[[], None]] = []
        self.exits: list[Callable[[], None]] = []
        self.live: Mask = geometry.threads.copy()
        self.registers: list[Array | None] = [None] * program.slots
        self.registers[FRAME_SLOT] = np.full((1, 1), FIRST_OFFSET, np.int64)
        self.registers[STACK_SLOT] = np.full((1, 1), FIRST_OFFSET + program.entry.frame_size, np.int64)
        self.undefined = UndefinedRegisters(self, unassigned_registers(program) if machine.checked else {})
        self.splits = WarpSplits(self.live, program.entry_block(program.entry.name))
        self.specials = Specials(self)
        self.rank: IntArray = geometry.rank
        # Bits of the CTA's rank in a shared address, per warp.
        clustered = machine.launch.cluster_size > 1
        self.rank_base: IntArray = (self.rank if clustered else np.zeros(1, np.int64))[:, None] << RANK_SHIFT
        self.pc = self.steps = self.version = self.progress = self.completed_barriers = 0
        self.watching = self.exited = False
        self.forced: dict[int, int] = {}

    @property
    def thread_registers(self) -> int | None:
        """Number of registers per thread at launch; None if not specified."""
        return self.machine.program.registers

    @property
    def ended(self) -> bool:
        """Whether every thread has exited."""
        return not len(self.splits.alive())

    @property
    def running_ctas(self) -> Mask:
        """Whether each CTA of the wave has threads that have not exited."""
        return np.asarray(self.live.reshape(self.geometry.ctas, -1).any(axis=1))

    def report(
        self, rule: str, message: str, pc: int, *, other_pc: int | None = None, **details: Unpack[FindingDetails]
    ) -> None:
        """Report a finding at an instruction, in a checked run; help and severity default to those of the rule."""
        if self.machine.checked:
            self.machine.log.report(rule, message, pc, other_pc=other_pc, **details)

    def note_deferred(self, registers: Iterable[int], lanes: Lanes) -> None:
        """Record that an asynchronous operation will write `registers` (slots) in the active lanes."""
        for slot in registers:
            if slot in self.undefined:
                self.undefined.define(slot, lanes)
            if self.registers[slot] is None:
                self.registers[slot] = _BLANK

    def exit(self, ids: IntArray) -> None:
        """Exit all lanes of warp splits `ids`."""
        splits = self.splits
        self.frames.unwind(splits, ids)
        np.bitwise_and.at(self.live, splits.warp[ids], ~splits.mask[ids])
        splits.end(ids)
        self.exited = True
        self.progress += 1
        self.barriers.recheck()
        for hear in self.exits:
            hear()

    def groups_of(self, kind: GroupKind) -> Groups:
        """Return the async-groups of one kind, for all threads of the wave."""
        known = self.groups.get(kind)
        if known is None:
            known = self.groups[kind] = Groups(self.height)
        return known

    def place(self, owner: KeyOwner, key: Hashable) -> int:
        """Return a negative number that denotes `key` of `owner` in events that otherwise have an mbarrier offset."""
        return _FIRST_PLACE - self._places.setdefault((owner, key), len(self._places))

    def memory(self, space: Space | str) -> SpaceMemory:
        """Return the wave's memory of a space, which is given by name or as an extension's `Space`."""
        if isinstance(space, str):
            return self.memories[space]
        known = self.memories.get(space.name)
        if known is None:
            geometry = self.geometry
            known = BlockMemory(space, geometry.cta, geometry.ctas, track=self.machine.checked)
            self.memories[space.name] = known
        return known

    @property
    def deferred(self) -> DeferredRegisters:
        """Accumulators stored as whole matrices until asynchronous operations complete."""
        return self.part(DeferredRegisters)

    @property
    def shared(self) -> SharedMemory:
        """Shared memory of all CTAs of the wave."""
        return cast("SharedMemory", self.memories["shared"])

    def peers(self, place: int, mask: int) -> tuple[int, ...]:
        """Return the distances in bytes from `place`, in shared memory, to the same location in each CTA of `mask`."""
        size, stride = self.machine.launch.cluster_size, self.shared.stride
        named = place // stride % size
        return tuple((rank - named) * stride for rank in range(size) if mask >> rank & 1)

    def stall(self, ids: IntArray, on: Stall) -> None:
        """Stall warp splits `ids` on condition `on`; `resume` makes them ready again."""
        if on not in self._stalls:
            self._stalls.append(on)
        self.splits.state[ids] = State.STALLED
        self.splits.site[ids] = self.pc
        self.splits.key[ids] = self._stalls.index(on)

    def stalled(self, on: Stall) -> Stalled:
        """Return the warp splits that are stalled on an extension's condition."""
        if on not in self._stalls:
            return Stalled(self, np.zeros(0, np.int64))
        splits = self.splits
        waiting = (splits.state == State.STALLED) & (splits.key == self._stalls.index(on))
        return Stalled(self, np.flatnonzero(waiting))

    def resume(self, ids: IntArray) -> None:
        """Resume the stalled warp splits `ids`."""
        self.splits.state[ids] = State.READY
        self.splits.key[ids] = -1
        self.progress += 1

    def stall_at(self, key: int) -> Stall:
        """Return the condition on which warp splits with this `key` (`WarpSplits.key`) are stalled."""
        return self._stalls[key]

    def part(self, make: Callable[[Wave], T]) -> T:
        """Return the result of `make(wave)`, which is called on first use and then cached for the wave."""
        known = self._parts.get(make)
        if known is None:
            known = self._parts[make] = make(self)
        return cast("T", known)

    def lanes_of(self, ids: IntArray) -> Lanes:
        """Return the lanes of warp splits `ids`, which must be in order of warps, at most one per warp."""
        splits = self.splits
        rows, mask = splits.warp[ids], splits.mask[ids]
        complete = bool(mask.all())
        alone = not splits.diverged and len(ids) == len(splits.alive())
        if not alone:
            return Lanes(rows, None if complete else mask, len(ids), whole=False)
        if len(ids) == self.height:
            return Lanes(None, None if complete else mask, self.height, whole=True)
        spread = np.zeros((self.height, WARP), np.bool_)
        spread[rows] = mask
        return Lanes(None, spread, self.height, whole=True)
