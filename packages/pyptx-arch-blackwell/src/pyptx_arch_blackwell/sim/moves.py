"""`tcgen05.ld` and `tcgen05.st`: moves between a warp's registers and its lanes of tensor memory.

A load writes its registers at issue: later uses get the right values, with or without a wait. A load's reads, and a
store's writes, complete at tcgen05.wait. Manual: "tcgen05.ld", "tcgen05.st", "tcgen05.wait", "Register dependencies,
same thread".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pyptx_arch_blackwell.datapath import LANES, PARTITION
from pyptx_arch_blackwell.layouts.moves import register_fragment
from pyptx_arch_blackwell.sim import thread_order
from pyptx_arch_blackwell.sim.allocation import AllocatedColumns
from pyptx_arch_blackwell.sim.tensor_memory import (
    COLUMNS,
    SPACE,
    TENSOR,
    WORD,
    Pieces,
    TensorMemoryWords,
    address_of,
    columns_of,
    lanes_of,
    placed,
)
from pyptx_sim.errors import MissingSemantics
from pyptx_sim.extension import WARP, WARPGROUP, AsyncAccess, AsyncIssue, GroupKind, InstructionSemantics
from pyptx_sim.numerics.extremes import Extreme
from pyptx_sim.numerics.nan import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from pyptx_sim.extension import Action, Array, Carried, ExecutionContext, IntArray, Operands, Origin, Writer

__all__ = ["LOADS", "STEPS", "STORES"]

LOADS: Final = GroupKind(
    name="tcgen05.ld",
    operations="tcgen05.ld",
    unfinished="unfinished-tcgen05-ld",
    wait="tcgen05.wait::ld in the issuing warp, then a barrier",
)
STORES: Final = GroupKind(
    name="tcgen05.st",
    operations="tcgen05.st",
    unfinished="unfinished-tcgen05-st",
    wait="tcgen05.wait::st in the issuing warp, then a barrier",
)
_SHAPES: Final = ("16x64b", "16x128b", "16x256b", "32x32b", "16x32bx2")
_WORD: Final = np.dtype(np.uint32)
_LOW: Final = 0xFFFF
_HELP: Final = "add 32 * (warp % 4) to the lane field (bits 31-16) of the address"


@dataclass(frozen=True, slots=True)
class Window:
    """Cells (one lane, one column) that one instruction accesses, as word offsets from its address.

    `words` is `[registers, 32]`, or `[registers, 2, 32]` if a register holds the lower halves of two cells. `pieces`
    are the cells' byte numbers in race checks, for an address whose column is a multiple of 4. `lanes` and `columns`
    are the extent of the accesses.
    """

    words: IntArray
    lanes: int
    columns: int
    halves: bool
    pieces: Pieces


@lru_cache(maxsize=256)
def window(shape: str, repeats: int, split: int, *, halves: bool) -> Window:
    """Return the words that tcgen05.ld or st accesses; the two accesses of 16x32bx2 are `split` columns apart."""
    fragment = register_fragment(shape, repeats, packed=halves)
    threads, indices = range(WARP), range(fragment.count)
    cells = [
        [
            fragment.row(thread, index) * COLUMNS
            + fragment.column(thread, index)
            + fragment.product(thread, index) * split
            for thread in threads
        ]
        for index in indices
    ]
    words = np.array(cells, np.int64)
    columns = fragment.columns + (split if fragment.products > 1 else 0)
    pieces = Pieces.of(placed(words.reshape(-1)))
    return Window(words.reshape(-1, 2, WARP) if halves else words, fragment.rows, columns, halves, pieces)


@dataclass(slots=True, kw_only=True)
class Stored(AsyncIssue):
    """Outstanding tcgen05.st of warps: tensor memory words `index` become `values`, both `[n, cells, 32]`.

    The bits of the values in `unknown` are undefined, with their `Origin` in `origins`; both are empty if all values
    are defined.
    """

    index: IntArray
    values: NDArray[np.uint32]
    unknown: NDArray[np.uint32]
    origins: tuple[Origin, ...]

    def move(self) -> None:
        """Write the values to tensor memory, and mark their undefined bits."""
        arena = self.wave.memory(SPACE).arena
        arena.put(self.index, self.values)
        if len(self.unknown) and self.unknown.any():
            arena.leave(self.index * WORD, WORD, [self.unknown], self.origins[0])


class _Move:
    """Common base of `tcgen05.ld` and `tcgen05.st`: addresses and checks of the warps' tensor memory accesses."""

    def __init__(self, operands: Operands) -> None:
        shape = next(word for word in operands.opcode if word in _SHAPES)
        split = operands.number("offset") if "offset" in operands.names else 0
        halves = not {"pack::16b", "unpack::16b"}.isdisjoint(operands.opcode)
        self.window = window(shape, int(operands.word("num")[1:]), split, halves=halves)
        self._address = address_of(operands, "taddr")

    def base(self, turn: ExecutionContext) -> IntArray | None:
        """Return the index of the word at each warp's tensor memory address; None if an access is invalid."""
        turn.memory(SPACE)
        values = turn.read(self._address)
        wave, warps = turn.wave, turn.warps
        rows = np.flatnonzero(turn.mask.any(axis=1))
        first = turn.mask[rows].argmax(axis=1)
        addresses = values[rows, first]
        if turn.checked and (turn.mask[rows] & (values[rows] != addresses[:, None])).any():
            message = "tensor memory address is not uniform across the warp"
            turn.report("tmem-lanes", message, help="pass the same address in all 32 threads")
        lanes, columns, blocks = lanes_of(addresses), columns_of(addresses), wave.geometry.cta[warps]
        reached = self._reached(turn, warps, lanes)
        if reached is None or not self._allocated(turn, blocks, columns):
            return None
        base: IntArray = (blocks * LANES + reached) * COLUMNS + columns
        return base

    def _reached(self, turn: ExecutionContext, warps: IntArray, lanes: IntArray) -> IntArray | None:
        """Return the first lane of each warp's access, from its address; None if a warp accesses another quarter.

        A device takes the lane quarter from the warp index and ignores the quarter in the address, which is 0 in
        published kernels. The manual requires the warp's own quarter in the address.
        """
        window, geometry = self.window, turn.wave.geometry
        quarter = geometry.warp[warps] % WARPGROUP * PARTITION
        named, inside = lanes // PARTITION * PARTITION, lanes % PARTITION
        own: IntArray = quarter + inside
        unnamed = (named == 0) & (quarter != 0)
        foreign = ((named != quarter) & ~unnamed) | (inside + window.lanes > PARTITION)
        if unnamed.any():
            at = int(unnamed.argmax())
            first, name = int(quarter[at]), geometry.warp_name(int(warps[at]))
            turn.report(
                "tmem-lanes",
                f"lane field of the address is in quarter 0; the warp accesses lanes {first}-{first + PARTITION - 1}",
                label=f"access by {name}",
                help=_HELP,
                count=int(np.count_nonzero(unnamed)),
                severity="note",
            )
        if not foreign.any():
            return own
        at = int(foreign.argmax())
        low, first = int(lanes[at]), int(quarter[at])
        reach = f"lanes {low}-{low + window.lanes - 1} but can access only lanes {first}-{first + PARTITION - 1}"
        turn.fault(
            "tmem-lanes",
            f"warp {first // PARTITION} of the warpgroup accesses {reach}",
            _HELP,
            int(np.count_nonzero(foreign)),
            label=f"access by {geometry.warp_name(int(warps[at]))}",
        )
        return None

    def _allocated(self, turn: ExecutionContext, blocks: IntArray, columns: IntArray) -> bool:
        """Report an access to columns that are not allocated; return whether the access can be performed."""
        allocation, count = turn.part(AllocatedColumns), self.window.columns
        accesses = zip(blocks.tolist(), columns.tolist(), strict=True)
        return all(allocation.check_columns(turn, block, first, count) for block, first in accesses)

    def touches(self, base: IntArray, *, writes: bool) -> Iterator[AsyncAccess]:
        """Yield the warps' tensor memory accesses, for the race checks."""
        first, pieces = placed(base), self.window.pieces
        if first.size and not int(np.bitwise_or.reduce(first)) % pieces.size:
            where, size = first[:, None] + pieces.starts, pieces.size
        else:
            where, size = placed(np.unique(self.window.words) + base[:, None]), WORD
        owners = np.repeat(np.arange(len(base)), where.shape[1])
        yield AsyncAccess(SPACE.name, writes, where.reshape(-1), size, owners, proxy=TENSOR)


