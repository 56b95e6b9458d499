"""Inference of a Tile from a kernel's tensor copies: rank, direction, and bytes of a box."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_dsl.modules.pointers import instructions
from pyptx_ir.isa.constant_values import constant_value
from pyptx_ir.plugins.descriptor_rows import ExampleTile
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from pyptx_ir.syntax import nodes

__all__ = ["fitting_tile"]

_RANKS = {f"{rank}d": rank for rank in range(1, 6)}
_SLABS = 0  # key, in place of 3, of rank-3 tensor maps that divide a matrix into 128-byte-wide slabs
_RANK_OF_SLABS = 3
_SIZES = {
    _SLABS: (1024, 1024),
    1: (1 << 20,),
    2: (1024, 1024),
    3: (16, 256, 256),
    4: (8, 8, 128, 128),
    5: (4, 4, 8, 64, 128),
}
"""Sizes of example arrays of a few MB, by rank."""
_OTHER_MODES = ("im2col", "tile::")
_CARRY = frozenset({"mov", "cvta", "add"})  # opcodes whose result may be a tensor map address
_ROUNDS = 2  # passes over a kernel body: the second pass has the values that loops carry
_SWIZZLED = 64  # number of 2-byte elements in a row of the 128-byte swizzle
_MOST = 256  # maximum box extent, in elements. CUDA driver API: cuTensorMapEncodeTiled
_LEAST_BYTES = 16  # the innermost extent of a TMA box is a multiple of this number of bytes
_DEFAULTS = (512, 8192)  # assumed bytes of a TMA box of rank 1, and of ranks 2 to 5, if no expect-tx states the size
_WIDTHS = (("bf16", 2), ("f32", 4), ("f64", 8))


@dataclass(frozen=True, slots=True)
class _Copy:
    """A tensor copy: parameter of the tensor map, opcode and modifiers, and whether the first coordinate is 0.

    `reaches` is the number of destination CTAs of a load, 0 for stores and prefetches.
    """

    parameter: str
    words: tuple[str, ...]
    from_slabs: bool
    reaches: int

    @property
    def rank(self) -> int:
        return next((_RANKS[word] for word in self.words if word in _RANKS), 0)

    @property
    def stores(self) -> bool:
        return "bulk_group" in self.words and "global" in self.words


class _Copies:
    """The tensor copies of a kernel, and the bytes of its expect-tx operations."""

    def __init__(self, kernel: nodes.Function) -> None:
        self._maps: dict[tree.Operand, str] = {
            tree.Symbol(each.name): each.name for each in kernel.parameters or () if each.dimensions
        }
        self._constants: defaultdict[tree.Operand, set[int | None]] = defaultdict(set)
        body = list(instructions(kernel.body))
        for _ in range(_ROUNDS):
            for node in body:
                self._carry(node)
        self.found = [copy for node in body for copy in self._copies(node)]
        self.expected = [
            self._constant(node.operands[-1]) for node in body if {"mbarrier", "expect_tx"} <= set(node.opcode)
        ]
        loads = (node for node in body if "mbarrier::complete_tx::bytes" in node.opcode)
        self._others = any("tensor" not in node.opcode for node in loads)

    def _carry(self, node: nodes.Instruction) -> None:
        """Record the tensor map whose address an instruction's result register holds, or the register's constant."""
        result = node.operands[0] if node.operands else None
        if not isinstance(result, tree.Register):
            return
        sources = node.operands[1:]
        if node.opcode[0] in _CARRY:
            found = next((self._maps[each] for each in sources if each in self._maps), None)
            if found is not None:
                self._maps[result] = found
        self._constants[result].add(constant_value(sources[0]) if node.opcode[0] == "mov" and sources else None)

    def _constant(self, operand: tree.Operand) -> int | None:
        known = self._constants.get(operand, set())
        return next(iter(known)) if len(known) == 1 else constant_value(operand)

    def _copies(self, node: nodes.Instruction) -> list[_Copy]:
        if "tensor" not in node.opcode:
            return []
        return [
            _Copy(self._maps[address], node.opcode, self._constant(coordinates[0]) == 0, self._reached(node))
            for operand in node.operands
            if isinstance(operand, tree.TensorAddress)
            and isinstance(vector := operand.elements[-1], tree.Vector)
            and (coordinates := vector.elements)
            and (address := operand.elements[0]) in self._maps
        ]

    def _reached(self, node: nodes.Instruction) -> int:
        """Return the destination CTAs of a load: bits of a constant multicast mask, else 1; 0 for other copies."""
        if "mbarrier::complete_tx::bytes" not in node.opcode:
            return 0
        mask = self._constant(node.operands[3]) if "multicast::cluster" in node.opcode else None
        return (mask or 1).bit_count()

    def bytes_of_load(self) -> int:
        """Return the bytes of one box, the bytes of all expect-tx divided by the number of loads; 0 if not constant."""
        loads = sum(copy.reaches for copy in self.found)
        known = [each for each in self.expected if each]
        if not loads or not known or len(known) < len(self.expected) or self._others or sum(known) % loads:
            return 0
        return sum(known) // loads


def fitting_tile(kernel: nodes.Function, parameter: str) -> ExampleTile | None:
    """Return a Tile for the tensor map in a kernel parameter, from the copies that use it.

    The Tile has the rank of the copies. Copies of rank 3 whose first coordinate is always 0 use a matrix with
    `tma_rank=3`. The box has the bytes that mbarriers expect, if constant, divided by the number of loads. Return None
    if no copy uses the map, if the copies differ in rank, and for im2col, gather4 and scatter4.
    """
    copies = _Copies(kernel)
    own = [copy for copy in copies.found if copy.parameter == parameter]
    ranks = {copy.rank for copy in own}
    if len(ranks) != 1 or any(word.startswith(_OTHER_MODES) for copy in own for word in copy.words):
        return None
    (rank,) = ranks
    size = copies.bytes_of_load() if any(copy.reaches for copy in own) else 0
    slabs = rank == _RANK_OF_SLABS and all(copy.from_slabs for copy in own)
    shown = _SLABS if slabs else rank
    dtype, arguments = _box(size, shown) or _box(_DEFAULTS[shown != 1], shown) or ("", "")
    return ExampleTile(_SIZES[shown], dtype, arguments, any(copy.stores for copy in own))


def _box(size: int, rank: int) -> tuple[str, str] | None:
    """Return a Tile's element type, layout and box arguments for a box of `size` bytes; None if none fits."""
    if size <= 0 or size % _LEAST_BYTES:
        return None
    if rank == 1:
        return next(
            ((name, f", tma_box=({size // width},)") for name, width in _WIDTHS if size // width <= _MOST), None
        )
    elements = size // 2
    inner = min(elements & -elements, _SWIZZLED)
    left, outer = elements // inner, list[int]()
    for _ in range(max(rank, 2) - 1):
        outer.insert(0, next(each for each in range(_MOST, 0, -1) if left % each == 0))
        left //= outer[0]
    if rank == _SLABS and inner == _SWIZZLED:
        return "bf16", f", Layout.TMA_128B, tma_box=({outer[0]}, {inner * left}), tma_rank=3"
    if rank == _SLABS or left > 1:
        return None
    layout = ", Layout.TMA_128B" if inner == _SWIZZLED else ""
    return "bf16", f"{layout}, tma_box=({', '.join(map(str, [*outer, inner]))})"
