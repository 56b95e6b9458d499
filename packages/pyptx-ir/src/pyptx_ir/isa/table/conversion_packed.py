"""Manual: "Data Movement and Conversion Instructions: cvt", the packed formats of 8, 6 and 4 bits, and "cvt.pack"."""

from __future__ import annotations

from typing import Any

from pyptx_ir.isa.rows import InstructionRow, ptx, row, summarised

FP8 = ("e4m3x2", "e5m2x2")
FP6_FP4 = ("e2m3x2", "e3m2x2", "e2m1x2")
NARROW = (*FP8, *FP6_FP4)
PAIRS = ("f16x2", "bf16x2")
QUADS = ("e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4", "e2m1x4")
NARROWING = ("rn", "rz")
ONE_SCALE, TWO_SCALES = ("scaled::n1::ue8m0",), ("scaled::n2::ue8m0",)

FAMILIES = ("sm_100f", "sm_110f", "sm_120f")
FIXED_POINT = ("sm_100a", "sm_103a", "sm_107a", "sm_110a", "sm_120a", "sm_121a")
ADA: dict[str, Any] = {"since": ptx(8, 1), "targets": ("sm_89",)}
HOPPER: dict[str, Any] = {"since": ptx(7, 8), "targets": ("sm_90",)}
PACKED = {"d": "relaxed(u32)", "a": "relaxed(s32)", "b": "relaxed(s32)"}
RANDOM: dict[str, Any] = {"since": ptx(8, 7), "targets": ("sm_100a", "sm_103a", "sm_107a")}
RUBIN: dict[str, Any] = {"since": ptx(9, 4), "targets": ("sm_107f",)}


def _blackwell(minor: int, major: int = 9) -> dict[str, Any]:
    return {"since": ptx(major, minor), "targets": FAMILIES}


def _cvt(
    modifiers: str,
    result: str,
    source: str,
    *,
    scale: str = "",
    since: tuple[int, int],
    targets: tuple[str, ...],
    **slots: tuple[str, ...],
) -> InstructionRow:
    """Return a row for `cvt` from `source`, a type or slot: two f32 operands, or one packed operand."""
    kinds = {"d": "b16" if result == "s2f6x2" else result, "a": source}
    operands = "d, a"
    if source == "f32":
        operands, kinds["b"] = "d, a, b", "f32"
    if scale:
        operands, kinds["scale"] = f"{operands}{{, scale}}", f"{scale} with scaled"
    return row(
        f"cvt{modifiers}.{result}.{source} {operands}",
        operands=kinds,
        since=since,
        targets=targets,
        manual="cvt",
        slots=slots,
    )


def _to_narrow() -> tuple[InstructionRow, ...]:
    """Return the cvt forms to FP8, FP6 and FP4; the order of modifiers distinguishes rows of sm_89 and sm_90."""
    found: list[InstructionRow] = []
    for source, later in (("f32", _blackwell(6, 8)), ("f16x2", _blackwell(1))):
        found += (
            _cvt(".rn.satfinite{.relu}", "dtype", source, dtype=FP8, **HOPPER),
            _cvt(".rn{.relu}.satfinite", "dtype", source, dtype=FP8, **ADA),
            _cvt(".rn.satfinite{.relu}", "dtype", source, dtype=FP6_FP4, **later),
        )
    found.append(_cvt(".rn.satfinite{.relu}", "dtype", "bf16x2", dtype=NARROW, **_blackwell(1)))
    found += (
        _cvt(
            ".frnd2.satfinite{.relu}{.pzo}{.scaled}",
            "dtype",
            source,
            scale="bits(8)",
            frnd2=NARROWING,
            scaled=ONE_SCALE,
            dtype=NARROW,
            **RUBIN,
        )
        for source in ("f32", *PAIRS)
    )
    return tuple(found)


