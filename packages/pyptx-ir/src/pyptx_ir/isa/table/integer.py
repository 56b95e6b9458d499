"""Manual: "Integer Arithmetic Instructions"."""

from __future__ import annotations

from typing import Any

from pyptx_ir.isa.rows import InstructionRow, ptx, row, summarised
from pyptx_ir.isa.table.type_sets import INTEGERS, INTEGERS_16_32, INTEGERS_32_64, PACKED_8X4, PACKED_16X2, SIGNED

HI_LO = ("hi", "lo")
WORDS = ("u32", "s32")
COUNT = {"d": "int32"}
FIELD = "int32 in 0..255"  # position or length in bits of a bit field, for bfe and bfi
# PTX versions and targets of instructions on packed integers: pairs, and quads.
PAIRS: dict[str, Any] = {"since": ptx(8, 0), "targets": ("sm_90",)}
QUADS: dict[str, Any] = {"since": ptx(9, 2), "targets": ("sm_107f", "sm_120f")}


def _extremum(name: str) -> tuple[InstructionRow, ...]:
    """Return the integer forms of min or max."""
    return (
        row(f"{name}.type d, a, b", type=INTEGERS, manual=name),
        row(f"{name}.type d, a, b", type=PACKED_16X2, **PAIRS, manual=name),
        row(f"{name}.relu.type d, a, b", type=("s32", "s16x2"), **PAIRS, manual=name),
        row(f"{name}.type d, a, b", type=PACKED_8X4, **QUADS, manual=name),
        row(f"{name}.relu.s8x4 d, a, b", **QUADS, manual=name),
    )


def _carried(types: tuple[str, ...], since: tuple[int, int]) -> tuple[InstructionRow, ...]:
    """Return the add, sub and mad forms with carry for these types."""
    products: dict[str, Any] = {"mode": HI_LO, "type": types, "leading": True, "since": max(since, ptx(3, 0))}
    return (
        row("add.cc.type d, a, b", type=types, since=since, manual="add.cc"),
        row("addc{.cc}.type d, a, b", type=types, since=since, manual="addc"),
        row("sub.cc.type d, a, b", type=types, since=since, manual="sub.cc"),
        row("subc{.cc}.type d, a, b", type=types, since=since, manual="subc"),
        row("mad.mode.cc.type d, a, b, c", **products, manual="mad.cc"),
        row("madc.mode{.cc}.type d, a, b, c", **products, manual="madc"),
    )


SUMMARIES = {
    "Arithmetic": {
        "add": "Add two numbers.",
        "sub": "Subtract the second number from the first number.",
        "mul": "Multiply two numbers; for integers, take the low half, the high half or all bits of the product.",
        "mad": "Multiply two numbers and add a third; for integers, add to the low half, high half or full product.",
        "clmad": "Multiply two integers as polynomials over GF(2), without carries; XOR a third to half the product.",
        "mul24": "Multiply the low 24 bits of two integers and take the low or high 32 bits of the 48-bit product.",
        "mad24": "Multiply the low 24 bits of two integers; add a third to the low or high 32 bits of the product.",
        "sad": "Add the absolute difference of two integers to a third integer.",
        "div": "Divide the first number by the second; integers truncate toward zero.",
        "rem": "Take the remainder of an integer division, with the sign of the dividend.",
        "abs": "Take the absolute value of a number.",
        "neg": "Negate a number.",
        "min": "Take the smallest of two or three numbers; floats ignore NaN operands unless .NaN is given.",
        "max": "Take the largest of two or three numbers; floats ignore NaN operands unless .NaN is given.",
        "dp4a": "Add the dot product of four pairs of bytes to a 32-bit integer.",
        "dp2a": "Add the dot product of a pair of 16-bit integers and a pair of bytes to a 32-bit integer.",
        "add.cc": "Add two integers, and write the carry to the carry flag CC.CF.",
        "addc": "Add two integers and the carry flag CC.CF of an earlier instruction.",
        "sub.cc": "Subtract the second integer from the first, and write the borrow to the carry flag CC.CF.",
        "subc": "Subtract the second integer, and the borrow in the carry flag CC.CF, from the first integer.",
        "mad.cc": "Multiply two integers, add a third integer, and write the carry to the carry flag CC.CF.",
        "madc": "Multiply two integers; add a third integer and the carry flag CC.CF of an earlier instruction.",
    },
    "Bits": {
        "popc": "Count the set bits of an integer.",
        "clz": "Count the leading zero bits of an integer.",
        "bfind": "Find the highest non-sign bit: its position (-1 if none), or the left shift to the top bit.",
        "fns": "Find the n-th set bit of a mask, counted from a given bit position.",
        "brev": "Reverse the order of the bits in a register.",
        "bfe": "Extract a bit field, given by position and length, and extend it by zeros or its sign bit.",
        "bfi": "Insert the low bits of a value into another value, at a position and with a length in bits.",
        "szext": "Sign-extend or zero-extend the low n bits of a value.",
        "bmsk": "Make a mask of consecutive one bits, given by position and width.",
    },
}

