"""Matrices between memory and the registers of a warp: `ldmatrix`, `stmatrix`.

Manual: "Warp-level matrix load instruction: ldmatrix", "Warp-level matrix store instruction: stmatrix".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_ir.fragments import move_of
from pyptx_ir.isa.kinds.fragments import element_of
from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.syntax.operands import Immediate
from pyptx_sim.errors import MissingSemantics
from pyptx_sim.instructions.compiling.collectives import undefined_fragments
from pyptx_sim.instructions.memory.addresses import shared_target
from pyptx_sim.instructions.memory.undefined import leave_loaded, loaded
from pyptx_sim.machine.lanes import WARP
from pyptx_sim.machine.memory.access import Access
from pyptx_sim.machine.memory.row_lanes import ROW, row_lanes
from pyptx_sim.numerics.elements import packing, split, unpacking
from pyptx_sim.numerics.sparse_operands import meaningless
from pyptx_sim.types import SIXTEEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.isa.matrix_rows import MatrixMove
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.memory.access import LaneOffsets
    from pyptx_sim.machine.memory.spaces import SpaceMemory
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.undefined import Origin
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask

_HALF_ROW = np.dtype(np.uint64)


def move_and_count(operands: Operands) -> tuple[MatrixMove, int]:
    """Return the instruction's `MatrixMove` (shape, types, transposition) and the number of matrices moved."""
    types = (word for word in map(operands.word, ("type", "source")) if word)
    try:
        move = move_of(operands.word("shape"), *types, transposed=bool(operands.word("trans")))
    except ValueError as error:
        opcode = ".".join(operands.opcode)
        raise MissingSemantics(f"no simulator semantics for {opcode}: {error}") from error
    return move, operands.form().length("num") // move.fragment.registers


def lanes_with_addresses(move: MatrixMove, count: int) -> Mask:
    """Return a mask, `[1, 32]`, of the lanes that supply the row addresses of `count` matrices."""
    return np.arange(WARP)[None] < count * move.addresses


def compile_ldmatrix(operands: Operands) -> Action:
    """Compile `ldmatrix`: load matrices, each into one or two registers per lane."""
    move, count = move_and_count(operands)
    writers = [operands.write(element, "b32") for element in operands.elements(operands.named("d"))]
    held = move.fragment.registers
    if len(writers) != count * held:
        operands.fail(f"expected {counted(count * held, 'register')}, got {len(writers)}")
    find = shared_target(operands, operands.named("a"))
    access = Access("read", ROW, rows=row_lanes(move))
    naming = lanes_with_addresses(move, count)
    pack = packing(move.fragment, (count, 1))
    carried = [operands.carried(element, "b32") for element in operands.elements(operands.named("d"))]

    def step(wave: Wave, lanes: Lanes) -> None:
        rows = np.zeros((lanes.height, WARP), SIXTEEN)
        unknown: tuple[Array, Origin] | None = None
        named = lanes.narrowed(naming)
        for memory, part, addresses in find(wave, named) if named else ():
            places = access.places(wave, part, memory, addresses)
            if places is None:
                continue
            if wave.machine.checked:
                access.tell(wave, part, memory, places)
                unknown = _unknown(access, wave, part, memory, places) or unknown
            _put(rows, places, memory.arena.gather(places.offsets, SIXTEEN, 1)[0])
        for write, value in zip(writers, pack(_elements(rows[:, : count * move.addresses], move)), strict=True):
            write(wave, lanes, value)
        if unknown is not None:
            bits, origin = unknown
            leave_loaded(wave, lanes, carried, pack(_elements(bits[:, : count * move.addresses], move)), origin)

    return step


def _put(rows: Array, places: LaneOffsets, values: Array) -> None:
    """Copy `values`, the 16-byte rows read at `places`, to `rows`, `[warps, 32]`."""
    if places.positions is None:
        rows[:] = values
    else:
        rows[places.positions, places.columns] = values


def _unknown(
    access: Access, wave: Wave, lanes: Lanes, memory: SpaceMemory, places: LaneOffsets
) -> tuple[Array, Origin] | None:
    """Return the undefined bits of loaded rows, `[warps, 32]` of 16 bytes; None if there are none."""
    found = loaded(access, wave, lanes, memory, places, _HALF_ROW)
    if found is None:
        return None
    halves, origin = found
    rows = np.zeros((lanes.height, WARP), SIXTEEN)
    _put(rows, places, np.stack(halves, axis=-1).view(SIXTEEN)[..., 0])
    return rows, origin


