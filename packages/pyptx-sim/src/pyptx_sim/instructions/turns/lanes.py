"""Lanes that execute an instruction: access to their registers, and reports of findings at the instruction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from pyptx_sim.instructions.turns.warpgroups import Warpgroups
from pyptx_sim.machine.lanes import Lanes, broadcast
from pyptx_sim.machine.memory.access import fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Unpack

    from pyptx_sim.extension.rule import FindingDetails
    from pyptx_sim.instructions.compiling.registers import Reader, Writer
    from pyptx_sim.machine.wave import Wave

__all__ = ["ActiveLanes", "Integers", "Masks"]

T = TypeVar("T")
Integers: TypeAlias = NDArray[np.int64]
Masks: TypeAlias = NDArray[np.bool_]


class ActiveLanes:
    """Lanes that execute an instruction together: rows (warps of a wave), and a mask over their lanes.

    Arrays of values are `[rows, 32]`; values of inactive lanes are ignored. Rows without an active lane are possible;
    `threads` and `warps` omit them. `splits` are the warp splits that end a block with the instruction, one for each of
    `warps`; None if it is not a terminator.
    """

    __slots__ = ("_lanes", "_splits", "wave")

    def __init__(self, wave: Wave, lanes: Lanes, splits: Integers | None = None) -> None:
        """Refer to the lanes that execute one instruction in `wave` (the CTAs that are resident together)."""
        self.wave = wave
        self._lanes = lanes
        self._splits = splits

    # --- active lanes ---------------------------------------------------------------------------

    @property
    def rows(self) -> Integers:
        """Index, in the wave, of each row's warp, `[rows]`."""
        return self._lanes.row_numbers()

    @property
    def mask(self) -> Masks:
        """Active lanes, bool `[rows, 32]`; read-only."""
        return self._lanes.full_mask

    @property
    def warps(self) -> Integers:
        """Indices in the wave of the warps that have an active lane."""
        return self._lanes.active_rows()

    @property
    def threads(self) -> tuple[Integers, Integers]:
        """Warp index in the wave, and lane number in the warp, of each active lane, in order."""
        positions, lanes = self._lanes.active
        return self._lanes.warps(positions), lanes

    @property
    def places(self) -> tuple[Integers, Integers]:
        """Row index in `[rows, 32]` arrays, and lane number in the warp, of each active lane, in order."""
        return self._lanes.active

    @property
    def count(self) -> int:
        """Number of active lanes."""
        return self._lanes.count

    def by_warp(self) -> Iterator[Self]:
        """Yield one execution context per warp that has an active lane, with the active lanes of the warp."""
        for row, mask in zip(self.rows, self.mask, strict=True):
            if mask.any():
                yield type(self)(self.wave, Lanes(row[None], mask[None], 1, whole=False))

    def by_thread(self) -> Iterator[Self]:
        """Yield one execution context per active lane, in order."""
        for warp, lane in zip(*(part.tolist() for part in self.threads), strict=True):
            yield type(self)(self.wave, Lanes.of_thread(warp, lane))

    def narrowed(self, condition: Masks) -> Self | None:
        """Return an execution context with the active lanes for which a condition is true; None if there are none.

        The condition is `[rows, 32]`, or broadcast to that shape.
        """
        some = self._lanes.narrowed(condition)
        return None if some is None else self._of(some)

    def first_lanes(self) -> Self:
        """Return an execution context with only the first active lane of each warp."""
        mask = self.mask
        first = np.zeros_like(mask)
        first[np.arange(len(mask)), mask.argmax(axis=1)] = True
        return self._of(Lanes(self._lanes.rows, first & mask, self._lanes.height, whole=False))

    def _of(self, lanes: Lanes) -> Self:
        splits = self._splits
        if splits is not None and lanes is not self._lanes:
            splits = splits[np.isin(self.warps, lanes.active_rows())]
        return type(self)(self.wave, lanes, splits)

    def warpgroups(self) -> Warpgroups:
        """Return the warpgroups that execute the instruction; its semantics must have `converges="warpgroup"`."""
        return Warpgroups(self)

    @property
    def ctas(self) -> Integers:
        """Index, in the wave, of the CTA that each row's warp belongs to."""
        found: Integers = self.wave.geometry.cta[self.rows]
        return found

    # --- registers ------------------------------------------------------------------------------

    def read(self, source: Reader) -> NDArray[Any]:
        """Return the values that `source` (from `Operands.source`) reads, as a read-only array `[rows, 32]`."""
        return broadcast(source(self.wave, self._lanes), (self._lanes.height, 32))

    def write(self, destination: Writer, values: NDArray[Any]) -> None:
        """Write values, `[rows, 32]` or broadcast to that shape, with `destination` (from `Operands.destination`)."""
        destination(self.wave, self._lanes, values)

    def each(self, source: Reader) -> NDArray[Any]:
        """Return the value that `source` (from `Operands.source`) reads in each active lane, in order."""
        values: NDArray[Any] = self.read(source)[self._lanes.active]
        return values

    def will_write(self, registers: Mapping[int, str]) -> None:
        """Record, for checks, that asynchronous operations of this instruction write `registers` (names by slot)."""
        self.wave.note_deferred(registers, self._lanes)

    @property
    def in_order(self) -> bool:
        """Whether asynchronous operations complete in the order of issue, neither delayed nor at random."""
        return self.wave.engine.in_order

    def part(self, make: Callable[[Wave], T]) -> T:
        """Return the object that an extension keeps for the wave: the result of `make(wave)`, called once."""
        return self.wave.part(make)

    # --- reports --------------------------------------------------------------------------------

    @property
    def pc(self) -> int:
        """Index of the instruction, for reports and observers."""
        return self.wave.pc

    @property
    def checked(self) -> bool:
        """Whether the run reports faults as findings; otherwise a fault raises an error."""
        return self.wave.machine.checked

    @property
    def observed(self) -> bool:
        """Whether any observer records accesses and asynchronous operations."""
        return self.wave.machine.observers.active

    def report(
        self, rule: str, message: str, *, other_pc: int | None = None, **details: Unpack[FindingDetails]
    ) -> None:
        """Report a finding at this instruction, in a checked run; by default, with the help text of the rule."""
        self.wave.report(rule, message, self.pc, other_pc=other_pc, **details)

    def fault(
        self,
        rule: str,
        message: str,
        help: str,
        count: int = 1,
        *,
        label: str | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        """Report an access that cannot be performed; raise MemoryFault in a run without checks."""
        fault(self.wave, rule, message, help, count, label=label, notes=notes)

    def misuse(
        self,
        rule: str,
        message: str,
        help: str,
        *,
        label: str | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        """Report an invalid operation on a barrier; raise BarrierFault in a run without checks."""
        self.wave.mbarriers.misuse(rule, message, self.pc, help, label=label, notes=notes)

    def warp_name(self, warp: int) -> str:
        """Return the name of a warp of the wave, for messages."""
        return self.wave.geometry.warp_name(warp)

    def mbarrier_name(self, offset: int) -> str:
        """Return the name of the mbarrier at an offset of shared memory, for messages."""
        return self.wave.mbarriers.name(offset)

    def thread_name(self, warp: int, lane: int) -> str:
        """Return the name of a thread, given by its warp in the wave, for messages."""
        return self.wave.geometry.thread_name(warp, lane)
