"""`cp.async.bulk.tensor` and `cp.reduce.async.bulk.tensor`: box and im2col copies. Manual: "Tensor copy"."""

from __future__ import annotations

from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pyptx_arch_hopper.sim.tma.boxes import Descriptor, decode, dtype_of_unit
from pyptx_arch_hopper.sim.tma.bulk import Elements, Narrowing, Transfer
from pyptx_arch_hopper.sim.tma.issue import aims, completed_only, issue, mask_of, prepare, signalled
from pyptx_arch_hopper.sim.tma.map_fields import SIZE
from pyptx_arch_hopper.sim.tma.maps import ALIGNMENT
from pyptx_arch_hopper.sim.tma.modes import MODES, walked
from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.syntax.operands import Address, TensorAddress
from pyptx_sim.errors import MissingSemantics
from pyptx_sim.extension import MBARRIER_BYTES
from pyptx_sim.types import dtype_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_arch_hopper.sim.tma.issue import Issued
    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.extension import AccessKind, Action, ExecutionContext, IntArray, Mask, Operands, Reader

_UNSUPPORTED = ("im2col_no_offs::w", "override::global_dim")
_IM2COL = frozenset({"im2col", "im2col_no_offs", "im2col::w", "im2col::w::128"})
# State spaces from which a tensor copy may read a tensor map. Manual: "Tensor-map".
_MAP_SPACES = frozenset({"param", "const", "global"})
# Alignment of every TMA box in shared memory, with any swizzle atom. Manual: "Swizzling Modes".
_BOX_ALIGNMENT = 128
# Element types of tensor reductions, by operation. Manual: "cp.reduce.async.bulk.tensor", table of combinations.
_WORDS = frozenset({"u32", "s32", "u64", "s64"})
_REDUCED = {
    "add": frozenset({"u32", "s32", "u64", "f32", "f16", "bf16"}),
    **dict.fromkeys(("min", "max"), _WORDS | {"f16", "bf16"}),
    **dict.fromkeys(("inc", "dec"), frozenset({"u32"})),
    **dict.fromkeys(("and", "or", "xor"), _WORDS),
}


class _Thread(NamedTuple):
    """Operand values of one thread's tensor copy; `map_at` is the tensor map's offset in global memory, else None."""

    map: bytes
    map_at: int | None
    corner: tuple[int, ...]
    offsets: tuple[int, ...]
    shared: int
    barrier: int | None
    address: int | None
    mask: int | None


def compile_tensor_copy(operands: Operands) -> Action:
    """Return the action that issues a tensor copy for each thread."""
    word = next((word for word in operands.words.values() if word.startswith(_UNSUPPORTED)), None)
    if word is not None:
        raise MissingSemantics(f"no simulator semantics for tensor copies with .{word}")
    return operands.action(_Boxes(operands).execute)


def _readers(operands: Operands, given: Operand, ptx_type: str) -> list[Reader]:
    """Return a function for each element of a vector operand, which reads the element."""
    return [operands.read(element, ptx_type) for element in operands.elements(given)]