def _elements(rows: Array, move: MatrixMove) -> Array:
    """Return the elements of vertically stacked matrices from their rows of 16 bytes; zeros pad 4- and 6-bit ones."""
    words = np.ascontiguousarray(rows).view(np.uint32)
    fragment = move.fragment
    if move.stored == fragment.bits:
        return split(words, fragment.bits)
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    used = bits.reshape(*rows.shape, -1)[..., : move.stored * fragment.columns]
    weights = (1 << np.arange(move.stored)).astype(np.uint8)
    return np.asarray(used.reshape(*rows.shape, fragment.columns, move.stored) @ weights)


def compile_stmatrix(operands: Operands) -> Action:
    """Compile `stmatrix`: store matrices, each from one register per lane."""
    move, count = move_and_count(operands)
    given = operands.unchecked()
    readers = [given.read(element, "b32") for element in operands.elements(operands.named("r"))]
    undefined = undefined_fragments(operands, operands.carried_in("r", "b32"))
    if len(readers) != count * move.fragment.registers:
        operands.fail(f"expected {counted(count * move.fragment.registers, 'register')}, got {len(readers)}")
    find = shared_target(operands, operands.named("a"))
    access = Access("write", ROW, rows=row_lanes(move))
    naming = lanes_with_addresses(move, count)

    def step(wave: Wave, lanes: Lanes) -> None:
        shape = (lanes.height, WARP)
        rows = _stored_rows(move, lanes, [read(wave, lanes) for read in readers])
        unknown = undefined(wave, lanes)
        named = lanes.narrowed(naming)
        for memory, part, addresses in find(wave, named) if named else ():
            places = access.places(wave, part, memory, addresses)
            if places is None:
                continue
            offsets = np.broadcast_to(places.offsets, shape) if places.positions is None else places.offsets
            values = [places.pick(rows)]
            if wave.machine.checked:
                access.before(wave, part, memory, places, values)
            if wave.watching and memory.arena.holds(offsets, values):
                continue
            memory.arena.scatter(offsets, values)
            memory.arena.mark(offsets, ROW)
            if unknown is not None:
                bits, origin = unknown
                halves = np.ascontiguousarray(places.pick(_stored_rows(move, lanes, bits)))[..., None].view(_HALF_ROW)
                memory.arena.leave(offsets, ROW, [halves[..., 0], halves[..., 1]], origin)
            wave.version += 1

    return step


def _stored_rows(move: MatrixMove, lanes: Lanes, registers: Sequence[Array | None]) -> Array:
    """Return the rows of matrices, `[warps, 32]` of 16 bytes, from one register per matrix; None: a matrix of zeros."""
    rows = np.zeros((lanes.height, WARP), SIXTEEN)
    unpack = unpacking(move.fragment)
    for matrix, register in enumerate(registers):
        if register is not None:
            elements = unpack([np.ascontiguousarray(np.broadcast_to(register, rows.shape))])
            share = slice(matrix * move.addresses, (matrix + 1) * move.addresses)
            rows[:, share] = np.ascontiguousarray(elements).reshape(lanes.height, -1).view(SIXTEEN)
    return rows


def checking_metadata(operands: Operands, step: Action) -> Action:
    """Wrap the compiled MMA `step`: report `.ordered_metadata` (of sparse MMAs) whose indices do not increase."""
    selector = operands.given("f")
    if not operands.checked or not operands.word("sp::ordered_metadata") or not isinstance(selector, Immediate):
        return step
    element = element_of(operands.form().places["a"], operands.words)
    is_meaningless = meaningless(operands.word("shape"), element, operands.integer(selector))
    read = operands.read(operands.named("e"), "b32")

    def check(wave: Wave, lanes: Lanes) -> None:
        words_of_lanes = np.broadcast_to(read(wave, lanes), (lanes.height, WARP))
        bad: Array = np.logical_and(is_meaningless(words_of_lanes), lanes.full_mask.any(axis=1, keepdims=True))
        if bad.any():
            position, row = (int(part[0]) for part in np.nonzero(bad))
            wave.report(
                "sparse-metadata",
                f"invalid mma.sp metadata: the indices of a chunk must increase (row {row} of A)",
                wave.pc,
                label=f"mma.sp by {wave.geometry.warp_name(int(lanes.row_numbers()[position]))}",
                help="list the lower index of each chunk first; ptx.mma.sp.metadata shows each index's lane and bits",
                count=int(np.count_nonzero(bad)),
            )
        step(wave, lanes)

    return check
