"""Manual: "Data Movement and Conversion Instructions: cvt", without packed formats of 8 bits and less."""

from __future__ import annotations

from typing import Any

from pyptx_ir.isa.rows import ptx, row, summarised
from pyptx_ir.isa.table.type_sets import ROUNDINGS

INTEGERS = ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64")
TO_INTEGER = ("rni", "rzi", "rmi", "rpi")
NARROWING = ("rn", "rz")
# By integer result type, the source types that `.sat` clamps: their values may be outside the result type's range.
CLAMPED = {
    result: tuple(
        source
        for source in INTEGERS
        if (source[0] != result[0] and int(source[1:]) >= int(result[1:]))
        or int(source[1:]) > int(result[1:])
        or (source[0] == "s" and result[0] == "u")
    )
    for result in INTEGERS
}
RELAXED = {"d": "relaxed(dtype)", "a": "relaxed(atype)"}
FROM_SPECIAL = {"d": "relaxed(dtype)", "a": "relaxed(atype) or special"}
# A cvt to f16 or f16x2 accepts sources of f32 or wider, and result registers of at least 16 or 32 bits; a cvt to bf16
# accepts neither.
TO_HALF = {"d": "relaxed(f16)", "a": "relaxed(f32)"}
TO_BRAIN = {"d": "type", "a": "f32"}
HALVES = (
    ("f16", "d, a", TO_HALF),
    ("bf16", "d, a", TO_BRAIN),
    ("f16x2", "d, a, b", {"d": "relaxed(f16x2)", "a": "relaxed(f32)", "b": "relaxed(f32)"}),
    ("bf16x2", "d, a, b", {**TO_BRAIN, "b": "f32"}),
)
BRAIN: dict[str, Any] = {"since": ptx(7, 8), "targets": ("sm_90",), "manual": "cvt"}
POSITIVE_ZERO: dict[str, Any] = {"since": ptx(9, 4), "targets": ("sm_107f",), "manual": "cvt"}

SUMMARIES = {
    "Data movement": {
        "cvt": "Convert a value from one type to another.",
    },
}

