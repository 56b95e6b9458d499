"""Semantics of `cp.async.bulk` and `cp.reduce.async.bulk`. Manual: "Bulk copy"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pyptx_arch_hopper.sim.tma import tensor_copy
from pyptx_arch_hopper.sim.tma.bulk import Elements, Transfer
from pyptx_arch_hopper.sim.tma.groups import BULK
from pyptx_arch_hopper.sim.tma.issue import aims, completed_only, issue, mask_of, prepare
from pyptx_sim.errors import MissingSemantics
from pyptx_sim.extension import MBARRIER_BYTES, InstructionSemantics
from pyptx_sim.types import SIXTEEN, dtype_of

if TYPE_CHECKING:
    from pyptx_arch_hopper.sim.tma.issue import Issued
    from pyptx_sim.extension import Action, Array, ExecutionContext, IntArray, Mask, Operands, Update
    from pyptx_sim.types import DType

_CHUNK = 16  # bytes: alignment of the size and addresses of a bulk copy


def compile_cp(operands: Operands) -> Action:
    """Return the action of a bulk copy, or of its commit_group or wait_group."""
    if operands.word("commit_group"):
        return operands.action(lambda turn: turn.commit(BULK))
    if operands.word("wait_group"):
        latest, reads = operands.number("n"), bool(operands.word("read"))
        return operands.action(lambda turn: turn.wait(BULK, latest, reads=reads))
    if operands.word("prefetch"):
        return operands.nothing()
    word = operands.word("report") or operands.word("disabled")
    if word:
        raise MissingSemantics(f"no simulator semantics for bulk copies with .{word}")
    if operands.word("tensor"):
        return tensor_copy.compile_tensor_copy(operands)
    return operands.action(_Contiguous(operands).execute)


def _element(operands: Operands) -> tuple[Update | None, DType]:
    """Return the update of a reduction (None for a copy), and the dtype of the elements."""
    if not operands.word("reduce"):
        whole = not {"byte_mask", "ignore_left"} & set(operands.names)
        return None, SIXTEEN if whole else np.dtype(np.uint8)
    ptx_type = operands.word("type")
    # Like atomics, bulk reductions flush f32 subnormals in global memory, unless the instruction has `.noftz`.
    space = "global" if operands.word("bulk_group") and not operands.word("noftz") else "shared"
    return operands.update(operands.word("op"), ptx_type, space), dtype_of(ptx_type)


class _Extent(NamedTuple):
    """Size of a bulk copy, and the numbers of ignored bytes at its two ends, in bytes."""

    size: int
    left: int
    right: int

    @property
    def kept(self) -> int:
        """Number of the copy's bytes, without the ignored bytes at its two ends."""
        return self.size - self.left - self.right

    def fault(self) -> tuple[str, str, str] | None:
        """Return rule name, message and help for an invalid size or number of ignored bytes; None if both are valid."""
        if self.size % _CHUNK:
            message = f"invalid bulk copy size {self.size}: must be a multiple of {_CHUNK} bytes"
            return "misaligned", message, "round the size up to a multiple of 16 bytes"
        if max(self.left, self.right) >= _CHUNK:
            message = f"bulk copy ignores {self.left} and {self.right} bytes at its ends: at most {_CHUNK - 1} each"
            return "out-of-bounds", message, "shorten the copy by the 16-byte chunks that are ignored as a whole"
        return None


