"""Manual: "Logic and Shift Instructions"."""

from __future__ import annotations

from pyptx_ir.isa.rows import InstructionRow, ptx, row, summarised
from pyptx_ir.isa.table.type_sets import BITS, INTEGERS

AMOUNT = {"b": "int32"}


def _bitwise(name: str) -> tuple[InstructionRow, ...]:
    return (
        row(f"{name}.type d, a, b", type=BITS, manual=name),
        row(f"{name}.pred d, a, b", operands={"a": "pred or !", "b": "pred or !"}, manual=name),
    )


SUMMARIES = {
    "Bits": {
        "and": "Compute the bitwise AND of two values, or the AND of two predicates.",
        "or": "Compute the bitwise OR of two values, or the OR of two predicates.",
        "xor": "Compute the bitwise XOR of two values, or the XOR of two predicates.",
        "not": "Invert every bit of a value, or negate a predicate.",
        "cnot": "Return 1 if a value is zero, else 0, as the logical NOT of C.",
        "lop3": "Apply a bitwise function of three inputs, defined by a truth table of 8 bits.",
        "shf": "Shift the 64 bits of two 32-bit registers, and return 32 bits of the result (a funnel shift).",
        "shl": "Shift a value to the left; shift amounts above the width of the type give zero.",
        "shr": "Shift a value to the right; signed types fill with the sign bit, other types with zeros.",
    },
}

ROWS = summarised(
    SUMMARIES,
    *_bitwise("and"),
    *_bitwise("or"),
    *_bitwise("xor"),
    row("not.type d, a", type=BITS, manual="not"),
    row("not.pred d, a", operands={"a": "pred or !"}, manual="not"),
    row("cnot.type d, a", type=BITS, manual="cnot"),
    row("lop3.b32 d, a, b, c, immLut", operands={"immLut": "imm"}, since=ptx(4, 3), manual="lop3"),
    row(
        "lop3.boolop.b32 d|p, a, b, c, immLut, q",
        boolop=("and", "or"),
        operands={"d": "b32 or _", "immLut": "imm", "q": "pred or !"},
        since=ptx(8, 2),
        targets=("sm_70",),
        manual="lop3",
    ),
    row(
        "shf.direction.mode.b32 d, a, b, c",
        direction=("l", "r"),
        mode=("clamp", "wrap"),
        operands={"c": "int32"},
        leading=True,
        since=ptx(3, 1),
        manual="shf",
    ),
    row("shl.type d, a, b", type=BITS, operands=AMOUNT, manual="shl"),
    row("shr.type d, a, b", type=(*BITS, *INTEGERS), operands=AMOUNT, manual="shr"),
)