ROWS = summarised(
    SUMMARIES,
    row("cvt.dtype.atype d, a", dtype=INTEGERS, atype=INTEGERS, operands=FROM_SPECIAL, manual="cvt"),
    *(
        row("cvt.sat.dtype.atype d, a", dtype=(result,), atype=sources, operands=FROM_SPECIAL, manual="cvt")
        for result, sources in CLAMPED.items()
    ),
    row(
        "cvt.irnd{.ftz}{.sat}.dtype.atype d, a",
        irnd=TO_INTEGER,
        dtype=INTEGERS,
        atype=("f32",),
        operands=RELAXED,
        manual="cvt",
    ),
    row(
        "cvt.irnd{.sat}.dtype.atype d, a",
        irnd=TO_INTEGER,
        dtype=INTEGERS,
        atype=("f16", "f64"),
        operands=RELAXED,
        manual="cvt",
    ),
    row(
        "cvt.frnd{.ftz}{.sat}.dtype.atype d, a",
        frnd=ROUNDINGS,
        dtype=("f32",),
        atype=INTEGERS,
        operands=RELAXED,
        manual="cvt",
    ),
    row(
        "cvt.frnd{.sat}.dtype.atype d, a",
        frnd=ROUNDINGS,
        dtype=("f16", "f64"),
        atype=INTEGERS,
        operands=RELAXED,
        manual="cvt",
    ),
    # Conversions between floating-point types: with rounding if bits are lost, else without; or to an integral value.
    row(
        "cvt.frnd{.ftz}{.sat}.f32.f64 d, a",
        frnd=ROUNDINGS,
        operands={"d": "relaxed(f32)", "a": "relaxed(f64)"},
        manual="cvt",
    ),
    row(
        "cvt.frnd{.sat}.f16.f64 d, a",
        frnd=ROUNDINGS,
        operands={"d": "relaxed(f16)", "a": "relaxed(f64)"},
        manual="cvt",
    ),
    row("cvt{.ftz}{.sat}.f64.f32 d, a", operands={"d": "relaxed(f64)", "a": "relaxed(f32)"}, manual="cvt"),
    row("cvt{.sat}.f64.f16 d, a", operands={"d": "relaxed(f64)", "a": "relaxed(f16)"}, manual="cvt"),
    row("cvt{.ftz}{.sat}.f32.f16 d, a", operands={"d": "relaxed(f32)", "a": "relaxed(f16)"}, manual="cvt"),
    row(
        "cvt.frnd{.ftz}{.sat}.f16.f32 d, a",
        frnd=ROUNDINGS,
        operands={"d": "relaxed(f16)", "a": "relaxed(f32)"},
        manual="cvt",
    ),
    row(
        "cvt{.irnd}{.ftz}{.sat}.f32.f32 d, a",
        irnd=TO_INTEGER,
        operands={"d": "relaxed(f32)", "a": "relaxed(f32)"},
        manual="cvt",
    ),
    row(
        "cvt{.irnd}{.sat}.f64.f64 d, a",
        irnd=TO_INTEGER,
        operands={"d": "relaxed(f64)", "a": "relaxed(f64)"},
        manual="cvt",
    ),
    row(
        "cvt{.irnd}{.sat}.f16.f16 d, a",
        irnd=TO_INTEGER,
        operands={"d": "relaxed(f16)", "a": "relaxed(f16)"},
        manual="cvt",
    ),
    # Conversions to bf16, tf32 and packed types.
    *(
        row(
            f"cvt.frnd{{.relu}}.type.f32 {operands}",
            frnd=NARROWING,
            type=(name,),
            operands=kinds,
            since=ptx(7, 0),
            targets=("sm_80",),
            manual="cvt",
        )
        for name, operands, kinds in HALVES
    ),
    row(
        "cvt.rna.tf32.f32 d, a",
        operands={"d": "tf32", "a": "f32"},
        since=ptx(7, 0),
        targets=("sm_80",),
        manual="cvt",
    ),
    row(
        "cvt.frnd{.relu}.tf32.f32 d, a",
        frnd=NARROWING,
        operands={"d": "tf32", "a": "f32"},
        since=ptx(7, 8),
        targets=("sm_90",),
        manual="cvt",
    ),
    *(
        row(
            f"cvt.frnd{relu}.satfinite.f16.f32 d, a",
            frnd=NARROWING,
            operands={"d": "relaxed(f16)", "a": "relaxed(f32)"},
            since=ptx(8, 1),
            targets=(target,),
            manual="cvt",
        )
        for relu, target in (("", "sm_75"), (".relu", "sm_80"))
    ),
    *(
        row(
            f"cvt.frnd{{.relu}}.satfinite.type.f32 {operands}",
            frnd=NARROWING,
            type=(name,),
            operands=kinds,
            since=ptx(8, 1),
            targets=("sm_80",),
            manual="cvt",
        )
        for name, operands, kinds in HALVES
    ),
    row(
        "cvt.frnd.satfinite{.relu}.tf32.f32 d, a",
        frnd=NARROWING,
        operands={"d": "tf32", "a": "f32"},
        since=ptx(8, 6),
        targets=("sm_100",),
        manual="cvt",
    ),
    row(
        "cvt.rna.satfinite.tf32.f32 d, a",
        operands={"d": "tf32", "a": "f32"},
        since=ptx(8, 1),
        targets=("sm_80",),
        manual="cvt",
    ),
    row(
        "cvt{.frnd}.f32.bf16 d, a",
        frnd=ROUNDINGS,
        operands={"d": "f32", "a": "bf16"},
        since=ptx(7, 1),
        targets=("sm_80",),
        manual="cvt",
    ),
    row(
        "cvt.frnd{.ftz}.bf16.f32 d, a",
        frnd=("rm", "rp", *NARROWING),
        operands={"d": "bf16", "a": "f32"},
        since=ptx(7, 0),
        targets=("sm_80",),
        manual="cvt",
    ),
    row(
        "cvt.frnd.bf16.atype d, a",
        frnd=ROUNDINGS,
        atype=(*INTEGERS, "f16", "f64"),
        operands={"d": "bf16"},
        **BRAIN,
    ),
    row("cvt.irnd.dtype.bf16 d, a", irnd=TO_INTEGER, dtype=INTEGERS, operands={"a": "bf16"}, **BRAIN),
    row("cvt{.frnd}.ftz.f32.bf16 d, a", frnd=ROUNDINGS, operands={"d": "f32", "a": "bf16"}, **BRAIN),
    row("cvt{.frnd}.f64.bf16 d, a", frnd=ROUNDINGS, operands={"d": "f64", "a": "bf16"}, **BRAIN),
    row("cvt.bf16.atype d, a", atype=("f16", "bf16"), operands={"d": "bf16"}, **BRAIN),
    row("cvt{.frnd}.f16.bf16 d, a", frnd=ROUNDINGS, operands={"d": "f16", "a": "bf16"}, **BRAIN),
    row("cvt.irnd.bf16.bf16 d, a", irnd=TO_INTEGER, operands={"d": "bf16", "a": "bf16"}, **BRAIN),
    # Conversions with `.pzo`, which never return a negative zero.
    *(
        row(
            f"cvt.frnd{{.relu}}{{.satfinite}}.pzo.type.f32 {operands}",
            frnd=NARROWING,
            type=(name,),
            operands=kinds,
            **POSITIVE_ZERO,
        )
        for name, operands, kinds in (*HALVES, ("tf32", "d, a", TO_BRAIN))
    ),
    row("cvt.frnd.pzo.f16.f32 d, a", frnd=("rm", "rp"), operands=TO_HALF, **POSITIVE_ZERO),
    row("cvt.frnd{.ftz}.pzo.bf16.f32 d, a", frnd=ROUNDINGS, operands={"d": "bf16", "a": "f32"}, **POSITIVE_ZERO),
)