def _from_narrow() -> tuple[InstructionRow, ...]:
    """Return the cvt forms from FP8, FP6, FP4 and unsigned FP8 to pairs of half precision."""
    scaled: dict[str, Any] = {"scale": "bits(16)", "scaled": TWO_SCALES}
    return (
        _cvt(".rn{.relu}", "f16x2", "atype", atype=FP8, **HOPPER),
        _cvt("{.relu}.rn", "f16x2", "atype", atype=FP8, **ADA),
        _cvt(".rn{.relu}", "f16x2", "atype", atype=FP6_FP4, **_blackwell(6, 8)),
        _cvt(".rn{.relu}{.satfinite}{.scaled}", "bf16x2", "atype", atype=NARROW, **scaled, **_blackwell(2)),
        _cvt(".rn", "f16x2", "ue5m3x2", **RUBIN),
        _cvt(".rn{.satfinite}{.scaled}", "bf16x2", "ue5m3x2", **scaled, **RUBIN),
        _cvt(".rn", "bf16x2", "ue8m0x2", **_blackwell(6, 8)),
    )


def _to_unsigned() -> tuple[InstructionRow, ...]:
    """Return the cvt forms to powers of two (`.ue8m0`), and to unsigned FP8."""
    up: dict[str, Any] = {"frnd3": ("rz", "rp")}
    any_way: dict[str, Any] = {"frnd4": ("rn", "rz", "rp")}
    one: dict[str, Any] = {"frnd2": NARROWING, "scaled": ONE_SCALE}
    return (
        *(_cvt(".frnd3{.satfinite}", "ue8m0x2", each, **up, **_blackwell(6, 8)) for each in ("f32", "bf16x2")),
        *(_cvt(".frnd4{.satfinite}", "ue5m3x2", each, **any_way, **RUBIN) for each in ("f32", *PAIRS)),
        *(
            _cvt(".frnd2{.satfinite}.scaled", "ue5m3x2", each, scale="bits(8)", **one, **RUBIN)
            for each in ("f32", *PAIRS)
        ),
    )


def _fixed_point() -> tuple[InstructionRow, ...]:
    """Return the cvt forms between pairs of floats and of fixed-point numbers with 2 integer and 6 fraction bits."""
    two: dict[str, Any] = {"scale": "bits(16)", "scaled": TWO_SCALES}
    lines = ((".rn", ptx(9, 1), FIXED_POINT), (".rz", ptx(9, 4), ("sm_107a",)))
    return (
        *(
            _cvt(f"{rounding}.satfinite{{.relu}}{{.scaled}}", "s2f6x2", each, since=since, targets=targets, **two)
            for rounding, since, targets in lines
            for each in ("f32", "bf16x2")
        ),
        _cvt(".rn{.satfinite}{.relu}{.scaled}", "bf16x2", "s2f6x2", since=ptx(9, 1), targets=FIXED_POINT, **two),
    )


SUMMARIES = {
    "Data movement": {
        "cvt.pack": "Convert two integers to a narrower type with saturation, and pack the results into a register.",
    },
}

ROWS = summarised(
    SUMMARIES,
    *_to_narrow(),
    *_from_narrow(),
    *_to_unsigned(),
    *_fixed_point(),
    # Forms with stochastic rounding: the last operand provides the random bits.
    row(
        "cvt.rs{.relu}.satfinite.dtype.f32 d, {a, b, e, f}, rbits",
        dtype=QUADS,
        operands={"a": "4*f32", "rbits": "bits(32)"},
        access="wrr",
        manual="cvt",
        **RANDOM,
    ),
    row(
        "cvt.rs{.relu}{.satfinite}.f16x2.f32 d, a, b, rbits",
        operands={"d": "relaxed(f16x2)", "a": "relaxed(f32)", "b": "relaxed(f32)", "rbits": "bits(32)"},
        manual="cvt",
        **RANDOM,
    ),
    row(
        "cvt.rs{.relu}{.satfinite}.bf16x2.f32 d, a, b, rbits",
        operands={"d": "bf16x2", "a": "f32", "b": "f32", "rbits": "bits(32)"},
        manual="cvt",
        **RANDOM,
    ),
    row(
        "cvt.pack.sat.dtype.s32 d, a, b",
        dtype=("u16", "s16"),
        operands=PACKED,
        leading=True,
        since=ptx(6, 5),
        targets=("sm_72",),
        manual="cvt.pack",
    ),
    *(
        row(
            "cvt.pack.sat.dtype.s32.b32 d, a, b, c",
            dtype=types,
            operands={**PACKED, "c": "relaxed(b32)"},
            leading=True,
            since=ptx(6, 5),
            targets=(target,),
            manual="cvt.pack",
        )
        for types, target in ((("u8", "s8"), "sm_72"), (("u2", "s2", "u4", "s4"), "sm_75"))
    ),
)
