"""The sums of warpgroup products: as matrices while products complete, and distributed to registers when they have.

A chain of products adds to one matrix, which is distributed once, when the last one of a batch has completed. As long
as the registers hold what was distributed to them, the next product goes on with the matrix, and nothing is collected.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.extension import WARPGROUP
from pyptx_sim.machine.lanes import WARP, IntArray
from pyptx_sim.numerics.elements import elements_of

if TYPE_CHECKING:
    from pyptx_ir.fragments import Fragment
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask

_THREADS = WARPGROUP * WARP
_ROWS = 64


class Accumulators:
    """The sums of one wave, by the registers that hold them."""

    __slots__ = ("_banks", "_dirty", "_wave")

    def __init__(self, wave: Wave) -> None:
        """Begin without any."""
        self._wave = wave
        self._banks: dict[tuple[int, ...], Bank] = {}
        self._dirty: list[Bank] = []
        wave.engine.when_completed(self.distribute)

    def bank(self, slots: tuple[int, ...], fragment: Fragment, columns: int) -> Bank:
        """Return the sums that lie in registers `slots`; `fragment` and `columns` say how."""
        known = self._banks.get(slots)
        if known is None or known.columns != columns:
            self.distribute()
            known = self._banks[slots] = Bank(self._wave, slots, fragment, columns)
        return known

    def change(self, bank: Bank, groups: IntArray, sums: Array) -> None:
        """Set the sums of some warpgroups; their registers follow with `distribute`."""
        bank.put(groups, sums)
        if not any(each is bank for each in self._dirty):
            self._dirty.append(bank)

    def distribute(self) -> None:
        """Distribute all changed sums to registers."""
        for bank in self._dirty:
            bank.distribute()
        self._dirty.clear()


class Bank:
    """The sums in one set of registers: a matrix `[64, columns]` for each warpgroup of the wave."""

    def __init__(self, wave: Wave, slots: tuple[int, ...], fragment: Fragment, columns: int) -> None:
        """Know nothing of what the registers hold."""
        self.columns = columns
        self._wave = wave
        self._slots = slots
        self._bits = np.dtype(f"<u{fragment.bits // 8}")
        self._places = distribution(fragment, columns)
        groups = wave.geometry.warpgroups
        self._sums: Array = np.zeros((groups.count, _ROWS * columns), self._bits)
        self._known: Mask = np.zeros(groups.count, np.bool_)
        self._changed: Mask = np.zeros(groups.count, np.bool_)
        self._registers: Array = np.zeros((len(slots), wave.height, WARP), np.uint32)
        self._distributed: list[Array] | None = None

    def sums(self, groups: IntArray) -> Array:
        """Return the sums of some warpgroups as raw elements, `[groups, 64, columns]`."""
        self._forget_stale()
        missing = groups[~self._known[groups]]
        if len(missing):
            self._collect(missing)
        return self._sums[groups].reshape(len(groups), _ROWS, self.columns)

    def put(self, groups: IntArray, sums: Array) -> None:
        """Set the sums of some warpgroups."""
        self._forget_stale()
        self._sums[groups] = sums.reshape(len(groups), -1).view(self._bits)
        self._known[groups] = self._changed[groups] = True

    def distribute(self) -> None:
        """Write what has changed to the registers."""
        groups = np.flatnonzero(self._changed)
        self._changed[:] = False
        places = self._places
        starts = np.arange(len(groups)) * self._sums.shape[1]
        index = places[:, None, :, :] + starts[:, None, None]
        taken = self._sums[groups].reshape(-1).take(index, mode="clip")  # all are in range; "raise" would look first
        words = taken.view(np.uint32).reshape(len(self._slots), len(groups) * WARPGROUP, WARP)
        registers = self._current()
        registers[:, self._wave.geometry.warpgroups.warps[groups].reshape(-1)] = words
        self._registers = registers
        self._distributed = list(registers)
        for slot, value in zip(self._slots, self._distributed, strict=True):
            self._wave.registers[slot] = value

    def _forget_stale(self) -> None:
        """Forget sums whose registers something else has written since they were distributed."""
        if self._distributed is None or self._changed.any():
            return
        registers = self._wave.registers
        known = zip(self._slots, self._distributed, strict=True)
        if any(registers[slot] is not each for slot, each in known):
            self._known[:] = False
            self._distributed = None

    def _current(self) -> Array:
        """Return all registers of the bank, `[registers, warps, 32]`, the caller's own."""
        if self._distributed is not None:
            return self._registers.copy()
        registers = np.zeros_like(self._registers)
        for position, slot in enumerate(self._slots):
            value = self._wave.registers[slot]
            if value is not None:
                registers[position] = value.view(np.uint32)
        return registers

    def _collect(self, groups: IntArray) -> None:
        """Read the sums of some warpgroups out of the registers."""
        warps = self._wave.geometry.warpgroups.warps[groups].reshape(-1)
        words = self._current()[:, warps].reshape(len(self._slots), len(groups), _THREADS)
        elements = words.view(self._bits).reshape(len(self._slots), len(groups), _THREADS, -1)
        matrices = np.empty((len(groups), self._sums.shape[1]), self._bits)
        matrices[:, self._places.reshape(-1)] = elements.swapaxes(0, 1).reshape(len(groups), -1)
        self._sums[groups] = matrices
        self._known[groups] = True


@lru_cache(maxsize=64)
def distribution(fragment: Fragment, columns: int) -> IntArray:
    """Return the element of a matrix `[64, columns]` at each place: `[registers, threads, elements in a register]`.

    A layout with more columns than that has its first registers for them.
    """
    rows, places = np.divmod(elements_of(fragment), fragment.columns)
    kept = _ROWS * columns // _THREADS // fragment.packed
    ordered: IntArray = (rows * columns + places)[:kept]
    return ordered
