"""`cp.async.bulk` and `cp.reduce.async.bulk` of contiguous bytes. Manual: "Bulk copy"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pyptx_arch_hopper.sim.tma import tensor_copy
from pyptx_arch_hopper.sim.tma.bulk import Elements
from pyptx_arch_hopper.sim.tma.groups import BULK
from pyptx_arch_hopper.sim.tma.issue import Bulk, aims
from pyptx_sim.errors import MissingSemantics
from pyptx_sim.extension import Step
from pyptx_sim.instructions.memory.addresses import SPACES, target
from pyptx_sim.instructions.memory.atomics import update_of
from pyptx_sim.instructions.memory.transfers import compile_hint
from pyptx_sim.instructions.synchronization import async_copy
from pyptx_sim.instructions.synchronization.mbarriers import ACCESS
from pyptx_sim.instructions.synchronization.threads import locate
from pyptx_sim.machine.lanes import WARP
from pyptx_sim.machine.memory.access import Access
from pyptx_sim.types import SIXTEEN, dtype_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.memory.atomics import Update
    from pyptx_sim.machine.memory.spaces import Memory
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Mask
    from pyptx_sim.types import DType

_CHUNK = 16  # bytes: what sizes and addresses are multiples of


class _Given(NamedTuple):
    """The operands of a bulk copy behind destination, source and size; None where the form has none."""

    barrier: Operand | None
    mask: Operand | None
    bytes_kept: Operand | None
    ends: tuple[Operand, ...]


def compile_cp(operands: Operands) -> Action:
    """Compile bulk copies, and what orders them."""
    opcode = operands.opcode
    if "commit_group" in opcode:
        return async_copy.commit(BULK)
    if "wait_group" in opcode:
        latest = int(operands.constant(operands.operands[0]))
        return async_copy.wait(BULK, latest, reads="read" in opcode)
    if "prefetch" in opcode:
        return compile_hint(operands)
    word = next((word for word in opcode if word.startswith("mbarrier::report")), None)
    if word is not None:
        raise MissingSemantics(f"the simulator has no semantics for bulk copies with .{word}")
    return tensor_copy.compile_tensor_copy(operands) if "tensor" in opcode else _compile(operands)


def _compile(operands: Operands) -> Action:
    opcode = operands.opcode
    into, out_of = [word.partition("::")[0] for word in opcode if word.partition("::")[0] in SPACES][:2]
    rest = list(operands.operands[3:])
    ends = (rest.pop(0), rest.pop(0)) if "ignore_oob" in opcode else ()
    barrier = rest.pop(0) if "mbarrier::complete_tx::bytes" in opcode else None
    mask = rest.pop(0) if any(word.startswith("multicast") for word in opcode) else None
    given = _Given(barrier, mask, rest[-1] if "cp_mask" in opcode else None, ends)
    return _Contiguous(operands, (into, out_of), given).step


def _element(operands: Operands) -> tuple[Update | None, DType]:
    """Return how a reduction combines, and the dtype of what it combines."""
    if operands.opcode[1] != "reduce":
        return None, SIXTEEN
    ptx_type = operands.opcode[-1]
    # As for atomics: f32 in global memory is flushed, unless the instruction says otherwise.
    space = "global" if "bulk_group" in operands.opcode and "noftz" not in operands.opcode else "shared"
    name = next(word for word in reversed(operands.opcode[:-1]) if update_of(word, ptx_type, space) is not None)
    return update_of(name, ptx_type, space), dtype_of(ptx_type)


class _Extent(NamedTuple):
    """The bytes of a copy, and how many at its ends need not exist."""

    size: int
    left: int
    right: int

    @property
    def kept(self) -> int:
        """How many bytes are read."""
        return self.size - self.left - self.right

    def fault(self) -> tuple[str, str, str] | None:
        """Return the rule that it breaks, how, and what to do."""
        if self.size % _CHUNK:
            return "misaligned", f"{self.size} bytes", f"the size must be a multiple of {_CHUNK}"
        if max(self.left, self.right) >= _CHUNK:
            what = f"{self.size} bytes that ignores {self.left} and {self.right}"
            return "out-of-bounds", what, f"less than {_CHUNK} bytes can be ignored at each end"
        return None


class _Contiguous:
    """One instruction that copies `size` bytes from one place to another."""

    def __init__(self, operands: Operands, spaces: tuple[str, str], given: _Given) -> None:
        destination, source, size = operands.operands[:3]
        self._spaces = spaces
        self._finds = target(operands, destination, spaces[0]), target(operands, source, spaces[1])
        self._size = operands.read(size, "u32")
        self._barrier = None if given.barrier is None else target(operands, given.barrier, "shared")
        wide = "u32" if "32b" in mask_word(operands) else "u16"
        self._mask = None if given.mask is None else operands.read(given.mask, wide)
        self._bytes = None if given.bytes_kept is None else operands.read(given.bytes_kept, "u16")
        self._ends = [operands.read(end, "u32") for end in given.ends]
        self._update, self._dtype = _element(operands)
        if given.bytes_kept is not None or given.ends:
            self._dtype = np.dtype(np.uint8)

    def step(self, wave: Wave, lanes: Lanes) -> None:
        """Issue the copies of all threads; those of equal size together."""
        readers = (self._size, *self._ends)
        given = [np.broadcast_to(read(wave, lanes), (lanes.height, WARP)) for read in readers]
        for numbers in np.unique(np.stack([each[lanes.full_mask] for each in given]), axis=1).T.tolist():
            size, left, right = numbers if self._ends else (*numbers, 0, 0)
            alike = [each == number for each, number in zip(given, numbers, strict=True)]
            some = lanes.narrowed(np.logical_and.reduce(alike))
            if some is not None and size:
                self._copy(wave, some, _Extent(size, left, right))

    def _copy(self, wave: Wave, lanes: Lanes, extent: _Extent) -> None:
        wrong = extent.fault()
        if wrong is not None:
            wave.mbarriers.misuse(wrong[0], f"a bulk copy of {wrong[1]}", wave.pc, wrong[2])
            return
        spots = [
            locate(wave, lanes, self._finds[0], Access("write", extent.size, alignment=_CHUNK), self._spaces[0]),
            self._sources(wave, lanes, extent),
        ]
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
            kept = self._kept(wave, lanes, row, lane, extent.size)
            self._issue(Bulk(wave, warp, lane), places, mask, extent, kept)

    def _sources(self, wave: Wave, lanes: Lanes, extent: _Extent) -> IntArray:
        """Return where each thread's source begins; what lies at ignored ends need not be there."""
        find, space = self._finds[1], self._spaces[1]
        if not self._ends:
            return locate(wave, lanes, find, Access("read", extent.size, alignment=_CHUNK), space)

        def inner(wave: Wave, lanes: Lanes) -> Iterator[tuple[Memory, Lanes, IntArray]]:
            for memory, part, addresses in find(wave, lanes):
                yield memory, part, addresses + extent.left

        spots = locate(wave, lanes, inner, Access("read", extent.kept, alignment=1), space) - extent.left
        if (spots[spots >= 0] % _CHUNK).any():
            hint = "the source must be aligned to 16 bytes, ignored bytes included"
            wave.mbarriers.misuse("misaligned", "a bulk copy from between two pieces of 16 bytes", wave.pc, hint)
        return spots

    def _kept(self, wave: Wave, lanes: Lanes, row: int, lane: int, size: int) -> Mask | None:
        """Return which bytes a byte mask lets pass."""
        if self._bytes is None:
            return None
        bits = int(np.broadcast_to(self._bytes(wave, lanes), (lanes.height, WARP))[row, lane])
        return np.tile(np.array([bits >> byte & 1 for byte in range(_CHUNK)], np.bool_), size // _CHUNK)

    def _issue(self, bulk: Bulk, places: list[int], mask: int | None, extent: _Extent, kept: Mask | None) -> None:
        wave, unit = bulk.wave, self._dtype.itemsize
        steps = np.arange(extent.left, extent.size - extent.right, unit, dtype=np.int64) // unit
        into, out_of = self._spaces
        source = Elements(out_of, wave.memories[out_of].arena, self._dtype, places[1] // unit + steps)
        arena = wave.memories[into].arena
        shifts = aims(wave, bulk.warp, mask)
        targets = tuple(Elements(into, arena, self._dtype, (places[0] + shift) // unit + steps) for shift in shifts)
        barriers = tuple(places[2] + shift for shift in shifts) if len(places) > 2 else ()
        if self._ends and arena.initialised is not None:  # what is ignored may become anything
            arena.initialised[places[0] : places[0] + extent.left] = 0
            arena.initialised[places[0] + extent.size - extent.right : places[0] + extent.size] = 0
        bulk.issue(source, targets, barriers, extent.size, kept, np.zeros(1, self._dtype), self._update)


def mask_word(operands: Operands) -> str:
    """Return the word that says where a multicast goes."""
    return next((word for word in operands.opcode if word.startswith("multicast")), "")


def track(opcode: tuple[str, ...]) -> str:
    """Return what carries a bulk copy out."""
    into = next((word for word in opcode if word.startswith(("shared", "global"))), "global")
    does = "reductions" if opcode[1] == "reduce" else "loads" if into.startswith("shared") else "stores"
    return f"TMA {does}" if "tensor" in opcode else f"bulk {does}"


STEPS: Final = (
    Step(
        opcode="cp.async.bulk", effect="issue", compile=compile_cp, signals="mbarrier::complete_tx::bytes", track=track
    ),
    Step(opcode="cp.reduce.async.bulk", effect="issue", compile=compile_cp, track=track),
)
