"""mbarrier objects: phases, pending counts and tx-counts. Manual: "mbarrier".

An object is identified by the offset of its eight bytes in the wave's shared arena. The contents of an mbarrier are
opaque to programs, so `Mbarriers` stores them, not the arena.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyptx_ir.isa.modules.counting import counted
from pyptx_sim.errors import BarrierFault, fault_text
from pyptx_sim.machine.barriers.mbarrier_object import LIMIT, Mbarrier
from pyptx_sim.machine.lanes import by_warp
from pyptx_sim.machine.scheduling.warp_splits import State
from pyptx_sim.observer import Signal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Mask

# Number of scheduler steps after which a suspended (parked) wait returns false, like the hardware's time limit.
_TIME_LIMIT = 512
# `WarpSplits.key` of a warp split that tests its mbarrier once more and then continues with either result.
GIVES_UP = -3


@dataclass(frozen=True, slots=True)
class Arriving:
    """Threads that arrive at an mbarrier: lane `lanes[i]` of warp `warps[i]`.

    `signals` collects `Signal` events for observers; None without observers.
    """

    warps: IntArray
    lanes: IntArray
    signals: list[Signal] | None


@dataclass(frozen=True, slots=True)
class Wait:
    """Last unsuccessful wait of a warp: mbarrier offset, phase, pc, and scheduler step of the first attempt."""

    offset: int
    phase: int
    pc: int
    since: int


class Mbarriers:
    """All mbarriers of a wave.

    `parked`: number of warp splits suspended in a wait. `waits`: last unsuccessful wait of each warp. `in_vain`: number
    of times, since `Wave.progress` last increased, that all runnable warp splits waited and their waits returned false.
    Offsets are relative to the start of the shared arena.
    """

    __slots__ = ("_asked", "_objects", "_wave", "executed", "fresh", "in_vain", "parked", "waits")

    def __init__(self) -> None:
        """Start without initialized mbarriers."""
        self._objects: dict[int, Mbarrier] = {}
        self.parked = 0
        self.waits: dict[int, Wait] = {}
        # By warp: offset and pc of its last mbarrier wait; None if the mbarrier was not in phase 0.
        self.fresh: dict[int, tuple[int, int] | None] = {}
        self.executed: set[int] = set()  # pcs of instructions that have signaled any mbarrier
        self.in_vain = 0
        self._asked: set[tuple[int, int, int]] = set()  # (warp, mbarrier offset, phase) of each phase tested so far
        self._wave: Wave

    def attach(self, wave: Wave) -> None:
        """Set the wave whose CTAs have these mbarriers."""
        self._wave = wave

    def misuse(
        self,
        rule: str,
        message: str,
        pc: int,
        help: str,
        *,
        other_pc: int | None = None,
        label: str | None = None,
        other_label: str | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        """Report an mbarrier operation with undefined behavior; raise BarrierFault in a run without checks."""
        machine = self._wave.machine
        if not machine.checked:
            raise BarrierFault(fault_text(rule, message, label, notes), where=machine.where(pc), help=help)
        machine.log.report(
            rule, message, pc, other_pc=other_pc, label=label, other_label=other_label, notes=notes, help=help
        )

    def name(self, offset: int) -> str:
        """Return the symbolic name of the mbarrier at `offset`."""
        return f"mbarrier {self._place(offset)}"

    def _place(self, offset: int) -> str:
        return self._wave.memories["shared"].describe_offset(offset)

    # --- initialization and invalidation --------------------------------------------------------

    def init(self, offset: int, count: int, thread: tuple[int, int], pc: int) -> None:
        """Initialize an mbarrier to phase 0 with `count` expected arrivals per phase; `thread` is (warp, lane)."""
        observers = self._wave.machine.observers
        if observers.active:
            observers.barrier_made(offset, *thread, pc)
        known = self._objects.get(offset)
        if known is not None:
            self.misuse(
                "mbarrier-reinit",
                f"mbarrier.init of a live mbarrier: {self._place(offset)} is in phase {known.phase}",
                pc,
                "initialize each mbarrier once, in one thread; execute mbarrier.inval before reuse",
                other_pc=known.initialized_at,
                label=f"mbarrier.init by {self._wave.geometry.thread_name(*thread)}",
                other_label="previous mbarrier.init",
            )
        if not 1 <= count <= LIMIT:
            self.misuse(
                "mbarrier-arrival-count",
                f"invalid arrival count of {self.name(offset)}: {count}, must be 1 to {LIMIT}",
                pc,
                "pass mbarrier.init the number of arrivals per phase",
                label=f"mbarrier.init by {self._wave.geometry.thread_name(*thread)}",
            )
        self._objects[offset] = Mbarrier(count, pc, count)
        self._wave.version += 1

    def invalidate(self, offset: int, thread: tuple[int, int], pc: int) -> None:
        """Invalidate the mbarrier at `offset`; report an error if a warp waits at it."""
        known = self.find(offset, pc)
        if known is None:
            return
        if self._wave.machine.observers.active:
            self._wave.machine.observers.barrier_ended(offset, *thread, pc)
        waiter = next((wait for wait in self.waits.values() if wait.offset == offset), None)
        if waiter is not None:
            self.misuse(
                "mbarrier-inval",
                f"mbarrier.inval of {self._place(offset)} while a warp waits for phase {waiter.phase}",
                pc,
                "bar.sync after the last wait, then mbarrier.inval in one thread",
                other_pc=waiter.pc,
                label=f"mbarrier.inval by {self._wave.geometry.thread_name(*thread)}",
                other_label="wait",
            )
        del self._objects[offset]
        self._wave.version += 1

    def find(self, offset: int, pc: int) -> Mbarrier | None:
        """Return the mbarrier at `offset`; if none is initialized there, report an error and return None."""
        known = self._objects.get(offset)
        if known is None:
            self.misuse(
                "mbarrier-uninitialized",
                f"no initialized mbarrier at {self._place(offset)}",
                pc,
                "execute mbarrier.init first, then fence.mbarrier_init or bar.sync",
            )
        return known

    # --- arrivals and bytes ---------------------------------------------------------------------

    def arrive(
        self,
        offset: int,
        counts: list[int],
        pc: int,
        arriving: Arriving | None = None,
        *,
        drops: bool = False,
        stays: bool = False,
        item_id: int | None = None,
    ) -> list[int]:
        """Arrive with each count of `counts`, in order; return the mbarrier's state before each arrival.

        `arriving`: the arriving threads, if threads arrive; their events are added to its `signals`. `drops`: also
        reduce the expected count of later phases. `stays`: the phase must not complete. `item_id`: the asynchronous
        operation whose completion triggers the arrival.
        """
        known = self.find(offset, pc)
        if known is None:
            return [0] * len(counts)
        self.executed.add(pc)
        states = [0] * len(counts)
        observers = self._wave.machine.observers
        if item_id is not None and observers.active:
            observers.completed(item_id, offset, known.phase)
        judged, told = -1, 0
        for number, count in enumerate(counts):
            if known.phase != judged:
                self._check_seen(offset, known, pc)
                judged = known.phase
            states[number] = known.state()
            if count > known.pending or (drops and count > known.expected):
                self._too_many(offset, known, count, pc)
                continue
            known.take(count, pc, drops=drops)
            if known.complete:
                if stays:
                    self._must_not_complete(offset, pc)
                _note(arriving, offset, known.phase, told, number + 1)
                told = number + 1
                self._next_phase(offset, known, pc)
        _note(arriving, offset, known.phase, told, len(counts))
        self._wave.version += 1
        return states

    def expect(self, offset: int, count: int, pc: int) -> None:
        """Increase the tx-count of the current phase by `count` bytes (expect-tx)."""
        known = self.find(offset, pc)
        if known is not None:
            self.executed.add(pc)
            self._count(offset, known, count, pc)

    def complete(self, offset: int, count: int, pc: int, item_id: int | None = None) -> None:
        """Decrease the tx-count by `count` bytes (complete-tx); `item_id`: the completed asynchronous operation."""
        known = self.find(offset, pc)
        if known is None:
            return
        if item_id is not None and self._wave.machine.observers.active:
            self._wave.machine.observers.completed(item_id, offset, known.phase)
        self.executed.add(pc)
        known.arrivals[pc] += 1
        known.completed = (known.phase, pc)
        self._count(offset, known, -count, pc)
        if known.complete and known.expected:
            self._next_phase(offset, known, pc)

    def await_arrivals(self, offset: int, count: int, pc: int) -> None:
        """Increase the pending count of the current phase by `count`, for later arrivals of asynchronous operations."""
        known = self.find(offset, pc)
        if known is None:
            return
        known.pending += count
        if known.pending > LIMIT:
            self._too_many(offset, known, -count, pc)
        self._wave.version += 1

    def _count(self, offset: int, known: Mbarrier, count: int, pc: int) -> None:
        known.bytes += count
        self._wave.version += 1
        if not -LIMIT <= known.bytes <= LIMIT:
            self.misuse(
                "mbarrier-tx-count",
                f"tx-count overflow at {self.name(offset)}: {known.bytes} in phase {known.phase} (limit {LIMIT})",
                pc,
                "expect exactly the bytes that complete in the same phase (mbarrier.expect_tx)",
            )
            known.bytes = max(min(known.bytes, LIMIT), -LIMIT)

    def _next_phase(self, offset: int, known: Mbarrier, pc: int) -> None:
        known.phase += 1
        known.came = 0
        known.pending = known.expected
        known.completed_at = pc
        wave = self._wave
        wave.progress += 1
        if self.parked:
            splits = wave.splits
            self._wake(np.flatnonzero((splits.state == State.MBARRIER) & (splits.key == offset)))

    def _check_seen(self, offset: int, known: Mbarrier, pc: int) -> None:
        """Report an arrival after a phase whose completion no wait observed. Manual: "Phase of the mbarrier object"."""
        behind = known.phase - 1
        if behind < 0 or known.seen >= behind or not self._wave.machine.checked:
            return
        self.misuse(
            "mbarrier-phase",
            f"arrive in phase {known.phase} of {self._place(offset)} before any wait observed completion of phase "
            f"{behind}",
            pc,
            "wait for each phase before the next arrive; check the count passed to mbarrier.init",
            other_pc=known.completed_at,
            other_label=f"completed phase {behind}",
        )
        known.seen = behind

    def _too_many(self, offset: int, known: Mbarrier, count: int, pc: int) -> None:
        place, pending = self._place(offset), f"{known.pending} pending in phase {known.phase}"
        if count > 0:
            message = f"arrival count underflow at {place}: {counted(count, 'arrival')}, {pending}"
        else:
            message = f"pending count overflow at {place}: {pending}, limit {LIMIT}"
        self.misuse(
            "mbarrier-arrival-count",
            message,
            pc,
            "pass mbarrier.init the number of arrivals per phase",
            other_pc=known.initialized_at,
            notes=(f"the mbarrier expects {counted(known.expected, 'arrival')} per phase",),
        )

    def _must_not_complete(self, offset: int, pc: int) -> None:
        self.misuse(
            "mbarrier-arrival-count",
            f".noComplete arrive completes the current phase of {self.name(offset)}",
            pc,
            "use mbarrier.arrive without .noComplete for the last arrival of a phase",
        )

    # --- waiting --------------------------------------------------------------------------------

    def test(self, offset: int, phase: int, pc: int, *, parity: bool) -> bool:
        """Return whether phase `phase` is complete; with `parity`, `phase` is a parity, else a phase number."""
        known = self.find(offset, pc)
        if known is None:
            return True  # no phase of an invalid mbarrier completes: do not wait
        if parity:
            done = known.phase & 1 != phase
        else:
            done = known.phase > phase
            if known.phase > phase + 1:
                self.misuse(
                    "mbarrier-phase",
                    f"wait with a stale state: phase {phase} of {self.name(offset)}, now in phase {known.phase}",
                    pc,
                    "pass the wait the state of the latest mbarrier.arrive",
                )
        if done:
            known.seen = max(known.seen, known.phase - 1)
        return done

    def first_asked(self, warp: int, offset: int) -> bool:
        """Return whether a warp tests the current phase of an mbarrier for the first time, and record the test."""
        question = (warp, offset, self.phase(offset))
        first = question not in self._asked
        self._asked.add(question)
        return first

    def note_seen(self, offset: int, warps: list[int], pc: int) -> None:
        """Record that warps continue after an mbarrier wait; reports mention the wait if no phase had completed."""
        known = self._objects.get(offset)
        if known is not None:
            self.fresh.update(dict.fromkeys(warps, (offset, pc) if known.phase == 0 else None))

    def acquire(self, offset: int, warps: IntArray, masks: Mask, pc: int, scope: str, *, acquires: bool) -> None:
        """Notify observers that lanes of warps observed completion of the last phase of an mbarrier."""
        known, observers = self._objects.get(offset), self._wave.machine.observers
        if known is not None:
            observers.acquire(offset, known.phase - 1, warps, masks, pc, scope=scope, acquires=acquires)

    def phase(self, offset: int) -> int:
        """Return the current phase of the mbarrier at `offset`; 0 if none is initialized there."""
        known = self._objects.get(offset)
        return known.phase if known is not None else 0

    def park(self, ids: IntArray, offsets: IntArray) -> None:
        """Suspend (park) warp splits until the phase of their mbarrier completes or the time limit expires."""
        splits = self._wave.splits
        splits.state[ids] = State.MBARRIER
        splits.key[ids] = offsets
        splits.site[ids] = self._wave.pc
        self.parked += len(ids)

    def _wake(self, ids: IntArray) -> None:
        splits = self._wave.splits
        splits.state[ids] = State.READY
        splits.key[ids] = -1
        self.parked -= len(ids)

    def waiting(self) -> IntArray:
        """Return the warp splits that are suspended (parked) in an mbarrier wait."""
        return np.flatnonzero(self._wave.splits.state == State.MBARRIER)

    def awaited(self) -> set[int]:
        """Return the offsets of the mbarriers that suspended (parked) warp splits wait for."""
        return set(self._wave.splits.key[self.waiting()].tolist()) if self.parked else set()

    def let_go(self, ids: IntArray) -> bool:
        """Resume the suspended warp splits `ids`; their waits may return false. Return whether `ids` is not empty."""
        self._wake(ids)
        self._wave.splits.key[ids] = GIVES_UP
        return bool(len(ids))

    def let_overdue_go(self) -> None:
        """Resume warp splits that have been suspended longer than the time limit while other splits ran."""
        waiting = self.waiting()
        overdue = self._wave.steps - self._wave.splits.last_run[waiting] > _TIME_LIMIT
        self.let_go(waiting[overdue])

    def objects(self) -> Iterable[tuple[int, Mbarrier]]:
        """Return all initialized mbarriers as pairs (offset, `Mbarrier`)."""
        return self._objects.items()


def _note(arriving: Arriving | None, offset: int, phase: int, first: int, behind: int) -> None:
    """Add a `Signal` event: threads `first` to `behind - 1` of `arriving` arrive in `phase`."""
    if arriving is not None and arriving.signals is not None and first < behind:
        warps, masks = by_warp(arriving.warps[first:behind], arriving.lanes[first:behind])
        arriving.signals.append(Signal(offset, phase, warps, masks))
