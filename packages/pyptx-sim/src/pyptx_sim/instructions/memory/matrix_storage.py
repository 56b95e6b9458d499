"""Matrices between memory and opaque fragments: `wmma.load`, `wmma.store`.

Manual: "Matrix Storage for WMMA", "Warp-level Matrix Load Instruction: wmma.load", "… wmma.store". The manual does
not specify which lane holds which element; the simulator uses `pyptx_ir.fragments.wmma_fragment`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyptx_ir.fragments import fragment_of
from pyptx_ir.isa.modules.counting import counted
from pyptx_sim.instructions.compiling.collectives import undefined_fragments
from pyptx_sim.instructions.memory.addresses import target
from pyptx_sim.instructions.memory.undefined import leave_bits, leave_loaded, loaded
from pyptx_sim.machine.lanes import WARP
from pyptx_sim.machine.memory.access import Access

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.fragments import Fragment
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.instructions.compiling.registers import Reader
    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.memory.access import LaneOffsets
    from pyptx_sim.machine.memory.spaces import SpaceMemory
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array


@dataclass(frozen=True, slots=True)
class Storage:
    """Layout of a matrix in memory: lines (rows or columns) that start `stride` elements apart.

    Each lane transfers several pieces: `size` contiguous bytes of a line. `lines` and `columns` are, for each piece,
    the line number and the index of the first element in the line, per lane; `per_register` pieces make up a register.
    """

    fragment: Fragment
    lines: tuple[IntArray, ...]
    columns: tuple[IntArray, ...]
    size: int
    length: int

    @property
    def per_register(self) -> int:
        """Number of pieces (`size` bytes that are contiguous in memory) in a register."""
        return self.fragment.width // (8 * self.size)

    def piece(self, register: Array, number: int, height: int) -> Array:
        """Return piece `number` (`size` bytes) of the `register` of each lane, `[height, 32]`."""
        word = np.ascontiguousarray(np.broadcast_to(register, (height, WARP)))
        pieces: Array = word.view(np.dtype(f"<u{self.size}")).reshape(height, WARP, -1)
        return pieces[..., number]


def _storage(operands: Operands) -> Storage:
    which, element, by_rows = operands.word("which"), operands.word("type"), operands.word("layout") == "row"
    fragment = fragment_of("wmma", operands.word("shape"), "c" if which == "d" else which, element)
    packed, bits = fragment.packed, fragment.bits
    together = packed if _lie_together(fragment, by_rows=by_rows) else 1
    if together * bits < 8:
        operands.fail(f"unsupported layout: elements of {bits} bits that are not contiguous in memory")
    lines: list[IntArray] = []
    columns: list[IntArray] = []
    for first in range(0, fragment.count, together):
        rows = np.array([[fragment.row(lane, first) for lane in range(WARP)]], np.int64)
        along = np.array([[fragment.column(lane, first) for lane in range(WARP)]], np.int64)
        lines.append(rows if by_rows else along)
        columns.append(along if by_rows else rows)
    length = fragment.columns if by_rows else fragment.rows
    return Storage(fragment, tuple(lines), tuple(columns), together * bits // 8, length)


def _lie_together(fragment: Fragment, *, by_rows: bool) -> bool:
    """Return whether the elements packed in one register are contiguous in memory."""
    steps = [step.column if by_rows else step.row for step in fragment.elements]
    return all(steps[bit] == 1 << bit for bit in range(fragment.packed.bit_length() - 1))


def _strides(operands: Operands, storage: Storage) -> Reader:
    """Return a function that reads the distance, in elements, between the starts of lines (rows or columns)."""
    given = operands.given("stride")
    if given is not None:
        return operands.read(given, "u32")
    default = np.full((1, 1), storage.length, np.uint32)
    return lambda _wave, _lanes: default


def _offsets(storage: Storage, stride: Array) -> Iterator[IntArray]:
    """Yield, for each piece of `Storage`, its distance in bytes from the matrix's first element, per lane."""
    bits = storage.fragment.bits
    wide = stride.astype(np.int64)
    for line, column in zip(storage.lines, storage.columns, strict=True):
        yield (line * wide + column) * bits // 8


