"""Manual: "Comparison and Selection Instructions", "Half Precision Comparison Instructions"."""

from __future__ import annotations

from typing import Any

from pyptx_ir.isa.rows import InstructionRow, ptx, row, summarised
from pyptx_ir.isa.table.type_sets import BITS

EQUALITY = ("eq", "ne")
ORDER = ("eq", "ne", "lt", "le", "gt", "ge")
UNSIGNED = (*ORDER, "lo", "ls", "hi", "hs")
FLOATING = (*ORDER, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
BOOLEAN = ("and", "or", "xor")
BOOLEANS: tuple[dict[str, tuple[str, ...]], ...] = ({}, {"boolop": BOOLEAN})
# Result types of set, with PTX version and targets.
RESULTS: tuple[tuple[tuple[str, ...], tuple[int, int], tuple[str, ...]], ...] = (
    (("u32", "s32", "f32"), ptx(1, 0), ()),
    (("f16",), ptx(4, 2), ("sm_53",)),
    (("bf16",), ptx(7, 8), ("sm_90",)),
)
BOTH = {"c": "pred or !"}
RESULT = {"p": "pred or _"}

# Rows of setp and set, one for each family of types: `{.ftz}`, comparison operators, types.
FAMILIES = (
    ("", EQUALITY, BITS),
    ("", UNSIGNED, ("u16", "u32", "u64")),
    ("", ORDER, ("s16", "s32", "s64")),
    ("{.ftz}", FLOATING, ("f32",)),
    ("", FLOATING, ("f64",)),
)


def _setp() -> tuple[InstructionRow, ...]:
    """Return the forms of setp, without and with a Boolean operation."""
    return tuple(
        row(
            f"setp.cmp{'.boolop' if boolean else ''}{ftz}.type p{{|q}}, a, b{', c' if boolean else ''}",
            operands={**RESULT, **BOTH} if boolean else RESULT,
            manual="setp",
            slots={"cmp": comparisons, **boolean, "type": types},
        )
        for ftz, comparisons, types in FAMILIES
        for boolean in BOOLEANS
    )


def _set() -> tuple[InstructionRow, ...]:
    """Return the forms of set with sources of ordinary types, without and with a Boolean operation."""
    return tuple(
        row(
            f"set.cmp{'.boolop' if boolean else ''}{'' if 'bf16' in results else ftz}.dtype.stype d, a, b"
            f"{', c' if boolean else ''}",
            operands={"a": "stype", "b": "stype", **(BOTH if boolean else {})},
            since=since,
            targets=targets,
            manual="set",
            slots={"cmp": comparisons, **boolean, "dtype": results, "stype": types},
        )
        for results, since, targets in RESULTS
        for ftz, comparisons, types in FAMILIES
        for boolean in BOOLEANS
    )


def _half_set(boolean: str) -> tuple[InstructionRow, ...]:
    """Return the half-precision forms of set."""
    slots: dict[str, tuple[str, ...]] = {"cmp": FLOATING, **({"boolop": BOOLEAN} if boolean else {})}
    rest = ", c" if boolean else ""
    kinds = {"a": "stype", "b": "stype", **(BOTH if boolean else {})}
    lines = (
        # Rows of set with f16 or bf16 sources or results: modifiers, result types, source type, PTX version, target.
        (".dtype.f16", "{.ftz}", ("f16",), "f16", ptx(4, 2), "sm_53"),
        (".dtype.f16", "", ("bf16",), "f16", ptx(7, 8), "sm_90"),
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
    """Return the half-precision forms of setp; those of packed types have two results."""
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


PACKED: dict[str, Any] = {"since": ptx(9, 4), "targets": ("sm_107f",), "manual": "set"}

SUMMARIES = {
    "Comparison and selection": {
        "set": "Compare two values, and write true or false as an integer (all ones or 0) or a float (1.0 or 0.0).",
        "setp": "Compare two values and write a predicate; a second predicate gets the negated comparison.",
        "selp": "Select one of two values by a predicate.",
        "slct": "Select one of two values by the sign of a third value.",
    },
}

ROWS = summarised(
    SUMMARIES,
    *_set(),
    row("set.cmp.type d, a, b", cmp=UNSIGNED, type=("u8x4", "u16x2"), **PACKED),
    row("set.cmp.type d, a, b", cmp=ORDER, type=("s8x4", "s16x2"), **PACKED),
    *_half_set(""),
    *_half_set(".boolop"),
    *_setp(),
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
