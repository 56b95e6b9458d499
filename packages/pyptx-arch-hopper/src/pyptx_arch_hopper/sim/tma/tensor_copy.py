"""`cp.async.bulk.tensor` and `cp.reduce.async.bulk.tensor`: boxes and columns of tensors. Manual: "Tensor copy"."""

from __future__ import annotations

from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pyptx_arch_hopper.sim.tma.boxes import Descriptor, decode, dtype_of_unit
from pyptx_arch_hopper.sim.tma.bulk import Elements
from pyptx_arch_hopper.sim.tma.issue import Bulk, aims
from pyptx_arch_hopper.sim.tma.maps import ALIGNMENT, SIZE
from pyptx_ir.syntax.operands import Address, TensorAddress, Vector
from pyptx_sim.errors import MissingSemantics
from pyptx_sim.instructions.memory.addresses import target
from pyptx_sim.instructions.memory.atomics import update_of
from pyptx_sim.instructions.synchronization.mbarriers import ACCESS
from pyptx_sim.instructions.synchronization.threads import locate, threads_at
from pyptx_sim.machine.lanes import pick
from pyptx_sim.machine.memory.access import Access
from pyptx_sim.machine.memory.atomics import UPDATES
from pyptx_sim.types import dtype_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.instructions.compiling.registers import Reader
    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Mask

_UNSUPPORTED = ("tile::gather4", "tile::scatter4", "im2col::w", "im2col_no_offs::w", "override")
_IM2COL = frozenset({"im2col", "im2col_no_offs"})
_MAP = Access("read", SIZE, alignment=ALIGNMENT)
# Manual: "Tensor-map": where one may lie.
_MAP_SPACES = frozenset({"param", "const", "global"})
# Manual: "Swizzling Modes": atoms of 32 and 64 bytes need no more than the 128 bytes that every box needs.
_BOX_ALIGNMENT = 128
# What reductions are for. Manual: "cp.reduce.async.bulk.tensor", table of combinations.
_WORDS = frozenset({"u32", "s32", "u64", "s64"})
_REDUCED = {
    "add": frozenset({"u32", "s32", "u64", "f32", "f16", "bf16"}),
    **dict.fromkeys(("min", "max"), _WORDS | {"f16", "bf16"}),
    **dict.fromkeys(("inc", "dec"), frozenset({"u32"})),
    **dict.fromkeys(("and", "or", "xor"), _WORDS),
}


class _Given(NamedTuple):
    """The operands of a tensor copy by what they are."""

    shared: Operand
    tensor: TensorAddress
    barrier: Operand | None
    offsets: Operand | None
    mask: Operand | None


class _Thread(NamedTuple):
    """What one thread gives; `map_at` is where its map lies in global memory, None elsewhere."""

    map: bytes
    map_at: int | None
    corner: tuple[int, ...]
    offsets: tuple[int, ...]
    shared: int
    barrier: int | None
    mask: int | None


def compile_tensor_copy(operands: Operands) -> Action:
    """Issue the copy of a box, or of columns, for each thread."""
    opcode = operands.opcode
    word = next((word for word in opcode if word.startswith(_UNSUPPORTED)), None)
    if word is not None:
        raise MissingSemantics(f"the simulator has no semantics for tensor copies with .{word}")
    return _Boxes(operands, _given(operands)).step


def _given(operands: Operands) -> _Given:
    opcode = operands.opcode
    first, second, *rest = operands.operands
    tensor, shared = (first, second) if isinstance(first, TensorAddress) else (second, first)
    if not isinstance(tensor, TensorAddress):
        operands.fail("a tensor copy needs a tensor map with coordinates")
    barrier = rest.pop(0) if "mbarrier::complete_tx::bytes" in opcode else None
    offsets = rest.pop(0) if "im2col" in opcode else None
    multicast = any(word.startswith("multicast") for word in opcode)
    return _Given(shared, tensor, barrier, offsets, rest[0] if multicast else None)


def _readers(operands: Operands, given: Operand | None, ptx_type: str) -> list[Reader]:
    """Return readers of the elements of a vector; of no operand, none."""
    if given is None:
        return []
    elements = given.elements if isinstance(given, Vector) else (given,)
    return [operands.read(element, ptx_type) for element in elements]


