"""Manual: "Integer Arithmetic Instructions"."""

from __future__ import annotations

from pyptx_ir.isa.rows import ptx, row
from pyptx_ir.isa.table.type_sets import INTEGERS, INTEGERS_16_32, INTEGERS_32_64, PACKED_16X2, SIGNED

HI_LO = ("hi", "lo")
WORDS = ("u32", "s32")
COUNT = {"d": "int32"}

ROWS = (
    row("add.type d, a, b", type=INTEGERS, manual="add"),
    row("add.type d, a, b", type=PACKED_16X2, since=ptx(8, 0), targets=("sm_90",), manual="add"),
    row("add.sat.s32 d, a, b", manual="add"),
    row("sub.type d, a, b", type=INTEGERS, manual="sub"),
    row("sub.sat.s32 d, a, b", manual="sub"),
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
    row("mul24.mode.type d, a, b", mode=HI_LO, type=WORDS, leading=True, manual="mul24"),
    row("mad24.mode.type d, a, b, c", mode=HI_LO, type=WORDS, leading=True, manual="mad24"),
    row("mad24.hi.sat.s32 d, a, b, c", leading=True, manual="mad24"),
    row("sad.type d, a, b, c", type=INTEGERS, manual="sad"),
    row("div.type d, a, b", type=INTEGERS, manual="div"),
    row("rem.type d, a, b", type=INTEGERS, manual="rem"),
    row("abs.type d, a", type=SIGNED, manual="abs"),
    row("neg.type d, a", type=SIGNED, manual="neg"),
    row("min.type d, a, b", type=INTEGERS, manual="min"),
    row("min{.relu}.type d, a, b", type=("s32", "s16x2"), since=ptx(8, 0), targets=("sm_90",), manual="min"),
    row("min.u16x2 d, a, b", since=ptx(8, 0), targets=("sm_90",), manual="min"),
    row("max.type d, a, b", type=INTEGERS, manual="max"),
    row("max{.relu}.type d, a, b", type=("s32", "s16x2"), since=ptx(8, 0), targets=("sm_90",), manual="max"),
    row("max.u16x2 d, a, b", since=ptx(8, 0), targets=("sm_90",), manual="max"),
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
    row(
        "bfe.type d, a, b, c", type=INTEGERS_32_64, operands={"b": "int32", "c": "int32"}, since=ptx(2, 0), manual="bfe"
    ),
    row(
        "bfi.type f, a, b, c, d",
        type=("b32", "b64"),
        operands={"c": "int32", "d": "int32"},
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
    # Extended precision.
    row("add.cc.type d, a, b", type=INTEGERS_32_64, since=ptx(1, 2), manual="add.cc"),
    row("addc{.cc}.type d, a, b", type=INTEGERS_32_64, since=ptx(1, 2), manual="addc"),
    row("sub.cc.type d, a, b", type=INTEGERS_32_64, since=ptx(1, 2), manual="sub.cc"),
    row("subc{.cc}.type d, a, b", type=INTEGERS_32_64, since=ptx(1, 2), manual="subc"),
    row("mad.mode.cc.type d, a, b, c", mode=HI_LO, type=INTEGERS_32_64, leading=True, since=ptx(3, 0), manual="mad.cc"),
    row(
        "madc.mode{.cc}.type d, a, b, c", mode=HI_LO, type=INTEGERS_32_64, leading=True, since=ptx(3, 0), manual="madc"
    ),
)
