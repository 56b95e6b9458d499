"""`cp.async.bulk.tensor` and `cp.reduce.async.bulk.tensor`: boxes of tensors. Manual: "Tensor copy"."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pyptx_ir.syntax.operands import Address, TensorAddress, Vector
from pyptx_sim.errors import MissingSemantics
from pyptx_sim.instructions.addresses import target
from pyptx_sim.instructions.atomics import update_of
from pyptx_sim.instructions.bulk_issue import Bulk, aims, locate
from pyptx_sim.instructions.mbarriers import ACCESS
from pyptx_sim.instructions.threads import threads_at
from pyptx_sim.machine.access import Access
from pyptx_sim.machine.atomics import UPDATES
from pyptx_sim.machine.bulk import Elements
from pyptx_sim.machine.lanes import WARP
from pyptx_sim.machine.tensor_maps import ALIGNMENT, SIZE, decode, type_of
from pyptx_sim.types import dtype_of

if TYPE_CHECKING:
    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.instructions.operands import Operands
    from pyptx_sim.machine.code import Step
    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.tensor_maps import Descriptor
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Mask

_UNSUPPORTED = ("im2col", "tile::gather4", "tile::scatter4", "im2col_no_offs")
_MAP = Access("read", SIZE, alignment=ALIGNMENT)
# Manual: "Swizzling Modes": atoms of 32 and 64 bytes need no more than the 128 bytes that every box needs.
_BOX_ALIGNMENT = 128


class _Given(NamedTuple):
    """The operands of a tensor copy by what they are."""

    shared: Operand
    tensor: TensorAddress
    barrier: Operand | None
    mask: Operand | None


def compile_tensor_copy(operands: Operands) -> Step:
    """Issue the copy of a box for each thread."""
    opcode = operands.opcode
    word = next((word for word in opcode if word.startswith(_UNSUPPORTED)), None)
    if word is not None:
        raise MissingSemantics(f"the simulator has no semantics for tensor copies in mode .{word}")
    return _Boxes(operands, _given(operands)).step


def _given(operands: Operands) -> _Given:
    first, second, *rest = operands.operands
    tensor, shared = (first, second) if isinstance(first, TensorAddress) else (second, first)
    if not isinstance(tensor, TensorAddress):
        operands.fail("a tensor copy needs a tensor map with coordinates")
    barrier = rest.pop(0) if "mbarrier::complete_tx::bytes" in operands.opcode else None
    multicast = any(word.startswith("multicast") for word in operands.opcode)
    return _Given(shared, tensor, barrier, rest[0] if multicast else None)


class _Boxes:
    """One instruction that copies a box between a tensor and shared memory."""

    def __init__(self, operands: Operands, given: _Given) -> None:
        opcode = operands.opcode
        place, corner = given.tensor.elements
        axes = corner.elements if isinstance(corner, Vector) else (corner,)
        self._map = target(operands, Address(place), "generic")
        self._corner = [operands.read(axis, "s32") for axis in axes]
        self._shared = target(operands, given.shared, "shared")
        self._barrier = None if given.barrier is None else target(operands, given.barrier, "shared")
        self._mask = None if given.mask is None else operands.read(given.mask, "u16")
        self._rank = int(next(word for word in opcode if word[:1].isdigit() and word.endswith("d"))[0])
        self._operation = next((word for word in opcode if word in UPDATES), None) if opcode[1] == "reduce" else None

    def step(self, wave: Wave, lanes: Lanes) -> None:
        """Issue a copy for each thread."""
        spots = self._spots(wave, lanes)
        if spots is None:
            return
        sound, shared, barriers = spots
        corners = [np.broadcast_to(read(wave, lanes), (lanes.height, WARP)) for read in self._corner]
        masks = None if self._mask is None else np.broadcast_to(self._mask(wave, lanes), (lanes.height, WARP))
        maps = self._maps(wave, sound)
        for row, lane in zip(*(part.tolist() for part in sound.active), strict=True):
            data = maps.get((row, lane))
            if data is None:
                continue
            warp = int(sound.warps(np.array([row]))[0])
            corner = tuple(int(axis[row, lane]) for axis in corners)
            mask = None if masks is None else int(masks[row, lane])
            barrier = None if barriers is None else int(barriers[row, lane])
            self._issue(Bulk(wave, warp, lane), data, corner, int(shared[row, lane]), barrier, mask)

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

    def _maps(self, wave: Wave, lanes: Lanes) -> dict[tuple[int, int], bytes]:
        """Return the bytes of each thread's tensor map."""
        maps: dict[tuple[int, int], bytes] = {}
        for memory, part, addresses in self._map(wave, lanes):
            threads = threads_at(wave, part, memory, addresses, _MAP)
            if threads is None:
                continue
            for row, lane, offset in zip(
                threads.positions.tolist(), threads.columns.tolist(), threads.offsets.tolist(), strict=True
            ):
                maps[row, lane] = memory.arena.data[offset : offset + SIZE].tobytes()
        return maps

    def _issue(
        self, thread: Bulk, data: bytes, corner: tuple[int, ...], shared: int, barrier: int | None, mask: int | None
    ) -> None:
        wave, described = thread.wave, decode(data)
        if described is None or described.rank != self._rank:
            what = "no tensor map" if described is None else f"a tensor map of rank {described.rank}"
            wave.mbarriers.misuse(
                "tensor-map", f"{what} lies where .{self._rank}d needs one", wave.pc, "pass the map of this tensor"
            )
            return
        tensor, inside = self._tensor(wave, described, corner)
        if tensor is None:
            return
        box = self._box(wave, described, shared)
        if box is None:
            return
        known = None if inside.all() else inside
        shifts = aims(wave, thread.warp, mask)
        if barrier is None:
            update = None if self._operation is None else update_of(self._operation, type_of(data), "shared")
            if update is not None:
                dtype = dtype_of(type_of(data))
                box, tensor = (Elements(side.space, side.arena, dtype, side.index) for side in (box, tensor))
            thread.issue(box, (tensor,), (), described.bytes, known, described.fill, update)
            return
        step = described.dtype.itemsize
        targets = tuple(Elements("shared", box.arena, box.dtype, box.index + shift // step) for shift in shifts)
        barriers = tuple(barrier + shift for shift in shifts)
        thread.issue(tensor, targets, barriers, described.bytes, known, described.fill, None)

    @staticmethod
    def _tensor(wave: Wave, described: Descriptor, corner: tuple[int, ...]) -> tuple[Elements | None, Mask]:
        """Return the elements of a box in the tensor, and which of them are in bounds."""
        addresses, inside = described.global_elements(corner)
        memory, step = wave.memories["global"], described.dtype.itemsize
        sound = addresses[inside]
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
        index = np.where(inside, addresses, 0) // step
        return Elements("global", memory.arena, described.dtype, index), inside

    @staticmethod
    def _box(wave: Wave, described: Descriptor, shared: int) -> Elements | None:
        """Return the elements of a box in shared memory."""
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
        offsets = described.shared_offsets(start) + base
        return Elements("shared", memory.arena, described.dtype, offsets // described.dtype.itemsize)