class _Contiguous:
    """A cp.async.bulk or cp.reduce.async.bulk instruction."""

    def __init__(self, operands: Operands) -> None:
        self._spaces = tuple(space.partition("::")[0] for space in operands.form().spaces)
        names = operands.names
        self._into = operands.place("dst", self._spaces[0])
        self._from = operands.place("src", self._spaces[1])
        self._size = operands.source("size", "u32")
        self._barrier = operands.place("mbar", "shared") if "mbar" in names else None
        self._mask = mask_of(operands)
        self._bytes = operands.source("byte_mask", "u16") if "byte_mask" in names else None
        self._ends = [operands.source(name, "u32") for name in ("ignore_left", "ignore_right") if name in names]
        self._update, self._dtype = _element(operands)

    def execute(self, turn: ExecutionContext) -> None:
        """Issue the bulk copies of all executing threads, grouped by size."""
        given = [turn.read(each) for each in (self._size, *self._ends)]
        for numbers in np.unique(np.stack([each[turn.places] for each in given]), axis=1).T.tolist():
            size, left, right = numbers if self._ends else (*numbers, 0, 0)
            alike = [each == number for each, number in zip(given, numbers, strict=True)]
            some = turn.narrowed(np.logical_and.reduce(alike))
            if some is not None and size:
                self._copy(some, _Extent(size, left, right))

    def _copy(self, turn: ExecutionContext, extent: _Extent) -> None:
        wrong = extent.fault()
        if wrong is not None:
            turn.misuse(*wrong)
            return
        spots = [
            turn.offsets(self._into, extent.size, "write", space=self._spaces[0], alignment=_CHUNK),
            self._sources(turn, extent),
        ]
        if self._barrier is not None:
            spots.append(turn.offsets(self._barrier, MBARRIER_BYTES, "atomic"))
        valid = np.logical_and.reduce([spot >= 0 for spot in spots])
        self._complete_others(turn.narrowed(~valid & (spots[-1] >= 0)), spots, extent)
        sound = turn.narrowed(valid)
        if sound is None:
            return
        at = sound.places
        masks = None if self._mask is None else turn.read(self._mask)[at]
        kept = None if self._bytes is None else turn.read(self._bytes)[at]
        copies: list[Issued | None] = []
        for number, one in enumerate(sound.by_thread()):
            places = [int(spot[at][number]) for spot in spots]
            mask = None if masks is None else int(masks[number])
            known = None if kept is None else _passing(int(kept[number]), extent.size)
            copies.append(self._thread(one, places, mask, extent, known))
        issue(turn, copies)

    def _complete_others(self, turn: ExecutionContext | None, spots: list[IntArray], extent: _Extent) -> None:
        """Perform complete-tx for threads with an invalid source or destination, and a valid mbarrier."""
        if turn is None or self._barrier is None:
            return
        at = turn.places
        masks = None if self._mask is None else turn.read(self._mask)[at]
        for number, one in enumerate(turn.by_thread()):
            into, _, barrier = (int(spot[at][number]) for spot in spots)
            shifts = aims(one, barrier, None if masks is None else int(masks[number]))
            start, unit = into // self._dtype.itemsize, self._dtype.itemsize
            index = np.arange(start, start + extent.size // unit)
            arena = one.memory(self._spaces[0]).arena
            target = Elements(self._spaces[0], arena, self._dtype, index, together=len(index)) if into >= 0 else None
            barriers = tuple(barrier + shift for shift in shifts)
            issue(one, [completed_only(one, extent.kept, barriers, target)])

    def _sources(self, turn: ExecutionContext, extent: _Extent) -> IntArray:
        """Return the start of each thread's source; the ignored bytes at the source's ends may be out of bounds."""
        space = self._spaces[1]
        if not self._ends:
            return turn.offsets(self._from, extent.size, space=space, alignment=_CHUNK)
        inner = turn.offsets(self._from, extent.kept, space=space, alignment=1, behind=extent.left)
        spots = inner - extent.left
        if (spots[spots >= 0] % _CHUNK).any():
            help = "align the source, including the ignored bytes, to 16 bytes"
            turn.misuse("misaligned", "cp.async.bulk source is not 16-byte aligned", help)
        return spots

    def _thread(
        self, turn: ExecutionContext, places: list[int], mask: int | None, extent: _Extent, known: Mask | None
    ) -> Issued | None:
        """Return the bulk copy of one thread."""
        unit = self._dtype.itemsize
        steps = np.arange(extent.left, extent.size - extent.right, unit, dtype=np.int64) // unit
        into, out_of = self._spaces[:2]
        arena = turn.memory(into).arena
        shifts = aims(turn, places[0], mask)
        if self._ends:  # destination bytes that .ignore_oob excludes from the copy become undefined
            arena.forget(places[0], extent.left)
            arena.forget(places[0] + extent.size - extent.right, extent.right)
        barriers = tuple(places[2] + shift for shift in shifts) if len(places) > 2 else ()
        fill: Array = np.zeros(1, self._dtype)
        starts = tuple((places[0] + shift) // unit for shift in shifts)
        targets = tuple(Elements(into, arena, self._dtype, start + steps, together=len(steps)) for start in starts)
        source = turn.memory(out_of).arena
        transfer = Transfer(
            source=Elements(out_of, source, self._dtype, places[1] // unit + steps, together=len(steps)),
            targets=targets,
            fill=fill,
            fills=bool(barriers),
            known=known,
            update=self._update,
        )
        return prepare(turn, transfer, extent.size, barriers=barriers)


def _passing(bits: int, size: int) -> Mask:
    """Return which bytes of a copy the 16-bit `byte_mask` selects."""
    return np.tile(np.array([bits >> byte & 1 for byte in range(_CHUNK)], np.bool_), size // _CHUNK)


def track(opcode: tuple[str, ...]) -> str:
    """Return the name of the timeline track that shows a bulk copy."""
    into = next((word for word in opcode if word.startswith(("shared", "global"))), "global")
    does = "reductions" if opcode[1] == "reduce" else "loads" if into.startswith("shared") else "stores"
    return f"TMA {does}" if "tensor" in opcode else f"bulk {does}"


STEPS: Final = (
    InstructionSemantics(
        opcode="cp.async.bulk",
        effect="issue",
        compile=compile_cp,
        signals_mbarrier="mbarrier::complete_tx::bytes",
        track=track,
    ),
    InstructionSemantics(opcode="cp.reduce.async.bulk", effect="issue", compile=compile_cp, track=track),
)
