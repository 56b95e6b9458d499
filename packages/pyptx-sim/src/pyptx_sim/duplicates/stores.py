"""Compare the value numbers of racing stores' values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pyptx_sim.events import PC
from pyptx_sim.observer import Observer
from pyptx_sim.shadow.sparse import zeros

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pyptx_sim.duplicates.numbers import Numbers
    from pyptx_sim.duplicates.store_sites import StoreSite
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.machine import Machine
    from pyptx_sim.machine.scheduling.code import Action, Block
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.observer import AccessKind, Offsets, Space, Stores
    from pyptx_sim.rules.reports import Race

__all__ = ["Relation", "StoreRelation", "StoredNumbers"]


class Relation:
    """Relation of the values of two racing stores, from benign to harmful; no Enum, for the reason of `State`."""

    EQUAL: Final = 0
    """The same instructions compute both stored values from the same inputs."""
    ROUNDED: Final = 1
    """Both stored values are equal in exact arithmetic."""
    UNKNOWN: Final = 2
    """One stored value has unknown inputs, or both stored values depend on the same inputs in different ways."""
    DIFFERENT: Final = 3
    """The two stored values depend on different inputs."""


@dataclass(slots=True)
class StoreRelation:
    """Worst relation of the values of two racing store instructions, and their greatest difference in ulp."""

    copies: int = Relation.EQUAL
    ulps: int = 0


@dataclass(slots=True)
class _Units:
    """Last store to each unit of a memory: its value numbers and pc. A unit has the size of the smallest store."""

    strict: Numbers
    exact: Numbers
    opaque: NDArray[np.bool_]
    leaves: Numbers
    pc: NDArray[np.int32]

    @classmethod
    def fresh(cls, count: int) -> _Units:
        """Return the records of `count` memory units (see `_Units`) to which no instruction has stored."""
        strict, exact, leaves = (zeros(count, np.uint64) for _ in range(3))
        return cls(strict, exact, zeros(count, np.bool_), leaves, zeros(count, np.int32))


class StoredNumbers(Observer):
    """Observer that compares the value numbers of racing stores; it must observe accesses after the race checker."""

    def __init__(self, machine: Machine, sites: Mapping[int, StoreSite]) -> None:
        """Observe the stores of `machine` at the pcs in `sites`."""
        self.verdicts: dict[tuple[str, int, int], StoreRelation] = {}
        self._machine, self._sites = machine, sites
        self._unit = min((site.size for site in sites.values()), default=1)
        self._memories: dict[Space, _Units] = {}
        self._now: tuple[NDArray[Any], ...] | None = None

    # --- instrumented code ----------------------------------------------------------------------

    def around(self, block: Block) -> Block:
        """Return a basic block whose stores also compute the value numbers of the stored values."""
        return replace(block, steps=tuple((pc, self._numbered(pc, action)) for pc, action in block.steps))

    def _numbered(self, pc: int, action: Action) -> Action:
        """Return a function that computes the value numbers of a store's values, then executes the store."""
        site = self._sites.get(pc)
        if site is None:
            return action

        def step(wave: Wave, lanes: Lanes) -> None:
            self._now = site.numbers(wave, lanes)
            action(wave, lanes)
            self._now = None

        return step

    # --- events ---------------------------------------------------------------------------------

    def wave_started(self) -> None:
        """Discard the records of stores to memory that belongs to CTAs that have exited."""
        for space in tuple(self._memories):
            if space != "global":
                del self._memories[space]

    def access(
        self, space: Space, kind: AccessKind, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int
    ) -> None:
        """Record the value numbers of stores at `sites`; discard those of memory that other instructions write."""
        if kind not in {"write", "atomic"}:
            return
        stored = self._now if kind == "write" and pc in self._sites else None
        if stored is None and space not in self._memories:
            return
        units = self._of(space)
        first = offsets // self._unit
        for further in range(-(-size // self._unit)):
            at = first + further
            if stored is None:
                units.pc[at] = -1
                continue
            planes = (units.strict, units.exact, units.opaque, units.leaves)
            for plane, each in zip(planes, stored, strict=True):
                plane[at] = each[warps, lanes]
            units.pc[at] = pc

    def _of(self, space: Space) -> _Units:
        known = self._memories.get(space)
        if known is None:
            count = len(self._machine.arena(space).data) // self._unit + 1
            known = self._memories[space] = _Units.fresh(count)
        return known

    # --- races ----------------------------------------------------------------------------------

    def race(self, race: Race) -> None:
        """Compare the values of a race's later stores with those of its earlier stores."""
        step, last, now = race.step, race.last, self._now
        for other_pc in np.unique(last[:, PC]).tolist():
            key = (race.rule, step.pc, int(other_pc))
            verdict = self.verdicts.setdefault(key, StoreRelation())
            here = np.flatnonzero(last[:, PC] == other_pc)
            if {step.pc, other_pc} - self._sites.keys() or step.stores is None or now is None:
                verdict.copies = Relation.DIFFERENT
            else:
                self._compare(race, step.stores, now, here, verdict)

    def _compare(
        self,
        race: Race,
        stores: Stores,
        now: tuple[NDArray[Any], ...],
        some: NDArray[np.int64],
        verdict: StoreRelation,
    ) -> None:
        step, bad = race.step, race.bad[some]
        at = stores.addressed_by(bad // step.granules)
        own, mine = [each[at] for each in now], stores.bytes_of(bad // step.granules)
        if race.within is not None:
            others = race.within[some] // step.granules
            at = stores.addressed_by(others)
            other, theirs, known = [each[at] for each in now], stores.bytes_of(others), np.ones(len(some), np.bool_)
        else:
            units, offsets = self._of(step.space), step.at[bad] * race.granule
            unit, size = offsets // self._unit, mine.shape[1]
            other = [units.strict[unit], units.exact[unit], units.opaque[unit], units.leaves[unit]]
            known = units.pc[unit] == race.last[some, PC]
            theirs = self._machine.arena(step.space).data[(offsets // size * size)[:, None] + np.arange(size)]
        same = (mine == theirs).all(axis=1)
        unknown = own[2] | other[2] | (own[3] == other[3])
        copies = np.where(own[1] == other[1], Relation.ROUNDED, np.where(unknown, Relation.UNKNOWN, Relation.DIFFERENT))
        copies = np.where(own[0] == other[0], np.where(same, Relation.EQUAL, Relation.UNKNOWN), copies)
        copies = np.where(known, copies, Relation.UNKNOWN)
        verdict.copies = max(verdict.copies, int(copies.max()))
        rounded = copies == Relation.ROUNDED
        if rounded.any():
            element = self._sites[step.pc].element
            verdict.ulps = max(verdict.ulps, _ulps(mine[rounded], theirs[rounded], element))


_ORDERED: Final = frozenset({1, 2, 4, 8})


def _ulps(some: NDArray[np.uint8], others: NDArray[np.uint8], element: int) -> int:
    """Return the greatest difference in ulp between `some` and `others`: float bits are ordered like the magnitudes."""
    kind = np.dtype(f"<i{element if element in _ORDERED else 8}")
    lowest = -(1 << 8 * kind.itemsize - 1)

    def ordinals(values: NDArray[np.uint8]) -> NDArray[np.int64]:
        bits = np.ascontiguousarray(values).view(kind).astype(np.int64)
        return np.where(bits < 0, lowest - bits, bits)

    return int(np.abs(ordinals(some) - ordinals(others)).max())