class _Boxes:
    """One instruction that copies between a tensor and shared memory."""

    def __init__(self, operands: Operands, given: _Given) -> None:
        opcode = operands.opcode
        place, corner = given.tensor.elements
        self._map = target(operands, Address(place), "generic")
        self._corner = _readers(operands, corner, "s32")
        self._offsets = _readers(operands, given.offsets, "u16")
        self._shared = target(operands, given.shared, "shared")
        self._barrier = None if given.barrier is None else target(operands, given.barrier, "shared")
        self._mask = None if given.mask is None else operands.read(given.mask, "u16")
        self._rank = int(next(word for word in opcode if word[:1].isdigit() and word.endswith("d"))[0])
        self._operation = next((word for word in opcode if word in UPDATES), None) if opcode[1] == "reduce" else None
        self._columns = not _IM2COL.isdisjoint(opcode)

    def step(self, wave: Wave, lanes: Lanes) -> None:
        """Issue a copy for each thread."""
        spots = self._spots(wave, lanes)
        if spots is None:
            return
        sound, shared, barriers = spots

        rows, columns = sound.active

        def values(read: Reader) -> list[int]:
            found: list[int] = pick(read(wave, lanes), rows, columns).tolist()
            return found

        def tuples(readers: list[Reader]) -> Iterable[tuple[int, ...]]:
            return zip(*map(values, readers), strict=True) if readers else repeat(())

        maps = self._maps(wave, sound)
        places = zip(rows.tolist(), columns.tolist(), sound.warps(rows).tolist(), strict=True)
        threads = zip(
            places,
            tuples(self._corner),
            tuples(self._offsets),
            shared[rows, columns].tolist(),
            repeat(None) if barriers is None else barriers[rows, columns].tolist(),
            repeat(None) if self._mask is None else values(self._mask),
            strict=False,  # what threads do not give has no end
        )
        for (row, lane, warp), corner, offsets, at, barrier, mask in threads:
            found = maps.get((row, lane))
            if found is not None:
                self._issue(Bulk(wave, warp, lane), _Thread(*found, corner, offsets, at, barrier, mask))

    def _spots(self, wave: Wave, lanes: Lanes) -> tuple[Lanes, IntArray, IntArray | None] | None:
        """Return the lanes whose addresses are sound, and these addresses in shared memory."""
        access = Access("write" if self._barrier is not None else "read", 1, alignment=_BOX_ALIGNMENT)
        shared = locate(wave, lanes, self._shared, access, "shared")
        sound = lanes.narrowed(shared >= 0)
        barriers = None
        if sound is not None and self._barrier is not None:
            barriers = locate(wave, sound, self._barrier, ACCESS, "shared")
            sound = sound.narrowed(barriers >= 0)
        return None if sound is None else (sound, shared, barriers)

    def _maps(self, wave: Wave, lanes: Lanes) -> dict[tuple[int, int], tuple[bytes, int | None]]:
        """Return the bytes of each thread's tensor map, and where it lies if in global memory."""
        maps: dict[tuple[int, int], tuple[bytes, int | None]] = {}
        for memory, part, addresses in self._map(wave, lanes):
            if memory.space not in _MAP_SPACES:
                where = f"the tensor map lies in {memory.space} memory"
                _misuse(wave, where, "it must lie in global memory, among the parameters, or in constant memory")
                continue
            threads = threads_at(wave, part, memory, addresses, _MAP)
            if threads is None:
                continue
            known: dict[int, tuple[bytes, int | None]] = {}
            for row, lane, offset in zip(
                threads.positions.tolist(), threads.columns.tolist(), threads.offsets.tolist(), strict=True
            ):
                if offset not in known:
                    data = memory.arena.data[offset : offset + SIZE].tobytes()
                    known[offset] = (data, offset if memory.space == "global" else None)
                maps[row, lane] = known[offset]
        return maps

    def _issue(self, bulk: Bulk, thread: _Thread) -> None:
        wave = bulk.wave
        described = self._descriptor(wave, thread)
        if described is None:
            return
        unit = described.itemsize if self._operation is not None else described.unit(thread.corner)
        tensor, inside = _tensor(wave, described, thread, unit)
        if tensor is None:
            return
        box = _box(wave, described, thread.shared, unit)
        if box is None:
            return
        known = None if inside is None or inside.all() else inside
        fill = described.fill(unit)
        if thread.barrier is None:
            if self._operation is not None:
                dtype = dtype_of(described.map.type)
                box, tensor = (Elements(side.space, side.arena, dtype, side.index) for side in (box, tensor))
            update = None if self._operation is None else update_of(self._operation, described.map.type, "global")
            bulk.issue(box, (tensor,), (), described.bytes, known, fill, update, map_at=thread.map_at)
            return
        shifts = aims(wave, bulk.warp, thread.mask)
        targets = tuple(replace(box, index=box.index + shift // unit) if shift else box for shift in shifts)
        barriers = tuple(thread.barrier + shift for shift in shifts)
        convert = described.rounded if described.rounds else None
        bulk.issue(
            tensor, targets, barriers, described.bytes, known, fill, None, map_at=thread.map_at,
            convert=convert,
        )  # fmt: skip

    def _descriptor(self, wave: Wave, thread: _Thread) -> Descriptor | None:
        """Return the thread's map, unless it is not what the instruction needs."""
        found = decode(thread.map)
        if not isinstance(found, Descriptor):
            _misuse(wave, f"{found[0]} lies where .{self._rank}d needs one", found[1])
            return None
        record = found.map
        wrong: tuple[str, str] | None = None
        if record.rank != self._rank:
            wrong = (f"a tensor map of rank {record.rank}", "pass the map of this tensor")
        elif bool(record.columns) != self._columns:
            mode = "im2col" if record.columns else "tiled"
            wrong = (f"a tensor map of {mode} mode", "encode the map for the mode of the instruction")
        if wrong is not None:
            mode = " in im2col mode" if self._columns else ""
            _misuse(wave, f"{wrong[0]} lies where .{self._rank}d{mode} needs one", wrong[1])
            return None
        if self._operation is not None and record.type not in _REDUCED[self._operation]:
            _misuse(wave, f"no reduction by .{self._operation} is for a tensor of .{record.type}",
                    f"it is for {', '.join(sorted(_REDUCED[self._operation]))}")  # fmt: skip
            return None
        misplaced = found.misplaced(thread.corner)
        if misplaced is not None:
            _misuse(wave, *misplaced)
        return found if misplaced is None else None


def _misuse(wave: Wave, message: str, hint: str) -> None:
    wave.mbarriers.misuse("tensor-map", message, wave.pc, hint)


def _tensor(wave: Wave, described: Descriptor, thread: _Thread, step: int) -> tuple[Elements | None, Mask | None]:
    """Return each `step` bytes of a copy in the tensor, and which of them are in bounds; None: all are."""
    memory = wave.memories["global"]
    origin = described.origin(thread.corner)
    if origin is not None and memory.holds(origin, origin + described.span):
        return Elements("global", memory.arena, dtype_of_unit(step), described.pattern(step) + origin // step), None
    addresses, inside = described.units(thread.corner, thread.offsets, step)
    sound = addresses if inside is None else addresses[inside]
    if len(sound) and not memory.holds(int(sound.min()), int(sound.max()) + step):
        outside = memory.outside(sound, step)
        if outside.any():
            first = int(sound[int(outside.argmax())])
            wave.mbarriers.misuse(
                "out-of-bounds",
                f"a tensor copy touches {memory.describe(first)}",
                wave.pc,
                "the tensor map's shape and strides do not fit the tensor",
            )
            return None, inside
    index = (addresses if inside is None else np.where(inside, addresses, 0)) // step
    return Elements("global", memory.arena, dtype_of_unit(step), index), inside


def _box(wave: Wave, described: Descriptor, shared: int, step: int) -> Elements | None:
    """Return each `step` bytes of a copy in shared memory."""
    memory = wave.memories["shared"]
    stride = wave.machine.shared_stride
    start, base = shared % stride, shared - shared % stride
    if start + described.bytes > wave.machine.shared_end:
        wave.mbarriers.misuse(
            "out-of-bounds",
            f"a box of {described.bytes} bytes at {memory.describe_offset(shared)} ends past the shared memory",
            wave.pc,
            "give the box as much shared memory as it has bytes",
        )
        return None
    index = described.shared_index(start, base, step)
    return Elements("shared", memory.arena, dtype_of_unit(step), index, described.swizzle)
