"""Accumulators stored as whole matrices, and written to the registers when asynchronous operations complete.

A matrix whose elements are in registers of several warps is computed as one array. Repeated accumulation reuses that
array, without gathering the elements from registers, while the registers have the values last written from the array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.machine.lanes import WARP, put_rows

if TYPE_CHECKING:
    from pyptx_sim.extension.deferred import Distribution
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask

__all__ = ["DeferredMatrix", "DeferredRegisters"]


class DeferredRegisters:
    """Matrices of one wave that are written to registers late (`DeferredMatrix`), by the slots of these registers."""

    __slots__ = ("_changed", "_known", "_wave")

    def __init__(self, wave: Wave) -> None:
        """Start without any matrix."""
        self._wave = wave
        self._known: dict[tuple[int, ...], DeferredMatrix] = {}
        self._changed: list[DeferredMatrix] = []
        wave.engine.when_completed(self.flush)

    def matrix(self, slots: tuple[int, ...], distribution: Distribution, warps: IntArray) -> DeferredMatrix:
        """Return the matrices in registers `slots`, one per unit (warps that share one); `warps[i]`: unit i's warps."""
        known = self._known.get(slots)
        if known is None or known.distribution is not distribution:
            self.flush()
            known = self._known[slots] = DeferredMatrix(self._wave, slots, distribution, warps)
        return known

    def set(self, matrix: DeferredMatrix, units: IntArray, values: Array) -> None:
        """Set the matrices of `units` (indices); the next `flush` writes them to the registers."""
        matrix.put(units, values)
        if not any(each is matrix for each in self._changed):
            self._changed.append(matrix)

    def flush(self) -> None:
        """Write all matrices that were set since the last `flush` to the registers of their warps."""
        for matrix in self._changed:
            matrix.flush()
        self._changed.clear()


class DeferredMatrix:
    """Matrices in one set of registers: one for each unit (warps that share one matrix) of the wave."""

    def __init__(self, wave: Wave, slots: tuple[int, ...], distribution: Distribution, warps: IntArray) -> None:
        """Start with no matrix gathered from the registers."""
        self.distribution = distribution
        self._wave = wave
        self._slots = slots
        self._warps = warps
        self._bits = np.dtype(f"<u{distribution.bits // 8}")
        self._values: Array = np.zeros((len(warps), distribution.size), self._bits)
        self._known: Mask = np.zeros(len(warps), np.bool_)
        self._changed: Mask = np.zeros(len(warps), np.bool_)
        self._registers: Array = np.zeros((len(slots), wave.height, WARP), np.uint32)
        self._written: list[Array] | None = None

    def values(self, units: IntArray) -> Array:
        """Return the matrices of `units` as raw bits, `[units, elements]`, gathered from registers if needed."""
        self._forget_stale()
        missing = units[~self._known[units]]
        if len(missing):
            self._collect(missing)
        return self._values[units]

    def put(self, units: IntArray, values: Array) -> None:
        """Set the matrices of `units` (indices of warps that share one); the registers change at the next `flush`."""
        self._forget_stale()
        self._values[units] = values.reshape(len(units), -1).view(self._bits)
        self._known[units] = self._changed[units] = True

    def flush(self) -> None:
        """Write the matrices that were set since the last `flush` to the registers of their warps."""
        units = np.flatnonzero(self._changed)
        self._changed[:] = False
        starts = np.arange(len(units)) * self.distribution.size
        index = self.distribution.elements[:, None, :, :] + starts[:, None, None]
        # indices are in range; mode "clip" avoids the check
        taken = self._values[units].reshape(-1).take(index, mode="clip")
        registers = self._current()
        put_rows(registers.reshape(-1, WARP), self._rows(units), taken.view(np.uint32).reshape(-1, WARP))
        self._registers = registers
        self._written = list(registers)
        for slot, value in zip(self._slots, self._written, strict=True):
            self._wave.registers[slot] = value

    def _forget_stale(self) -> None:
        """Discard matrices whose registers were overwritten by other instructions since the last flush."""
        if self._written is None or self._changed.any():
            return
        registers = self._wave.registers
        if any(registers[slot] is not each for slot, each in zip(self._slots, self._written, strict=True)):
            self._known[:] = False
            self._written = None

    def _current(self) -> Array:
        """Return a copy of the matrices' registers, `[registers, warps, 32]`, that the caller may change."""
        if self._written is not None:
            return self._registers.copy()
        registers = np.zeros_like(self._registers)
        for position, slot in enumerate(self._slots):
            value = self._wave.registers[slot]
            if value is not None:
                registers[position] = value.view(np.uint32)
        return registers

    def _rows(self, units: IntArray) -> IntArray:
        """Return the rows of `units` (warps that share a matrix) in a `[registers * warps, 32]` array, by register."""
        first = np.arange(len(self._slots)) * self._wave.height
        return (first[:, None] + self._warps[units].reshape(-1)).reshape(-1)

    def _collect(self, units: IntArray) -> None:
        """Gather the matrices of `units` (indices of warps that share one) from the registers of these warps."""
        elements = self.distribution.elements
        words = self._current().reshape(-1, WARP).take(self._rows(units), axis=0)
        words = words.reshape(len(self._slots), len(units), -1)
        parts = words.view(self._bits).reshape(len(self._slots), len(units), elements.shape[1], -1)
        matrices = np.empty((len(units), self.distribution.size), self._bits)
        matrices[:, elements.reshape(-1)] = parts.swapaxes(0, 1).reshape(len(units), -1)
        self._values[units] = matrices
        self._known[units] = True
