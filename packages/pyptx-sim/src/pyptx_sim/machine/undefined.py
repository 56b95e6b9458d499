"""Undefined bits of registers, and their origins.

A read of a register or of memory that was never written gives undefined bits. This is not a fault: the program may mask
them or select other bits. It is a fault if an address, a branch, or a value visible to other threads depends on
them. Until then undefined bits propagate from register to register and through memory (`Arena`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.extension.origin import Origin
from pyptx_sim.machine.lanes import merged
from pyptx_sim.types import bits_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask
    from pyptx_sim.program.scopes import RegisterBinding
    from pyptx_sim.types import DType

__all__ = ["NOT_WRITTEN", "Origin", "Undefined", "UndefinedRegisters"]


@dataclass(frozen=True)
class Undefined:
    """Undefined bits of a register, `[height|1, 32|1]` of its width, and their origin (None: never written)."""

    bits: Array
    origin: Origin | None

    @cached_property
    def somewhere(self) -> Mask:
        """Whether each warp has undefined bits, `[height|1]`: often only warps that never read the register do."""
        return np.asarray(self.bits.any(axis=1))


def shadow_dtype(width: int) -> DType:
    """Return the dtype of the mask of undefined bits of a register of `width` bytes (0: a predicate).

    For a register of 128 bits, each bit represents two adjacent bits (`machine.memory.paired_bits`).
    """
    return bits_dtype(min(width, 8)) if width else np.dtype(np.bool_)


NOT_WRITTEN: Final = "write the memory first: shared memory, local memory and new outputs have undefined contents"
_OF_ADDRESSES: Final = ("out-of-bounds", "misaligned")  # consequences of an undefined address
_UNINITIALIZED: Final = "use of uninitialized register"


class UndefinedRegisters(dict[int, Undefined]):
    """Undefined bits of a wave's registers, by register slot; registers with all bits defined have no entry."""

    __slots__ = ("_missed", "_wave")

    def __init__(self, wave: Wave, registers: Mapping[int, RegisterBinding]) -> None:
        """Start with all bits undefined in `registers`, which the program may read before it has written them."""
        super().__init__()
        self._wave = wave
        # cached results of `misses`, until the next write of a register
        self._missed: dict[tuple[tuple[int, ...], bytes | None], bool] = {}
        kinds = {slot: shadow_dtype(register.width) for slot, register in registers.items()}
        unknown = {
            kind: Undefined(np.broadcast_to(~np.zeros((1, 1), kind), (wave.height, 32)), None)
            for kind in set(kinds.values())
        }
        self.update({slot: unknown[kind] for slot, kind in kinds.items()})

    def bits(self, slot: int, lanes: Lanes) -> Array | None:
        """Return the undefined bits of a register in the active lanes, `[rows, 32]`; None if there are none."""
        known = self.get(slot)
        if known is None or not lanes.select(known.somewhere).any():
            return None
        bits = np.where(lanes.full_mask, lanes.select(known.bits), known.bits.dtype.type(0))
        return bits if bits.any() else None

    def misses(self, slots: tuple[int, ...], lanes: Lanes) -> bool:
        """Return True if no warp of `lanes` has undefined bits in these registers; False is inconclusive."""
        key = slots, None if lanes.rows is None else lanes.rows.tobytes()
        missed = self._missed.get(key)
        if missed is None:
            known = (self.get(slot) for slot in slots)
            missed = not any(each is not None and lanes.select(each.somewhere).any() for each in known)
            self._missed[key] = missed
        return missed

    def define(self, slot: int, lanes: Lanes) -> None:
        """Record that the active lanes write all bits of a register."""
        known = self[slot]
        self._missed.clear()
        if lanes.whole:
            del self[slot]
            return
        if not lanes.select(known.somewhere).any():
            return
        bits = merged(known.bits, np.zeros((1, 1), known.bits.dtype), lanes, self._wave.height)
        if self._is_held(bits):
            self[slot] = Undefined(bits, known.origin)
        else:
            del self[slot]

    def _is_held(self, bits: Array) -> bool:
        """Return whether the mask `bits` of undefined bits is nonzero in any live lane."""
        return bool(((bits != 0) & self._wave.live).any())

    def leave(self, slot: int, lanes: Lanes, bits: Array, origin: Origin | None) -> None:
        """Record that `bits` of the value just written by the active lanes to a register are undefined."""
        self._missed.clear()
        known = self.get(slot)
        before = np.zeros((1, 1), bits.dtype) if known is None else known.bits
        everywhere = np.broadcast_to(bits, (lanes.height, 32))
        self[slot] = Undefined(merged(before, everywhere, lanes, self._wave.height), origin)

    def origin(self, slot: int, name: str, pc: int) -> Origin:
        """Return the origin of the undefined bits of a register that is read at `pc`."""
        known = self[slot].origin
        if known is not None:
            return known
        return Origin("uninitialized-register", name, pc, _help(name), label="read", fault=_UNINITIALIZED)

    def used(self, slot: int, name: str, lanes: Lanes, low: int = 0) -> None:
        """Report a use of a register's value, in the active lanes in which it is undefined.

        `low`: only this many low bits are used (0: all bits).
        """
        bits = self.bits(slot, lanes)
        if bits is None:
            return
        matters = (bits if not low else bits & bits.dtype.type((1 << low) - 1)) != 0
        if matters.any():
            self._report(slot, name, lanes, matters)

    def report_held(self) -> None:
        """Report undefined values in registers after a deadlock; they may be its cause."""
        held = (known for known in self.values() if known.origin is not None and self._is_held(known.bits))
        for origin in {known.origin: None for known in held if known.origin is not None}:
            cause = (origin.pc, origin.rule)
            self._wave.report(
                origin.rule,
                origin.message,
                origin.pc,
                label=origin.label,
                notes=origin.notes,
                help=origin.help,
                cause=cause,
            )

    def _report(self, slot: int, name: str, lanes: Lanes, where: Mask) -> None:
        wave, origin = self._wave, self[slot].origin
        thread = first_thread(wave, lanes, where)
        count = int(np.count_nonzero(where))
        if origin is None:
            text, cause = f"{_UNINITIALIZED} {name}", (slot, None)
            label, rule = f"used by {thread}", "uninitialized-register"
            follow_ups = [(wave.pc, each) for each in _OF_ADDRESSES]
            wave.report(
                *(rule, text, wave.pc), label=label, help=_help(name), count=count, cause=cause, follow_ups=follow_ups
            )
            return
        wave.report(
            origin.rule,
            f"{origin.fault}: {name} depends on {origin.what}",
            wave.pc,
            other_pc=origin.pc,
            label=f"used by {thread}",
            other_label=origin.label,
            notes=origin.notes,
            help=origin.help,
            count=count,
            cause=(origin.pc, origin.rule),
            follow_ups=[(wave.pc, each) for each in _OF_ADDRESSES],
        )


def _help(register: str) -> str:
    return f"initialize {register} on every path to this line"


def first_thread(wave: Wave, lanes: Lanes, where: Mask) -> str:
    """Return the name, for messages, of the first thread for which `where`, `[rows, 32]`, is true."""
    row, lane = (int(part[0]) for part in np.nonzero(where))
    warp = row if lanes.rows is None else int(lanes.rows[row])
    return wave.geometry.thread_name(warp, lane)
