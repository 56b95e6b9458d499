"""Manual: "Comparison and Selection Instructions", "Half Precision Comparison Instructions"."""

from __future__ import annotations

from pyptx_ir.isa.rows import InstructionRow, ptx, row
from pyptx_ir.isa.table.type_sets import BITS

EQUALITY = ("eq", "ne")
ORDER = ("eq", "ne", "lt", "le", "gt", "ge")
UNSIGNED = (*ORDER, "lo", "ls", "hi", "hs")
FLOATING = (*ORDER, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
BOOLEAN = ("and", "or", "xor")
RESULTS = ("u32", "s32", "f32")
BOTH = {"c": "pred or !"}
RESULT = {"p": "pred or _"}

# The comparisons that each family of types has, with what else its forms take.
FAMILIES = (
    ("", EQUALITY, BITS),
    ("", UNSIGNED, ("u16", "u32", "u64")),
    ("", ORDER, ("s16", "s32", "s64")),
    ("{.ftz}", FLOATING, ("f32",)),
    ("", FLOATING, ("f64",)),
)


def _families(name: str, operands: str, *, result: bool) -> tuple[InstructionRow, ...]:
    """Return the forms of set or setp, without and with a Boolean operation."""
    found: list[InstructionRow] = []
    for ftz, comparisons, types in FAMILIES:
        for boolean in ("", ".boolop"):
            syntax = f"{name}.cmp{boolean}{ftz}{'.dtype.stype' if result else '.type'} {operands}"
            syntax += ", c" if boolean else ""
            slots: dict[str, tuple[str, ...]] = {"cmp": comparisons, **({"boolop": BOOLEAN} if boolean else {})}
            slots |= {"dtype": RESULTS, "stype": types} if result else {"type": types}
            kinds = {"a": "stype", "b": "stype"} if result else RESULT
            found.append(row(syntax, operands={**kinds, **(BOTH if boolean else {})}, manual=name, slots=slots))
    return tuple(found)


def _half_set(boolean: str) -> tuple[InstructionRow, ...]:
    """Return the half-precision forms of set."""
    slots: dict[str, tuple[str, ...]] = {"cmp": FLOATING, **({"boolop": BOOLEAN} if boolean else {})}
    rest = ", c" if boolean else ""
    kinds = {"a": "stype", "b": "stype", **(BOTH if boolean else {})}
    lines = (
        # Result and source types; PTX version; target.
        (".dtype.f16", "{.ftz}", ("f16",), "f16", ptx(4, 2), "sm_53"),
        (".dtype.f16", "{.ftz}", ("u16", "s16", "u32", "s32"), "f16", ptx(6, 5), "sm_53"),
        (".dtype.f16x2", "{.ftz}", ("u32", "s32"), "f16x2", ptx(6, 5), "sm_53"),
        (".dtype.bf16x2", "", ("u32", "s32"), "bf16x2", ptx(7, 8), "sm_90"),
        (".dtype.bf16", "", ("bf16", "u16", "s16", "u32", "s32"), "bf16", ptx(7, 8), "sm_90"),
        (".dtype.f16x2", "{.ftz}", ("f16x2",), "f16x2", ptx(4, 2), "sm_53"),
        (".dtype.bf16x2", "", ("bf16x2",), "bf16x2", ptx(7, 8), "sm_90"),
    )
    return tuple(
        row(
            f"set.cmp{boolean}{ftz}{types} d, a, b{rest}",
            operands={**kinds, "a": source, "b": source},
            since=since,
            targets=(target,),
            manual="set (half precision)",
            slots={**slots, "dtype": results},
        )
        for types, ftz, results, source, since, target in lines
    )


def _half_setp(boolean: str) -> tuple[InstructionRow, ...]:
    """Return the half-precision forms of setp; the packed ones have two results."""
    slots: dict[str, tuple[str, ...]] = {"cmp": FLOATING, **({"boolop": BOOLEAN} if boolean else {})}
    rest = ", c" if boolean else ""
    kinds = {**RESULT, **BOTH} if boolean else RESULT
    lines = (
        ("{.ftz}.f16 p", ptx(4, 2), "sm_53"),
        (".bf16 p", ptx(7, 8), "sm_90"),
        ("{.ftz}.f16x2 p{|q}", ptx(4, 2), "sm_53"),
        (".bf16x2 p{|q}", ptx(7, 8), "sm_90"),
    )
    return tuple(
        row(
            f"setp.cmp{boolean}{line}, a, b{rest}",
            operands=kinds,
            since=since,
            targets=(target,),
            manual="setp (half precision)",
            slots=slots,
        )
        for line, since, target in lines
    )


ROWS = (
    *_families("set", "d, a, b", result=True),
    *_half_set(""),
    *_half_set(".boolop"),
    *_families("setp", "p{|q}, a, b", result=False),
    *_half_setp(""),
    *_half_setp(".boolop"),
    row(
        "selp.type d, a, b, c",
        type=(*BITS, "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"),
        operands=BOTH,
        manual="selp",
    ),
    row(
        "slct.type.s32 d, a, b, c",
        type=(*BITS, "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"),
        operands={"c": "s32"},
        manual="slct",
    ),
    row(
        "slct{.ftz}.type.f32 d, a, b, c",
        type=(*BITS, "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"),
        operands={"c": "f32"},
        manual="slct",
    ),
)