def compile_load(operands: Operands) -> Action:
    """Compile `wmma.load`: load a matrix from memory into the lanes' registers."""
    storage = _storage(operands)
    kind = {32: "b32", 64: "b64"}[storage.fragment.width]
    writers = [operands.write(element, kind) for element in operands.elements(operands.named("r"))]
    if len(writers) != storage.fragment.registers:
        operands.fail(f"expected {counted(storage.fragment.registers, 'register')}, got {len(writers)}")
    find = target(operands, operands.named("a"), operands.space)
    strides = _strides(operands, storage)
    carried = [operands.carried(element, kind) for element in operands.elements(operands.named("r"))]
    access = Access("read", storage.size)
    count = storage.per_register
    piece_type = np.dtype(f"<u{storage.size}")
    register_type = np.dtype(f"<u{storage.fragment.width // 8}")

    def step(wave: Wave, lanes: Lanes) -> None:
        words = np.zeros((len(writers), lanes.height, WARP, count), piece_type)
        bits, origin = np.zeros_like(words) if wave.machine.checked else None, None
        for memory, part, addresses in find(wave, lanes):
            for number, offset in enumerate(_offsets(storage, strides(wave, part))):
                at = number // count, ..., number % count
                places = access.places(wave, part, memory, addresses + offset)
                if places is None:
                    continue
                words[at] |= places.spread(memory.arena.gather(places.offsets, piece_type, 1)[0], part.height)
                if bits is None:
                    continue
                access.tell(wave, part, memory, places)
                unknown = loaded(access, wave, part, memory, places, piece_type)
                if unknown is not None:
                    origin = origin or unknown[1]
                    bits[at] |= places.spread(unknown[0][0], part.height)
        for write, word in zip(writers, words, strict=True):
            write(wave, lanes, word.view(register_type)[..., 0])
        if bits is not None and origin is not None:
            leave_loaded(wave, lanes, carried, [each.view(register_type)[..., 0] for each in bits], origin)

    return step


def compile_store(operands: Operands) -> Action:
    """Compile `wmma.store`: store a matrix from the lanes' registers to memory."""
    storage = _storage(operands)
    kind = {32: "b32", 64: "b64"}[storage.fragment.width]
    given, carried = operands.unchecked(), operands.carried_in("r", kind)
    readers = [given.read(element, kind) for element in operands.elements(operands.named("r"))]
    undefined = undefined_fragments(operands, carried)
    if len(readers) != storage.fragment.registers:
        operands.fail(f"expected {counted(storage.fragment.registers, 'register')}, got {len(readers)}")
    find = target(operands, operands.named("a"), operands.space)
    strides = _strides(operands, storage)
    access = Access("write", storage.size)
    count = storage.per_register

    def step(wave: Wave, lanes: Lanes) -> None:
        for memory, part, addresses in find(wave, lanes):
            unknown = undefined(wave, part)
            for number, offset in enumerate(_offsets(storage, strides(wave, part))):
                places = access.places(wave, part, memory, addresses + offset)
                if places is None:
                    continue
                register, piece = divmod(number, count)
                value = storage.piece(readers[register](wave, part), piece, part.height)
                _write(access, wave, part, memory, places, value)
                if unknown is not None:
                    bits, origin = unknown[0][register], unknown[1]
                    left = None if bits is None else storage.piece(bits, piece, part.height)
                    leave_bits(access, wave, part, memory, places, [carried[register]], [left], origin)

    return step


def _write(access: Access, wave: Wave, lanes: Lanes, memory: SpaceMemory, places: LaneOffsets, piece: Array) -> None:
    offsets, values = places.offsets, [places.pick(piece)]
    if wave.machine.checked:
        access.before(wave, lanes, memory, places, values)
    if places.positions is None:
        offsets = np.broadcast_to(offsets, piece.shape)
    if wave.watching and memory.arena.holds(offsets, values):
        return
    memory.arena.scatter(offsets, values)
    memory.arena.mark(offsets, access.size)
    wave.version += 1
