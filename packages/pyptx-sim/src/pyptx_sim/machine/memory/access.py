"""Memory accesses: translation from addresses to arena offsets, with all checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyptx_ir.isa.modules.counting import counted
from pyptx_sim.errors import MemoryFault, fault_text
from pyptx_sim.machine.lanes import WARP, pick, spread
from pyptx_sim.machine.memory.stores import PendingStores
from pyptx_sim.machine.reports.wait_reports import why_early
from pyptx_sim.machine.undefined import NOT_WRITTEN, Origin
from pyptx_sim.program.program import ALL_BYTES
from pyptx_sim.program.windows import GLOBAL_WINDOW, SHARED_BASE, WINDOWS, memory_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.memory.row_lanes import RowLanes
    from pyptx_sim.machine.memory.spaces import SpaceMemory
    from pyptx_sim.machine.memory.variables import Within
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.observer import AccessKind, Order
    from pyptx_sim.operation import Array, Mask
    from pyptx_sim.types import DType

_BY_UPPER_HALF = {WINDOWS[space] >> 32: space for space in ("shared", "local", "const", "param")}


@dataclass(frozen=True, slots=True)
class LaneOffsets:
    """Arena offsets that an instruction accesses, for the lanes with valid accesses.

    Dense: `offsets` is `[rows|1, 32|1]`, for every executing lane; `positions` and `columns` are None. Sparse: one
    entry per lane; `offsets[i]` is of lane `columns[i]` in row (warp) `positions[i]`.
    """

    offsets: IntArray
    positions: IntArray | None = None
    columns: IntArray | None = None

    def pick(self, values: Array) -> Array:
        """Return the elements of a `[rows|1, 32|1]` array for the lanes that have an arena offset in this object."""
        if self.positions is None or self.columns is None:
            return values
        return pick(values, self.positions, self.columns)

    def of_threads(self, lanes: Lanes) -> tuple[IntArray, IntArray, IntArray]:
        """Return one offset per lane with a valid access, with the warp and the lane of each offset."""
        if self.positions is None or self.columns is None:
            (positions, columns), offsets, shape = lanes.active, self.offsets, (lanes.height, WARP)
            if offsets.shape != shape:
                offsets = np.broadcast_to(offsets, shape)
            return np.ascontiguousarray(offsets).reshape(-1), lanes.warps(positions), columns
        return self.offsets, lanes.warps(self.positions), self.columns

    def seen(self, hidden: Mask, values: list[Array], lanes: Lanes) -> tuple[LaneOffsets, list[Array]]:
        """Return offsets and `values` of the stores that are not `hidden` (a mask in the order of `of_threads`)."""
        offsets, _, _ = self.of_threads(lanes)
        positions, columns = (
            lanes.active if self.positions is None or self.columns is None else (self.positions, self.columns)
        )
        if self.positions is None:
            values = [pick(value, positions, columns) for value in values]
        return LaneOffsets(offsets[~hidden], positions[~hidden], columns[~hidden]), [value[~hidden] for value in values]

    def spread(self, values: Array, height: int) -> Array:
        """Return values read at these offsets as `[height, 32]`; lanes without an offset get zero."""
        if self.positions is None or self.columns is None:
            return values
        return spread(values, self.positions, self.columns, height)


@dataclass(frozen=True, slots=True)
class Access:
    """Memory access of an instruction: `size` bytes at each lane's address, which must be a multiple of `size`.

    `strong`: the access is strong. `used`: mask of the read bytes that the program uses. `alignment`: required
    alignment, if it differs from the size. `order`: memory ordering of a strong access. `noncoherent`: the access reads
    memory that must be read-only. `within`: variable that the addresses are formed from, in a checked run, if known.
    `rows`: lanes that access the bytes at an address, if addresses are of matrix rows (`ldmatrix`).
    """

    kind: AccessKind
    size: int
    strong: bool = False
    used: int = ALL_BYTES
    alignment: int = 0
    order: Order | None = None
    noncoherent: bool = False
    within: Within | None = None
    rows: RowLanes | None = None

    def places(self, wave: Wave, lanes: Lanes, memory: SpaceMemory, addresses: IntArray) -> LaneOffsets | None:
        """Return the arena offsets that the lanes access at `addresses`; None if no access is valid.

        A checked run reports invalid accesses as findings and omits their lanes; other runs raise MemoryFault.
        """
        checked = wave.machine.checked
        uniform_read = addresses.size == 1 and self.kind == "read" and not checked
        if (lanes.mask is None or uniform_read) and self._sound(memory, addresses):
            return LaneOffsets(memory.flat(addresses, lanes))
        positions, columns = lanes.active
        picked = pick(addresses, positions, columns)
        if not self._sound(memory, picked):
            if self.within is not None:
                self.within.report(wave, lanes, memory, addresses)
            sound = self._report(wave, lanes, memory, picked)
            if not sound.all():
                positions, columns, picked = positions[sound], columns[sound], picked[sound]
            if not len(picked):
                return None
        return LaneOffsets(memory.flat_at(picked, lanes.warps(positions), columns), positions, columns)

    def _sound(self, memory: SpaceMemory, addresses: IntArray) -> bool:
        low, high = int(addresses.min()), int(addresses.max())
        if not memory.holds(low, high + self.size):
            return False
        if self.within is not None and self.within.left(memory, addresses, low, high):
            return False
        low_bits = (self.alignment or self.size) - 1
        return not low_bits or not int(np.bitwise_or.reduce(addresses, axis=None)) & low_bits

    def _report(self, wave: Wave, lanes: Lanes, memory: SpaceMemory, picked: IntArray) -> Mask:
        """Report invalid addresses in `picked`, one per active lane; return a mask of the valid addresses."""
        alignment = self.alignment or self.size
        outside = memory.outside(picked, self.size)
        misaligned = (picked & (alignment - 1)) != 0
        verb = self._verb()
        what = f"{memory.space} {verb} of {counted(self.size, 'byte')}"
        for rule, bad, message, help in (
            (
                "out-of-bounds",
                outside,
                f"invalid {what}: ",
                "check the index against the array's size, or predicate the access",
            ),
            ("misaligned", misaligned & ~outside, f"misaligned {what} at ", f"align the address to {alignment} bytes"),
        ):
            if not bad.any():
                continue
            first = int(bad.argmax())
            positions, columns = lanes.active
            thread = wave.geometry.thread_name(int(lanes.warps(positions[[first]])[0]), int(columns[first]))
            address = int(picked[first])
            count = int(np.count_nonzero(bad))
            fault(wave, rule, message + memory.describe(address), help, count, label=f"{verb} by {thread}")
        sound: Mask = ~(outside | misaligned)
        return sound

    def _verb(self) -> str:
        return self.kind if self.kind in {"read", "write"} else "atomic update"

    def before(
        self, wave: Wave, lanes: Lanes, memory: SpaceMemory, places: LaneOffsets, values: Sequence[Array] | None = None
    ) -> None:
        """Check that read bytes are defined; notify observers of a read, or a write of `values`, before the access."""
        if self.kind != "write":
            self.check_initialized(wave, lanes, memory, places)
        self.tell(wave, lanes, memory, places, values)

    def tell(
        self, wave: Wave, lanes: Lanes, memory: SpaceMemory, places: LaneOffsets, values: Sequence[Array] | None = None
    ) -> None:
        """Notify observers, before the access, of a read or of a write of `values`."""
        machine = wave.machine
        if not machine.observers.active or not memory.observed:
            return
        offsets, warps, columns = places.of_threads(lanes)
        kind: AccessKind = self.kind
        if self.strong:
            kind = "strong-read" if kind == "read" else "atomic"
        if values is not None:
            height = lanes.height if places.positions is None else None
            machine.observers.storing(PendingStores(memory.arena, offsets, values, height, warps, columns))
        if self.rows is not None:
            machine.observers.rows(self.rows)
        if self.noncoherent:
            machine.observers.noncoherent()
        if self.order is not None:
            machine.observers.strong(self.order, memory.space, offsets, self.size, warps, columns, wave.pc)
        machine.observers.access(memory.space, kind, offsets, self.size, warps, columns, wave.pc)

    def gather(
        self, wave: Wave, lanes: Lanes, memory: SpaceMemory, places: LaneOffsets, dtype: DType, count: int
    ) -> list[Array]:
        """Read `count` elements at each offset and notify observers; in weak memory, reads may return older values."""
        past, before = wave.machine.past, None
        if past is not None and memory.observed:
            offsets, warps, columns = places.of_threads(lanes)
            before = past.look(memory.space, offsets, self.size, warps, columns)
        if wave.machine.checked:
            self.tell(wave, lanes, memory, places)
        if not before:
            return memory.arena.gather(places.offsets, dtype, count)
        wave.version += 1  # polling threads must read again to get the newer values
        with memory.arena.holding(before):
            return memory.arena.gather(places.offsets, dtype, count)

    def hidden(self, wave: Wave, lanes: Lanes, memory: SpaceMemory, places: LaneOffsets) -> Mask | None:
        """Return which stores, ordered as in `of_threads`, will be invisible to all reads (weak memory); None: none."""
        past = wave.machine.past
        if past is None or not memory.observed:
            return None
        offsets, warps, columns = places.of_threads(lanes)
        return past.place(memory.space, offsets, self.size, warps, columns)

    def check_initialized(self, wave: Wave, lanes: Lanes, memory: SpaceMemory, places: LaneOffsets) -> None:
        """Report a read of undefined bytes that the program uses."""
        arena = memory.arena
        if self.used == ALL_BYTES:
            known = arena.written(places.offsets, self.size)
        else:
            known = arena.written_in(places.offsets, [byte for byte in range(self.size) if self.used >> byte & 1])
        if known is not None and not known.all():
            self.report_undefined(wave, lanes, memory, places, ~known)

    def report_undefined(
        self, wave: Wave, lanes: Lanes, memory: SpaceMemory, places: LaneOffsets, missing: Mask
    ) -> None:
        """Report a read of undefined bytes; `missing` masks the offsets in `places` with undefined bytes."""
        origin = self.origin(wave, lanes, memory, places, missing)
        if places.positions is None:
            missing = np.broadcast_to(missing, (lanes.height, WARP))
        other = None if origin.pc == wave.pc else origin.pc
        count = int(np.count_nonzero(missing))
        wave.report(
            origin.rule,
            origin.message,
            wave.pc,
            other_pc=other,
            label=origin.label if other is None else None,
            other_label=None if other is None else origin.label,
            notes=origin.notes,
            help=origin.help,
            count=count,
        )

    def origin(self, wave: Wave, lanes: Lanes, memory: SpaceMemory, places: LaneOffsets, missing: Mask) -> Origin:
        """Return the origin of the undefined bytes at the first offset that the mask `missing` selects."""
        if places.positions is None or places.columns is None:
            shape = (lanes.height, WARP)
            row, lane = (int(part[0]) for part in np.nonzero(np.broadcast_to(missing, shape)))
            offset = int(np.broadcast_to(places.offsets, shape)[row, lane])
        else:
            first = int(missing.argmax())
            row, lane, offset = int(places.positions[first]), int(places.columns[first]), int(places.offsets[first])
        stored = memory.arena.origin(offset)
        if stored is not None:
            return stored
        warp = int(lanes.warps(np.array([row]))[0])
        why = why_early(wave, warp) if memory.space == "shared" else None
        # A `used_bytes_mask` pragma states which bytes the program uses: such bytes are not padding.
        copied = memory.space == "local" and self.used == ALL_BYTES
        padding = copied and memory.arena.defines_some(offset, self.size)
        return Origin(
            "uninitialized-memory",
            f"{counted(self.size, 'byte')} at {memory.describe_offset(offset)}",
            wave.pc,
            NOT_WRITTEN,
            padding,
            label=f"{self._verb()} by {wave.geometry.thread_name(warp, lane)}",
            fault=f"use of uninitialized {memory_name(memory.space)}",
            notes=() if why is None else (why,),
        )


def fault(
    wave: Wave,
    rule: str,
    message: str,
    help: str,
    count: int,
    *,
    label: str | None = None,
    notes: tuple[str, ...] = (),
) -> None:
    """Report a faulting access, or raise MemoryFault in a run without checks."""
    machine = wave.machine
    if machine.checked:
        machine.log.report(rule, message, wave.pc, label=label, notes=notes, help=help, count=count)
        return
    raise MemoryFault(fault_text(rule, message, label, notes), where=machine.where(wave.pc), help=help)


def by_space(
    wave: Wave, lanes: Lanes, addresses: IntArray, *, shared: bool = False
) -> Iterator[tuple[SpaceMemory, Lanes, IntArray]]:
    """Yield, per state space: its memory, the lanes whose generic addresses are in it, and their addresses in it.

    `shared`: the instruction uses the lower half of a generic address as a shared address.
    """
    known = addresses if lanes.mask is None or addresses.size == 1 else pick(addresses, *lanes.active)
    low, high = int(known.min()), int(known.max())
    if low >= GLOBAL_WINDOW:
        yield wave.memories["global"], lanes, addresses - GLOBAL_WINDOW
        return
    if low >> 32 == high >> 32 and low >> 32 in _BY_UPPER_HALF:
        space = _BY_UPPER_HALF[low >> 32]
        yield wave.memories[space], lanes, addresses - WINDOWS[space]
        return
    upper = np.where(addresses >= GLOBAL_WINDOW, GLOBAL_WINDOW >> 32, addresses >> 32)
    for half, space in ((GLOBAL_WINDOW >> 32, "global"), *_BY_UPPER_HALF.items()):
        part = lanes.narrowed(upper == half)
        if part is not None:
            yield wave.memories[space], part, addresses - WINDOWS[space]
    known_windows = np.isin(upper, (GLOBAL_WINDOW >> 32, *_BY_UPPER_HALF))
    if shared:
        unconverted = (upper == 0) & (addresses >= SHARED_BASE)
        part = lanes.narrowed(unconverted)
        if part is not None:
            _report_unconverted(wave, part, addresses)
            yield wave.memories["shared"], part, addresses
        known_windows |= unconverted
    nowhere = lanes.narrowed(~known_windows)
    if nowhere is not None:
        _report_nowhere(wave, nowhere, addresses)


def _report_unconverted(wave: Wave, lanes: Lanes, addresses: IntArray) -> None:
    positions, columns = lanes.active
    thread = wave.geometry.thread_name(int(lanes.warps(positions[:1])[0]), int(columns[0]))
    address = int(pick(addresses, positions, columns)[0])
    message = f"shared address {address:#x} used as a generic address"
    wave.report("generic-address", message, wave.pc, label=f"access by {thread}", count=lanes.count)


def _report_nowhere(wave: Wave, lanes: Lanes, addresses: IntArray) -> None:
    positions, columns = lanes.active
    address = int(pick(addresses, positions, columns)[0]) & ((1 << 64) - 1)
    thread = wave.geometry.thread_name(int(lanes.warps(positions[:1])[0]), int(columns[0]))
    null = "null pointer access at {}" if address < 1 << 16 else "generic address {} is in no state space"
    fault(
        wave,
        "out-of-bounds",
        null.format(f"{address:#x}"),
        "pass a valid pointer; convert shared, local and const addresses with cvta before generic access",
        lanes.count,
        label=f"access by {thread}",
    )