@dataclass(slots=True, kw_only=True)
class Loaded(AsyncIssue):
    """Outstanding tcgen05.ld of warps, whose registers were written at issue."""

    def move(self) -> None:
        """Do nothing: the load wrote its registers at issue."""


def compile_load(operands: Operands) -> Action:
    """Execute tcgen05.ld: load tensor memory into warps' registers; with `.red`, also reduce each thread's words."""
    if "spcompress" in operands.opcode:
        raise MissingSemantics("no simulator semantics for tcgen05.ld with .spcompress")
    move, registers = _Move(operands), operands.elements(operands.named("r"))
    writers = [operands.write(each, "b32") for each in registers]
    carried = [operands.carried(each, "b32") for each in registers] if operands.checked else []
    reduce_ = reduction(operands) if "redval" in operands.names else None

    def load(turn: ExecutionContext) -> None:
        base = move.base(turn)
        if base is None:
            return
        words = base[:, None, None] + move.window.words.reshape(-1, WARP)
        memory = turn.part(TensorMemoryWords)
        values = memory.words.reshape(-1).take(words)
        _write(turn, writers, _joined(values, move.window))
        if reduce_ is not None:
            reduce_(turn, values)
        if turn.checked:
            _carry(turn, move.window, carried, words)
        item = Loaded(**_issued(turn, LOADS))
        thread_order.issue(turn, item, move.touches(base, writes=False))

    return operands.action(load)


