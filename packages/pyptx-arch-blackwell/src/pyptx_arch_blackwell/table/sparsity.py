"""Instruction table: spcompress and spdecompress, between dense and structured-sparse vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.rows import ptx, row, summarised

if TYPE_CHECKING:
    from pyptx_ir.isa.rows import InstructionRow

COUNTS = (1, 2, 4, 8, 16, 32, 64)
ELEMENTS = (8, 16)
INDICES = (2, 4)
# Sparsity patterns: number of nonzero elements in each group, and number of elements in a group.
FACTORS = ((1, 2), (1, 4), (1, 8), (1, 16), (2, 4), (2, 8), (2, 16), (4, 8), (4, 16))
WORD = 32
MOST_BITS = 4096  # maximum number of bits of an uncompressed vector operand
MOST_REGISTERS = 253  # maximum number of registers in all vector operands of one instruction together


def _registers(bits: int) -> int:
    return -(-bits // WORD)


def _row(
    head: str, operands: str, bits: dict[str, int], counts: tuple[int, ...], kinds: dict[str, str]
) -> InstructionRow:
    """Return the instruction-table row of an opcode; `bits`: bits of each vector operand per repetition of `.num`."""
    return row(
        f"{head}.num {operands}",
        num=tuple(f"x{count}" for count in counts),
        operands={**{name: f"words(num {size})" for name, size in bits.items()}, **kinds},
        access="wwrr" if kinds else "wrr",
        since=ptx(9, 4),
        targets=("sm_107a",),
        manual=head.partition(".")[0],
        lengths={"num": counts},
    )


def _compress(element: int, index: int) -> InstructionRow:
    bits = {"mdata": WORD * index // element, "cdata": WORD, "data": 2 * WORD}
    operands = "{mdata, mdata}, {cdata, cdata}, {data, data}, spdesc"
    return _row(f"spcompress.b{element}.b{index}.sp::2:4", operands, bits, COUNTS, {"spdesc": "word"})


def _decompress(element: int, index: int, kept: int, group: int) -> InstructionRow | None:
    """Return the instruction-table row of an spdecompress that stores `kept` of `group` elements; None if none exists.

    The stored elements of a group must fit into one register, and an index of `index` bits must reach the whole group.
    """
    if kept * element > WORD or group > 1 << index:
        return None
    bits = {"data": group * element, "mdata": kept * index, "cdata": kept * element}
    counts = tuple(
        count
        for count in COUNTS
        if WORD <= bits["data"] * count <= MOST_BITS
        and sum(_registers(size * count) for size in bits.values()) <= MOST_REGISTERS
    )
    operands = "{data, data}, {mdata, mdata}, {cdata, cdata}"
    return _row(f"spdecompress.b{element}.b{index}.sp::{kept}:{group}", operands, bits, counts, {})


_DECOMPRESSED = (
    _decompress(element, index, kept, group) for element in ELEMENTS for index in INDICES for kept, group in FACTORS
)

SUMMARIES = {
    "Data movement": {
        "spcompress": "Compress a structured-sparse matrix in registers into its values and its metadata.",
        "spdecompress": "Expand a compressed structured-sparse matrix in registers.",
    },
}

ROWS = summarised(
    SUMMARIES,
    *(_compress(element, index) for element in ELEMENTS for index in INDICES),
    *(each for each in _DECOMPRESSED if each),
)
