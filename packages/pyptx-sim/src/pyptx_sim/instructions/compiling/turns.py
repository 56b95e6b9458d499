"""One execution of an instruction, as a step of an extension sees it.

A step never holds the machine's arrays: it reads and writes operands under the mask of the lanes that execute it, and
asks for everything else here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from pyptx_sim.instructions.notify import tell_waited
from pyptx_sim.instructions.synchronization.async_copy import arrive_behind
from pyptx_sim.instructions.synchronization.mbarriers import ACCESS
from pyptx_sim.instructions.synchronization.threads import in_shared
from pyptx_sim.machine.lanes import Lanes, pick, spread
from pyptx_sim.machine.memory.access import Access, Places
from pyptx_sim.observer import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator
    from typing import Any

    from pyptx_sim.extension import AsyncItem, GroupKind, Proxy, Space, Stall
    from pyptx_sim.instructions.compiling.registers import Reader, Writer
    from pyptx_sim.instructions.memory.addresses import Target
    from pyptx_sim.machine.memory.spaces import Memory
    from pyptx_sim.machine.scheduling.code import Action, Group, Terminator
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.observer import AccessKind, Touch
    from pyptx_sim.types import DType

__all__ = ["LastTurn", "Turn", "acting", "ending", "ending_once"]

T = TypeVar("T")
Integers: TypeAlias = NDArray[np.int64]
Masks: TypeAlias = NDArray[np.bool_]


class Turn:
    """Some lanes that execute an instruction together: rows of warps of a wave, and a mask over their lanes.

    Arrays of values are `[rows, 32]`; what inactive lanes have in them does not matter. Among the rows may be some
    without an active lane: `threads` leaves them out.
    """

    __slots__ = ("_lanes", "wave")

    def __init__(self, wave: Wave, lanes: Lanes) -> None:
        """See a wave through the lanes of one step."""
        self.wave = wave
        self._lanes = lanes

    @property
    def rows(self) -> Integers:
        """The numbers in the wave of the warps, `[rows]`."""
        return self._lanes.row_numbers()

    @property
    def mask(self) -> Masks:
        """Which lanes are active, bool `[rows, 32]`; not to be changed."""
        return self._lanes.full_mask

    @property
    def threads(self) -> tuple[Integers, Integers]:
        """The active lanes in order: their warps in the wave, and lanes."""
        positions, lanes = self._lanes.active
        return self._lanes.warps(positions), lanes

    def by_warp(self) -> Iterator[Turn]:
        """Yield the turn of each warp that has an active lane."""
        for row, mask in zip(self.rows, self.mask, strict=True):
            if mask.any():
                yield Turn(self.wave, Lanes(row[None], mask[None], 1, whole=False))

    @property
    def warps(self) -> Integers:
        """The numbers in the wave of the warps that have an active lane."""
        return self._lanes.active_rows()

    @property
    def ctas(self) -> Integers:
        """The block of each row, by its place in the wave."""
        found: Integers = self.wave.geometry.cta[self.rows]
        return found

    @property
    def pc(self) -> int:
        """The instruction, for reports and observers."""
        return self.wave.pc

    @property
    def checked(self) -> bool:
        """Whether faults become findings; they raise an error otherwise."""
        return self.wave.machine.checked

    @property
    def observed(self) -> bool:
        """Whether anybody wants to hear of accesses and of asynchronous work."""
        return self.wave.machine.observers.active

    # --- registers ------------------------------------------------------------------------------

    def read(self, source: Reader) -> NDArray[Any]:
        """Return what `Operands.source` reads; not to be changed."""
        values: NDArray[Any] = np.broadcast_to(source(self.wave, self._lanes), (self._lanes.height, 32))
        return values

    def write(self, destination: Writer, values: NDArray[Any]) -> None:
        """Write values, `[rows, 32]` or broadcast to that, where `Operands.destination` says."""
        destination(self.wave, self._lanes, values)

    def narrowed(self, condition: Masks) -> Turn | None:
        """Return the turn of those lanes for which a condition holds; None if there are none.

        The condition is `[rows, 32]`, or broadcast to that.
        """
        some = self._lanes.narrowed(condition)
        return None if some is None else Turn(self.wave, some)

    # --- memory and work ------------------------------------------------------------------------

    def memory(self, space: Space) -> Memory:
        """Return a memory that an extension brings."""
        return self.wave.memory(space)

    def part(self, make: Callable[[Wave], T]) -> T:
        """Return what an extension keeps for the wave: what `make(wave)` has made of it once."""
        return self.wave.part(make)

    def load(self, space: Space, addresses: NDArray[Any], dtype: DType) -> NDArray[Any]:
        """Return what lies at each active thread's address, `[rows, 32]`; zero where the address is at fault."""
        found = self.located(space, addresses, dtype.itemsize, "read")
        if found is None:
            return np.zeros((1, 1), dtype)
        some, offsets = found
        (values,) = self.memory(space).arena.gather(offsets, dtype, 1)
        return spread(values, *some.places, self._lanes.height)

    def store(self, space: Space, addresses: NDArray[Any], values: NDArray[Any]) -> None:
        """Write a value, of `[rows, 32]`, at each active thread's address; of threads at one address, the last wins."""
        found = self.located(space, addresses, values.dtype.itemsize, "write")
        if found is None:
            return
        some, offsets = found
        arena = self.memory(space).arena
        arena.scatter(offsets, [pick(values, *some.places)])
        arena.mark(offsets, values.dtype.itemsize)
        self.wave.version += 1

    def located(
        self, space: Space, addresses: NDArray[Any], size: int, kind: AccessKind | None = None, alignment: int = 0
    ) -> tuple[Turn, Integers] | None:
        """Return the threads whose accesses of `size` bytes are sound, with the offsets in the space's arena.

        Faults of the others are reported. With a `kind`, it is an access that takes place now: what is read has to be
        written, and observers hear of it; without, that of work which is issued.
        """
        memory, lanes = self.memory(space), self._lanes
        access = Access(kind or "read", size, alignment=alignment)
        places = access.places(self.wave, lanes, memory, addresses.astype(np.int64))
        if places is None:
            return None
        positions, columns = lanes.active
        if places.positions is not None and places.columns is not None:
            positions, columns = places.positions, places.columns
        offsets = places.offsets if places.positions is not None else pick(places.offsets, positions, columns)
        mask = np.zeros((lanes.height, 32), np.bool_)
        mask[positions, columns] = True
        some = lanes.narrowed(mask)
        if some is None:
            return None
        if kind is not None and self.checked:
            access.before(self.wave, some, memory, Places(offsets, positions, columns))
        return Turn(self.wave, some), offsets

    @property
    def places(self) -> tuple[Integers, Integers]:
        """The active lanes in order: positions among the rows, and lanes."""
        return self._lanes.active

    def join(self, kind: GroupKind) -> Integers:
        """Let an operation of each active thread join its group of a kind that is open; return the groups' numbers."""
        groups = self.wave.groups_of(kind)
        warps, lanes = self.threads
        groups.note(warps, lanes, self.pc)
        numbers: Integers = groups.open[warps, lanes]
        return numbers

    def issue(self, item: AsyncItem, touches: Iterable[Touch] = (), *, proxy: Proxy | None = None) -> None:
        """Let the engine take on an item; `touches` are what it will read and write, through a proxy."""
        self.wave.engine.issue(item)
        if self.observed:
            self.wave.machine.observers.issued(
                Work(item.item_id, self.pc, item.group, proxy, item.warps, item.lanes, item.numbers, tuple(touches))
            )

    def commit(self, kind: GroupKind) -> None:
        """Close the open group of each thread."""
        self.wave.groups_of(kind).commit(self.rows, self.mask)

    def wait(self, kind: GroupKind, latest: int | None = None, *, reads: bool = False) -> None:
        """Wait until only the `latest` groups of each thread are pending; without, for all that it has issued.

        `reads`: until the sources of the others are read.
        """
        groups = self.wave.groups_of(kind)
        if latest is None:
            self.commit(kind)
        groups.wait(self.rows, self.mask, latest or 0, reads=reads)
        self.wave.engine.finish_groups(kind, groups, reads=reads)
        tell_waited(self.wave, kind, *self._lanes.by_warp())

    def arrive_behind(self, kind: GroupKind, barrier: Target) -> None:
        """Let an arrival of each thread at an mbarrier follow all its work of a kind so far (`Operands.barrier`)."""
        for _, threads in in_shared(self.wave, self._lanes, barrier, ACCESS, "the mbarrier"):
            arrive_behind(self.wave, kind, threads)

    def show(self, proxy: Proxy, *spaces: Space) -> None:
        """Execute a fence: let a proxy see what the lanes know of some spaces."""
        if self.observed:
            names = tuple(space.name for space in spaces)
            self.wave.machine.observers.proxy_fence(proxy, *self._lanes.by_warp(), names)

    def forget(self, space: Space, address: int, size: int) -> None:
        """Note that nothing has written `size` bytes of the memory of each row's block, from an address on."""
        memory = self.memory(space)
        for row in self.rows:
            start = int(memory.flat_at(np.array([address]), row[None], np.zeros(1, np.int64))[0])
            memory.arena.forget(start, size)

    def need(self, space: Space, offsets: Integers, size: int) -> None:
        """Report bytes that nothing has written, `size` of them at each active thread's offset in a space's arena."""
        if self.checked:
            access = Access("read", size)
            access.check_initialised(self.wave, self._lanes, self.memory(space), Places(offsets, *self.places))

    def release(self, key: Hashable, phase: int = 0, *, relaxed: bool = False) -> None:
        """Leave what the lanes know and have done for whoever acquires `key` later, in the same phase and wave.

        Keys of all extensions are one table: let yours hold something that is yours, such as a `Space`. `relaxed`: the
        lanes arrive, and release nothing but the initialisation of mbarriers that they have fenced.
        """
        if self.observed:
            place, scope = self.wave.place(key), None if relaxed else "cluster"
            self.wave.machine.observers.signal(place, phase, *self._lanes.by_warp(), self.pc, scope=scope)

    def acquire(self, key: Hashable, phase: int = 0) -> None:
        """Let the lanes know what was left at `key`: all that its releases tell of happened before."""
        if self.observed:
            place = self.wave.place(key)
            self.wave.machine.observers.acquire(place, phase, *self._lanes.by_warp(), self.pc, scope="cluster")

    def report(self, rule: str, message: str, *, hint: str | None = None, count: int = 1) -> None:
        """Report a finding at this instruction; without a hint, the rule's is taken."""
        self.wave.machine.log.report(rule, message, self.pc, hint=hint, count=count)

    def thread_name(self, warp: int, lane: int) -> str:
        """Return what messages call a thread, by its warp in the wave."""
        return self.wave.geometry.thread_name(warp, lane)