def _issued(turn: ExecutionContext, kind: GroupKind) -> dict[str, Any]:
    """Return the common fields of an asynchronous operation; a warp's access counts as that of its first thread."""
    leaders = turn.first_lanes()
    warps, lanes = leaders.threads
    return {
        "wave": turn.wave,
        "pc": turn.pc,
        "warps": warps,
        "lanes": lanes,
        "group": kind,
        "numbers": leaders.join(kind),
    }


def _joined(values: Array, window: Window) -> Array:
    """Return the values that tcgen05.ld writes to registers, `[warps, registers, 32]`, from tensor memory words."""
    if not window.halves:
        return values
    pairs = values.reshape(len(values), -1, 2, WARP)
    return (pairs[:, :, 0] & np.uint32(_LOW)) | (pairs[:, :, 1] << np.uint32(16))


def _write(turn: ExecutionContext, writers: Sequence[Writer], values: Array) -> None:
    """Write destination registers of the warps that have active lanes."""
    rows = _rows(turn)
    for number, writer in enumerate(writers):
        turn.write(writer, _spread(turn, rows, values[:, number]))


def _rows(turn: ExecutionContext) -> IntArray | None:
    """Return the indices of the executing warps with active lanes; None if each executing warp has an active lane."""
    rows = np.flatnonzero(turn.mask.any(axis=1))
    return None if len(rows) == len(turn.rows) else rows


def _spread(turn: ExecutionContext, rows: IntArray | None, values: Array) -> Array:
    """Return values of the warps `rows` expanded to all executing warps, with zeros for other warps."""
    if rows is None:
        return values
    whole = np.zeros((len(turn.rows), WARP), values.dtype)
    whole[rows] = values
    return whole


