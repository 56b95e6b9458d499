"""`cp.async.bulk` and `cp.reduce.async.bulk` of contiguous bytes. Manual: "Bulk copy"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.errors import MissingSemantics
from pyptx_sim.instructions import async_copy, tensor_copy
from pyptx_sim.instructions.addresses import SPACES, target
from pyptx_sim.instructions.atomics import update_of
from pyptx_sim.instructions.bulk_issue import Bulk, aims, locate
from pyptx_sim.instructions.mbarriers import ACCESS
from pyptx_sim.instructions.transfers import compile_hint
from pyptx_sim.machine.access import Access
from pyptx_sim.machine.bulk import Elements
from pyptx_sim.machine.lanes import WARP
from pyptx_sim.types import dtype_of

if TYPE_CHECKING:
    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.instructions.operands import Operands
    from pyptx_sim.machine.atomics import Update
    from pyptx_sim.machine.code import Step
    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Mask
    from pyptx_sim.types import DType

_CHUNK = 16  # bytes: what sizes and addresses are multiples of
_UNIT = np.dtype(np.complex128)  # sixteen bytes whose bits are only ever copied
_UNSUPPORTED = ("ignore_oob", "override::global_address")


def compile_cp(operands: Operands) -> Step:
    """Compile everything that begins with `cp`."""
    opcode = operands.opcode
    if "bulk" not in opcode:
        return async_copy.compile_copy(operands)
    if "commit_group" in opcode:
        return async_copy.commit("bulk")
    if "wait_group" in opcode:
        latest = int(operands.constant(operands.operands[0]))
        return async_copy.wait("bulk", latest, reads="read" in opcode)
    if "prefetch" in opcode:
        return compile_hint(operands)
    word = next((word for word in opcode if word in _UNSUPPORTED or word.startswith("mbarrier::report")), None)
    if word is not None:
        raise MissingSemantics(f"the simulator has no semantics for bulk copies with .{word}")
    return tensor_copy.compile_tensor_copy(operands) if "tensor" in opcode else _compile(operands)


def _compile(operands: Operands) -> Step:
    into, out_of = [word.partition("::")[0] for word in operands.opcode if word.partition("::")[0] in SPACES][:2]
    rest = list(operands.operands[3:])
    barrier = rest.pop(0) if "mbarrier::complete_tx::bytes" in operands.opcode else None
    mask = rest.pop(0) if any(word.startswith("multicast") for word in operands.opcode) else None
    bytes_kept = rest[-1] if "cp_mask" in operands.opcode else None
    return _Contiguous(operands, into, out_of, barrier, mask, bytes_kept).step


def _element(operands: Operands) -> tuple[Update | None, DType]:
    """Return how a reduction combines, and the dtype of what it combines."""
    if operands.opcode[1] != "reduce":
        return None, _UNIT
    ptx_type = operands.opcode[-1]
    # As for atomics: f32 in global memory is flushed, unless the instruction says otherwise.
    space = "global" if "bulk_group" in operands.opcode and "noftz" not in operands.opcode else "shared"
    name = next(word for word in reversed(operands.opcode[:-1]) if update_of(word, ptx_type, space) is not None)
    return update_of(name, ptx_type, space), dtype_of(ptx_type)


class _Contiguous:
    """One instruction that copies `size` bytes from one place to another."""

    def __init__(
        self,
        operands: Operands,
        into: str,
        out_of: str,
        barrier: Operand | None,
        mask: Operand | None,
        bytes_kept: Operand | None,
    ) -> None:
        destination, source, size = operands.operands[:3]
        self._spaces = (into, out_of)
        self._finds = target(operands, destination, into), target(operands, source, out_of)
        self._size = operands.read(size, "u32")
        self._barrier = None if barrier is None else target(operands, barrier, "shared")
        self._mask = None if mask is None else operands.read(mask, "u16" if "32b" not in mask_word(operands) else "u32")
        self._bytes = None if bytes_kept is None else operands.read(bytes_kept, "u16")
        self._update, self._dtype = _element(operands)
        if bytes_kept is not None:
            self._dtype = np.dtype(np.uint8)

    def step(self, wave: Wave, lanes: Lanes) -> None:
        """Issue the copies of all threads; those of equal size together."""
        sizes = np.broadcast_to(self._size(wave, lanes), (lanes.height, WARP))
        for size in np.unique(sizes[lanes.full_mask]).tolist():
            some = lanes.narrowed(sizes == size)
            if some is not None and size:
                self._copy(wave, some, size)

    def _copy(self, wave: Wave, lanes: Lanes, size: int) -> None:
        if size % _CHUNK:
            wave.mbarriers.misuse(
                "misaligned", f"a bulk copy of {size} bytes", wave.pc, "the size must be a multiple of 16"
            )
            return
        spots: list[IntArray] = []
        kinds = ("write" if self._update is None else "atomic", "read")
        for find, space, kind in zip(self._finds, self._spaces, kinds, strict=True):
            access = Access("read" if kind == "read" else "write", size, alignment=_CHUNK)
            spots.append(locate(wave, lanes, find, access, space))
        if self._barrier is not None:
            spots.append(locate(wave, lanes, self._barrier, ACCESS, "shared"))
        sound = lanes.narrowed(np.logical_and.reduce([spot >= 0 for spot in spots]))
        if sound is None:
            return
        masks = None if self._mask is None else np.broadcast_to(self._mask(wave, lanes), (lanes.height, WARP))
        for row, lane in zip(*(part.tolist() for part in sound.active), strict=True):
            places = [int(spot[row, lane]) for spot in spots]
            mask = None if masks is None else int(masks[row, lane])
            warp = int(sound.warps(np.array([row]))[0])
            self._issue(wave, warp, lane, places, mask, size, self._kept(wave, lanes, row, lane, size))

    def _kept(self, wave: Wave, lanes: Lanes, row: int, lane: int, size: int) -> Mask | None:
        """Return which bytes a byte mask lets pass."""
        if self._bytes is None:
            return None
        bits = int(np.broadcast_to(self._bytes(wave, lanes), (lanes.height, WARP))[row, lane])
        return np.tile(np.array([bits >> byte & 1 for byte in range(_CHUNK)], np.bool_), size // _CHUNK)

    def _issue(
        self, wave: Wave, warp: int, lane: int, places: list[int], mask: int | None, size: int, kept: Mask | None
    ) -> None:
        unit = self._dtype.itemsize
        steps = np.arange(size // unit, dtype=np.int64)
        into, out_of = self._spaces
        source = Elements(out_of, wave.memories[out_of].arena, self._dtype, places[1] // unit + steps)
        arena = wave.memories[into].arena
        targets = tuple(
            Elements(into, arena, self._dtype, (places[0] + shift) // unit + steps) for shift in aims(wave, warp, mask)
        )
        barriers = tuple(places[2] + shift for shift in aims(wave, warp, mask)) if len(places) > 2 else ()
        fill = np.zeros(1, self._dtype)
        Bulk(wave, warp, lane).issue(source, targets, barriers, size, kept, fill, self._update)


def mask_word(operands: Operands) -> str:
    """Return the word that says where a multicast goes."""
    return next((word for word in operands.opcode if word.startswith("multicast")), "")
