"""Instructions that only move or compute data: they propagate undefined bits of sources to results without a finding.

Every other instruction reports undefined bits in its source operands as a finding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.extension.origin import Origin
from pyptx_sim.instructions.compiling.registers import extension
from pyptx_sim.machine.undefined import shadow_dtype
from pyptx_sim.types import dtype_of, is_signed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyptx_sim.instructions.compiling.registers import Reader
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask, Spread, Unspecified
    from pyptx_sim.program.scopes import RegisterBinding

__all__ = ["Carried", "carrying", "guarding", "unchanged", "undefined_in", "unspecified"]

_NONE = np.zeros((1, 1), np.bool_)


@dataclass(frozen=True, slots=True)
class Carried:
    """Access to the undefined bits of a register that the instruction at `pc` reads or writes as `ptx_type`."""

    register: RegisterBinding
    ptx_type: str
    pc: int

    def read(self, wave: Wave, lanes: Lanes) -> Array | None:
        """Return the register's undefined bits in active lanes, `[rows, 32]` of the type's width; None without any."""
        bits = wave.undefined.bits(self.register.slot, lanes)
        if bits is None or bits.dtype == np.bool_:
            return bits
        bits = bits.astype(shadow_dtype(self._size), copy=False)
        return bits if bits.any() else None

    def leave(self, wave: Wave, lanes: Lanes, bits: Array, origin: Origin) -> None:
        """Set the undefined bits of the value that active lanes have just written to the register."""
        width = self.register.width
        if width and self._size < width:
            bits = extension(self._size, min(width, 8), signed=is_signed(self.ptx_type))(bits)
        wave.undefined.leave(self.register.slot, lanes, bits.view(shadow_dtype(width)), origin)

    def spoil(self, wave: Wave, lanes: Lanes, where: Array, origin: Origin) -> None:
        """Mark all bits of the register as undefined in lanes `where`, `[rows, 32]`; keep other undefined bits."""
        slot, kind = self.register.slot, shadow_dtype(self.register.width)
        known = wave.undefined.bits(slot, lanes)
        bits: Array = np.where(where, ~np.zeros(1, kind), np.zeros(1, kind))
        wave.undefined.leave(slot, lanes, bits if known is None else bits | known, origin)

    def all_bits(self, where: Mask) -> Array:
        """Return, per lane, a mask with all bits of the type's width set if `where` is true for the lane, else 0."""
        kind = shadow_dtype(self._size)
        bits: Array = np.where(where, ~np.zeros(1, kind), np.zeros(1, kind))
        return bits

    def used(self, wave: Wave, lanes: Lanes) -> None:
        """Report a use of the register's value in the active lanes where it is undefined."""
        low = 8 * self._size if self._size < self.register.width else 0
        wave.undefined.used(self.register.slot, self.register.name, lanes, low)

    def origin(self, wave: Wave) -> Origin:
        """Return the origin of the register's undefined bits."""
        return wave.undefined.origin(self.register.slot, self.register.name, self.pc)

    @property
    def _size(self) -> int:
        return dtype_of(self.ptx_type).itemsize


def unchanged(_values: Sequence[Array], bits: Sequence[Array | None], _mask: Mask) -> Sequence[Array]:
    """Propagate the undefined bits of each source to the result with the same index; for the `spread` of `carrying`."""
    return [_NONE if each is None else each for each in bits]


def carrying(
    step: Action,
    sources: Sequence[Carried | None],
    readers: Sequence[Reader],
    results: Sequence[Carried | None],
    spread: Spread,
) -> Action:
    """Wrap a compiled instruction: also propagate undefined bits from sources to results (None: not a register)."""
    slots = frozenset(each.register.slot for each in sources if each is not None)

    def run(wave: Wave, lanes: Lanes) -> None:
        undefined = wave.undefined
        if not undefined or slots.isdisjoint(undefined):
            step(wave, lanes)
            return
        found = undefined_in(wave, lanes, sources)
        if found is None:
            step(wave, lanes)
            return
        bits, origin = found
        spreading = spread([read(wave, lanes) for read in readers], bits, lanes.full_mask)
        step(wave, lanes)
        for result, each in zip(results, spreading, strict=False):
            if result is not None and each.any():
                result.leave(wave, lanes, each, origin)

    return run


def undefined_in(
    wave: Wave, lanes: Lanes, sources: Sequence[Carried | None]
) -> tuple[list[Array | None], Origin] | None:
    """Return the sources' undefined bits in active lanes, and the first undefined source's origin (None: none)."""
    slots = tuple([each.register.slot for each in sources if each is not None])
    if wave.undefined.misses(slots, lanes):
        return None
    bits = [None if each is None else each.read(wave, lanes) for each in sources]
    for source, each in zip(sources, bits, strict=True):
        if source is not None and each is not None:
            return bits, source.origin(wave)
    return None


def unspecified(
    step: Action,
    cause: Unspecified,
    sources: Sequence[Carried | None],
    readers: Sequence[Reader],
    results: Sequence[Carried],
) -> Action:
    """Wrap a compiled instruction: its results are also undefined in lanes whose inputs `cause` selects."""

    def run(wave: Wave, lanes: Lanes) -> None:
        where = cause.where(*[read(wave, lanes) for read in readers]) & lanes.full_mask
        found = undefined_in(wave, lanes, sources) if where.any() else None
        if found is not None:  # results of an undefined source get the origin of the source, not `cause`
            where &= ~np.logical_or.reduce([each != 0 for each in found[0] if each is not None])
        step(wave, lanes)
        for each in results if where.any() else ():
            each.spoil(wave, lanes, where, Origin("undefined-value", cause.what, each.pc, cause.help))

    return run


def guarding(guarded: Action, guard: Carried, results: Iterable[Carried]) -> Action:
    """Wrap a predicated instruction that only writes registers: an undefined predicate makes `results` undefined."""
    written = tuple(results)

    def run(wave: Wave, lanes: Lanes) -> None:
        unknown = guard.read(wave, lanes) if guard.register.slot in wave.undefined else None
        if unknown is None:
            guarded(wave, lanes)
            return
        origin = guard.origin(wave)
        guarded(wave, lanes)
        for each in written:
            each.spoil(wave, lanes, unknown, origin)

    return run