class _Boxes:
    """A cp.async.bulk.tensor or cp.reduce.async.bulk.tensor instruction."""

    def __init__(self, operands: Operands) -> None:
        names, box = operands.names, operands.named("box")
        if not isinstance(box, TensorAddress):
            operands.fail("expected a tensor map with coordinates: [map, {x, y}]")
        place, *moved, corner = box.elements
        self._map = operands.place(Address(place), "generic")
        self._corner = _readers(operands, corner, "s32")
        self._address = operands.read(moved[0], "u64") if moved else None
        self._offsets = _readers(operands, operands.named("info"), "u16") if "info" in names else []
        self._shared = operands.place("dst" if "dst" in names else "src", "shared")
        self._paired = operands.word("group") == "cta_group::2"
        # With .cta_group::2, the mbarrier may be in the peer CTA.
        around = "shared::cluster" if self._paired else "shared"
        self._barrier = operands.place("mbar", around) if "mbar" in names else None
        self._mask = mask_of(operands)
        self._rank = int(operands.word("dim")[0])
        self._operation = operands.word("op")
        self._columns = any(map(operands.word, _IM2COL))
        self._mode = next(filter(operands.word, MODES), "")
        self._updates = {
            element: operands.update(self._operation, element, "global")
            for element in (_REDUCED[self._operation] if self._operation else ())
        }

    def execute(self, turn: ExecutionContext) -> None:
        """Issue a tensor copy for each thread."""
        spots = self._spots(turn)
        if spots is None:
            return
        sound, shared, barriers = spots
        at = sound.places

        def values(read: Reader) -> list[int]:
            found: list[int] = turn.read(read)[at].tolist()
            return found

        def tuples(readers: list[Reader]) -> Iterable[tuple[int, ...]]:
            return zip(*map(values, readers), strict=True) if readers else repeat(())

        maps = self._maps(sound)
        threads = zip(
            sound.by_thread(),
            zip(*(part.tolist() for part in at), strict=True),
            tuples(self._corner),
            tuples(self._offsets),
            shared[at].tolist(),
            repeat(None) if barriers is None else barriers[at].tolist(),
            repeat(None) if self._address is None else values(self._address),
            repeat(None) if self._mask is None else values(self._mask),
            strict=False,  # lengths differ: without a multicast mask, `itertools.repeat(None)` is infinite
        )
        known = ((one, maps.get(place), given) for one, place, *given in threads)
        issue(turn, (self._copy(one, _Thread(*found, *given)) for one, found, given in known if found is not None))

    def _spots(self, turn: ExecutionContext) -> tuple[ExecutionContext, IntArray, IntArray | None] | None:
        """Return the lanes with valid shared memory addresses, and these addresses."""
        kind: AccessKind = "write" if self._barrier is not None else "read"
        shared = turn.offsets(self._shared, 1, kind, alignment=_BOX_ALIGNMENT)
        sound = turn.narrowed(shared >= 0)
        barriers = None
        if sound is not None and self._barrier is not None:
            barriers = sound.offsets(self._barrier, MBARRIER_BYTES, "atomic")
            sound = sound.narrowed(barriers >= 0)
        return None if sound is None else (sound, shared, barriers)

    def _maps(self, turn: ExecutionContext) -> dict[tuple[int, int], tuple[bytes, int | None]]:
        """Return the bytes of each thread's tensor map, and the map's offset if the map is in global memory."""
        maps: dict[tuple[int, int], tuple[bytes, int | None]] = {}
        for part, memory, addresses in turn.by_memory(self._map):
            if memory not in _MAP_SPACES:
                message = f"tensor map is in {memory} memory"
                _misuse(part, message, "put the tensor map in global memory, constant memory or a kernel parameter")
                continue
            found = part.located(memory, addresses, SIZE, alignment=ALIGNMENT)
            if found is None:
                continue
            some, offsets = found
            arena = part.memory(memory).arena
            known: dict[int, tuple[bytes, int | None]] = {}
            for row, lane, offset in zip(*(each.tolist() for each in (*some.places, offsets)), strict=True):
                if offset not in known:
                    known[offset] = arena.bytes_at(offset, SIZE), offset if memory == "global" else None
                maps[row, lane] = known[offset]
        return maps

    def _copy(self, turn: ExecutionContext, thread: _Thread) -> Issued | None:
        """Return the tensor copy of one thread; None if it is invalid."""
        described = self._descriptor(turn, thread)
        if described is None:
            return None
        narrows = described.packing is not None and described.packing.padded and thread.barrier is None
        thread = thread._replace(corner=described.corner(thread.corner))
        unit = described.itemsize if self._operation or narrows else described.unit(thread.corner)
        tensor, inside = _tensor(turn, described, thread, unit)
        box = _box(turn, described, thread.shared, unit)
        if tensor is None or box is None:
            return None if thread.barrier is None else self._completed(turn, thread, described, box)
        known = None if inside is None or inside.all() else inside
        fill = described.fill(unit)
        if thread.barrier is None:
            update = self._updates.get(described.map.type)
            if update is not None:
                dtype = dtype_of(described.map.type)
                box, tensor = (replace(side, dtype=dtype, swizzle=None) for side in (box, tensor))
            kind = Narrowing if narrows else Transfer
            transfer = kind(source=box, targets=(tensor,), fill=fill, fills=False, known=known, update=update)
            return prepare(turn, transfer, described.bytes, map_at=thread.map_at)
        shifts = aims(turn, thread.shared, thread.mask)
        transfer = Transfer(
            source=tensor,
            targets=tuple(replace(box, index=box.index + shift // unit) if shift else box for shift in shifts),
            fill=fill,
            fills=True,
            known=known,
            convert=described.rounded if described.rounds else None,
        )
        several = self._paired and thread.mask is not None
        barriers = signalled(turn, thread.shared, thread.barrier, shifts, paired=several)
        return prepare(turn, transfer, described.bytes, barriers=barriers, map_at=thread.map_at, paired=self._paired)

    def _completed(
        self, turn: ExecutionContext, thread: _Thread, described: Descriptor, box: Elements | None
    ) -> Issued:
        """Return a thread's copy with invalid addresses, which only completes, and clears a valid box."""
        assert thread.barrier is not None  # noqa: S101 - the caller's condition
        shifts = aims(turn, thread.shared, thread.mask)
        several = self._paired and thread.mask is not None
        barriers = signalled(turn, thread.shared, thread.barrier, shifts, paired=several)
        return completed_only(turn, described.bytes, barriers, box)

    def _descriptor(self, turn: ExecutionContext, thread: _Thread) -> Descriptor | None:
        """Return the thread's tensor map; None if the map does not match the instruction."""
        found = decode(thread.map, thread.address)
        if not isinstance(found, Descriptor):
            _misuse(turn, *found)
            return None
        record, found = found.map, walked(found, self._mode)
        wrong: tuple[str, str] | None = None
        if record.rank != self._rank:
            message = f"tensor map has rank {record.rank}, but .{self._rank}d needs rank {self._rank}"
            wrong = (message, "pass the tensor map of this tensor")
        elif bool(record.columns) != self._columns:
            modes = ("im2col", "tiled") if record.columns else ("tiled", "im2col")
            message = f"tensor map is for {modes[0]} mode, but the copy uses {modes[1]} mode"
            wrong = (message, "encode the tensor map for the copy's mode")
        wrong = wrong or found.unfit()
        if wrong is None and self._barrier is None and found.packing is not None and not found.packing.stores:
            message = "tensor map of .b4x16_p64, which copies from shared memory do not support"
            wrong = (message, "use a tensor map of .b4x16 for stores")
        if wrong is not None:
            _misuse(turn, *wrong)
            return None
        if self._operation and record.type not in _REDUCED[self._operation]:
            known = ", ".join(sorted(_REDUCED[self._operation]))
            _misuse(
                turn, f"reduction .{self._operation} does not support a tensor of .{record.type}", f"use one of {known}"
            )
            return None
        misplaced = found.misaligned(thread.corner) or found.misplaced(found.corner(thread.corner))
        if misplaced is not None:
            _misuse(turn, *misplaced)
        return found if misplaced is None else None


def _misuse(turn: ExecutionContext, message: str, help: str) -> None:
    turn.misuse("tensor-map", message, help, label=_label(turn))


def _label(turn: ExecutionContext) -> str:
    warps, lanes = turn.threads
    return f"tensor copy issued by {turn.thread_name(int(warps[0]), int(lanes[0]))}"


def _tensor(
    turn: ExecutionContext, described: Descriptor, thread: _Thread, step: int
) -> tuple[Elements | None, Mask | None]:
    """Return a copy's elements of `step` bytes in the tensor, and which are in bounds; None: all."""
    memory = turn.memory("global")
    start = described.origin(thread.corner)
    origin = None if start is None else turn.global_offset(start)
    kind, together = dtype_of_unit(step), described.row(step)
    if origin is not None and memory.holds(origin, origin + described.span):
        index = described.pattern(step) + origin // step
        return Elements("global", memory.arena, kind, index, together=together), None
    places, inside = described.units(thread.corner, thread.offsets, step)
    addresses = turn.global_offset(places)
    sound = addresses if inside is None else addresses[inside]
    if len(sound) and not memory.holds(int(sound.min()), int(sound.max()) + step):
        outside = memory.outside(sound, step)
        if outside.any():
            first = int(sound[int(outside.argmax())])
            turn.misuse(
                "out-of-bounds",
                f"invalid global access of a tensor copy: {memory.describe(first)}",
                "make the tensor map's shape and strides match the tensor",
                label=_label(turn),
            )
            return None, inside
    index = (addresses if inside is None else np.where(inside, addresses, 0)) // step
    return Elements("global", memory.arena, kind, index, together=together), inside


def _box(turn: ExecutionContext, described: Descriptor, shared: int, step: int) -> Elements | None:
    """Return a copy's elements of `step` bytes in shared memory; None, with a finding, if they exceed shared memory."""
    memory = turn.wave.shared
    start, base = shared % memory.stride, shared - shared % memory.stride
    if start + described.room > memory.end:
        turn.misuse(
            "out-of-bounds",
            f"TMA box of {counted(described.room, 'byte')} at {memory.describe_offset(shared)} exceeds shared memory",
            "allocate all bytes of the box in shared memory",
            label=_label(turn),
        )
        return None
    index = described.shared_index(start, base, step)
    together = len(index) if described.gapless else 1
    kind, swizzle = dtype_of_unit(step), described.map.swizzle_name
    return Elements("shared", memory.arena, kind, index, swizzle, together, start)