class LastTurn(Turn):
    """The turn of all lanes that have come to an instruction which ends a block, and are on their way to the next."""

    __slots__ = ("_ids",)

    def __init__(self, wave: Wave, group: Group) -> None:
        """See a wave through the lanes of a group of warp splits."""
        super().__init__(wave, group.lanes)
        self._ids = group.ids

    def stall(self, on: Stall, which: Masks | None = None) -> None:
        """Let the lanes of `warps`, or of some of these, wait until somebody resumes them (`Wave.stalled`)."""
        self.wave.stall(self._ids if which is None else self._ids[which], on)


def acting(run: Callable[[Turn], None]) -> Action:
    """Return what the machine executes for an instruction that does `run`."""
    return lambda wave, lanes: run(Turn(wave, lanes))


def ending(run: Callable[[Turn], Stall | None], following: int, *, together: bool) -> Terminator:
    """Return what ends a block with `run`, warp by warp: where that returns what it waits for, it runs again later.

    `together`: the lanes of a warp meet there, whenever it has nothing to wait for any more.
    """

    def end(wave: Wave, group: Group) -> None:
        splits = wave.splits
        splits.block[group.ids] = following
        for split in group.ids:
            lanes = Lanes(splits.warp[split][None], splits.mask[split][None], 1, whole=False)
            stall = run(Turn(wave, lanes))
            if stall is not None:
                splits.block[split] = following - 1
                wave.stall(split[None], stall)
            elif together and wave.machine.observers.active:
                wave.machine.observers.warp_sync(*lanes.by_warp(), wave.pc)

    return end


def ending_once(run: Callable[[LastTurn], None], following: int, *, together: bool) -> Terminator:
    """Return what ends a block with `run`, once for all lanes that have come; those that it stalls go on behind it.

    `together`: the lanes of a warp meet there.
    """

    def end(wave: Wave, group: Group) -> None:
        turn = LastTurn(wave, group)
        if together and turn.observed:
            wave.machine.observers.warp_sync(*group.lanes.by_warp(), wave.pc)
        wave.splits.block[group.ids] = following
        run(turn)

    return end