ROWS = summarised(
    SUMMARIES,
    row("add.type d, a, b", type=INTEGERS, manual="add"),
    row("add.type d, a, b", type=PACKED_16X2, **PAIRS, manual="add"),
    row("add.type d, a, b", type=PACKED_8X4, **QUADS, manual="add"),
    row("add.sat.s32 d, a, b", manual="add"),
    row("add.sat.type d, a, b", type=("u32", *PACKED_16X2, *PACKED_8X4), **QUADS, manual="add"),
    row("sub.type d, a, b", type=INTEGERS, manual="sub"),
    row("sub.sat.s32 d, a, b", manual="sub"),
    row("sub{.sat}.type d, a, b", type=PACKED_8X4, **QUADS, manual="sub"),
    row("mul.mode.type d, a, b", mode=HI_LO, type=INTEGERS, leading=True, manual="mul"),
    row("mul.wide.type d, a, b", type=INTEGERS_16_32, operands={"d": "wide(type)"}, leading=True, manual="mul"),
    row("mad.mode.type d, a, b, c", mode=HI_LO, type=INTEGERS, leading=True, manual="mad"),
    row(
        "mad.wide.type d, a, b, c",
        type=INTEGERS_16_32,
        operands={"d": "wide(type)", "c": "wide(type)"},
        leading=True,
        manual="mad",
    ),
    row("mad.hi.sat.s32 d, a, b, c", leading=True, manual="mad"),
    row("clmad.mode.u64 d, a, b, c", mode=HI_LO, since=ptx(9, 3), targets=("sm_80",), leading=True, manual="clmad"),
    row("mul24.mode.type d, a, b", mode=HI_LO, type=WORDS, leading=True, manual="mul24"),
    row("mad24.mode.type d, a, b, c", mode=HI_LO, type=WORDS, leading=True, manual="mad24"),
    row("mad24.hi.sat.s32 d, a, b, c", leading=True, manual="mad24"),
    row("sad.type d, a, b, c", type=INTEGERS, manual="sad"),
    row("div.type d, a, b", type=INTEGERS, manual="div"),
    row("rem.type d, a, b", type=INTEGERS, manual="rem"),
    row("abs.type d, a", type=SIGNED, manual="abs"),
    row("neg.type d, a", type=SIGNED, manual="neg"),
    row("neg.s8x4 d, a", **QUADS, manual="neg"),
    *_extremum("min"),
    *_extremum("max"),
    row("popc.type d, a", type=("b32", "b64"), operands=COUNT, since=ptx(2, 0), manual="popc"),
    row("clz.type d, a", type=("b32", "b64"), operands=COUNT, since=ptx(2, 0), manual="clz"),
    row("bfind{.shiftamt}.type d, a", type=INTEGERS_32_64, operands=COUNT, since=ptx(2, 0), manual="bfind"),
    row(
        "fns.b32 d, mask, base, offset",
        operands={"mask": "b32", "base": "b32", "offset": "b32"},
        since=ptx(6, 0),
        manual="fns",
    ),
    row("brev.type d, a", type=("b32", "b64"), since=ptx(2, 0), manual="brev"),
    row("bfe.type d, a, b, c", type=INTEGERS_32_64, operands={"b": FIELD, "c": FIELD}, since=ptx(2, 0), manual="bfe"),
    row(
        "bfi.type f, a, b, c, d",
        type=("b32", "b64"),
        operands={"c": FIELD, "d": FIELD},
        since=ptx(2, 0),
        manual="bfi",
    ),
    row(
        "szext.mode.type d, a, b",
        mode=("clamp", "wrap"),
        type=WORDS,
        operands={"b": "int32"},
        since=ptx(7, 6),
        targets=("sm_70",),
        manual="szext",
    ),
    row(
        "bmsk.mode.b32 d, a, b",
        mode=("clamp", "wrap"),
        operands={"d": "int32", "a": "int32", "b": "int32"},
        since=ptx(7, 6),
        targets=("sm_70",),
        manual="bmsk",
    ),
    row(
        "dp4a.atype.btype d, a, b, c",
        atype=WORDS,
        btype=WORDS,
        operands={"d": "int32", "c": "int32"},
        since=ptx(5, 0),
        targets=("sm_61",),
        manual="dp4a",
    ),
    row(
        "dp2a.mode.atype.btype d, a, b, c",
        mode=HI_LO,
        atype=WORDS,
        btype=WORDS,
        operands={"d": "int32", "c": "int32"},
        leading=True,
        since=ptx(5, 0),
        targets=("sm_61",),
        manual="dp2a",
    ),
    *_carried(("u32", "s32"), ptx(1, 2)),
    *_carried(("u64", "s64"), ptx(4, 3)),
)