def _carry(turn: ExecutionContext, window: Window, carried: Sequence[Carried | None], words: IntArray) -> None:
    """Propagate undefined bits of loaded tensor memory words to the destination registers."""
    bits = turn.memory(SPACE).arena.undefined(words * WORD, _WORD, 1)
    if bits is None:
        return
    unknown = _joined(bits[0], window)
    unknown_words = bits[0] != 0
    word = words[unknown_words][:1]
    first = int(word[0]) * WORD
    label = f"tcgen05.ld by {turn.warp_name(int(turn.warps[int(np.nonzero(unknown_words)[0][0])]))}"
    rows = _rows(turn)
    each = [_spread(turn, rows, unknown[:, number]) for number in range(unknown.shape[1])]
    where = turn.memory(SPACE).describe_offset(int(placed(word)[0]))
    turn.leave_undefined(carried, each, turn.origin(SPACE, first, where, label=label))


def compile_store(operands: Operands) -> Action:
    """Execute tcgen05.st: store warps' registers to tensor memory; a store completes at tcgen05.wait or earlier."""
    move, registers = _Move(operands), operands.elements(operands.named("r"))
    plain = operands.unchecked()
    readers = [plain.read(each, "b32") for each in registers]
    undefined = operands.fragments(*(operands.carried(each, "b32") for each in registers))

    def store(turn: ExecutionContext) -> None:
        base = move.base(turn)
        if base is None:
            return
        rows = _rows(turn)
        found = turn.undefined_fragments(undefined) if turn.checked else None
        blank = np.zeros((len(turn.rows), WARP), np.uint32)
        unknown = np.zeros((len(base), 0, WARP), np.uint32)
        if found is not None:
            bits = [blank if each is None else each for each in found[0]]
            unknown = _parted(np.stack([_chosen(each, rows) for each in bits], axis=1), move.window)
        item = Stored(
            **_issued(turn, STORES),
            index=base[:, None, None] + move.window.words.reshape(-1, WARP),
            values=_parted(np.stack([_chosen(turn.read(each), rows) for each in readers], axis=1), move.window),
            unknown=unknown,
            origins=() if found is None else (found[1],),
        )
        thread_order.issue(turn, item, move.touches(base, writes=True))

    return operands.action(store)


def _chosen(values: Array, rows: IntArray | None) -> Array:
    return values if rows is None else values[rows]


def _parted(values: Array, window: Window) -> Array:
    """Return the words that tcgen05.st writes, `[warps, words, 32]`; with .unpack::16b, one word per register half."""
    if not window.halves:
        return values
    halves = np.stack([values & np.uint32(_LOW), values >> np.uint32(16)], axis=2)
    return halves.reshape(len(values), -1, WARP)


def reduction(operands: Operands) -> Callable[[ExecutionContext, Array], None]:
    """Return the action that writes the minimum or maximum of each thread's loaded words to its `redval` register."""
    write = operands.write(operands.named("redval"), "b32")
    words = operands.opcode
    ptx_type = next(word for word in words if word in {"f32", "u32", "s32"})
    dtype = {"f32": np.float32, "u32": np.uint32, "s32": np.int32}[ptx_type]
    extreme = Extreme(largest="max" in words, nan="NaN" in words, magnitude="abs" in words)

    def reduce_(turn: ExecutionContext, values: Array) -> None:
        cells = values.view(dtype)
        if ptx_type == "f32":
            found = canonical(reduce(extreme, np.moveaxis(cells, 1, 0)))
        else:
            found = cells.max(axis=1) if extreme.largest else cells.min(axis=1)
        turn.write(write, _spread(turn, _rows(turn), found.view(np.uint32)))

    return reduce_


def _wait(kind: GroupKind) -> Callable[[Operands], Action]:
    return lambda operands: operands.action(lambda turn: turn.wait(kind))


STEPS: Final = (
    InstructionSemantics(opcode="tcgen05.ld", effect="issue", compile=compile_load, converges="warp"),
    InstructionSemantics(opcode="tcgen05.st", effect="issue", compile=compile_store, converges="warp"),
    InstructionSemantics(opcode="tcgen05.wait::ld", effect="order", compile=_wait(LOADS), converges="warp"),
    InstructionSemantics(opcode="tcgen05.wait::st", effect="order", compile=_wait(STORES), converges="warp"),
)
