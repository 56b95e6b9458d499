"""Manual: "Mixed Precision Floating Point Instructions", "Alternate Packed Floating Point Instructions"."""

from __future__ import annotations

from typing import Any

from pyptx_ir.isa.rows import InstructionRow, ptx, row
from pyptx_ir.isa.table.type_sets import ROUNDINGS

FP8X4 = ("e4m3x4", "e5m2x4")
ALTERNATE = (*FP8X4, "e2m1x4", "e2m1p4x4", "e2m3x4", "e3m2x4", "ue8m0x4")
SINGLE: dict[str, Any] = {"since": ptx(8, 6), "targets": ("sm_100",)}
PAIRS: dict[str, Any] = {"since": ptx(9, 4), "targets": ("sm_107f",)}
# Packed operands of four elements: ptxas accepts them on sm_100a and sm_103a only, not on other targets of the family.
QUADS: dict[str, Any] = {"since": ptx(9, 4), "targets": ("sm_100a", "sm_103a")}


def _sum(name: str) -> tuple[InstructionRow, ...]:
    """Return the mixed-precision forms of add and sub: to the wider type, to the narrower type, and to FP8."""
    mixed = f"{name} (mixed precision)"
    return (
        row(
            f"{name}{{.rnd}}{{.sat}}.dtype.atype d, a, c",
            rnd=ROUNDINGS,
            dtype=("f32",),
            atype=("f16", "bf16"),
            operands={"c": "f32"},
            manual=mixed,
            **SINGLE,
        ),
        row(
            f"{name}{{.rnd}}.f32x2.atype.f32x2 d, a, c",
            rnd=ROUNDINGS,
            atype=("f16x2", "bf16x2"),
            manual=mixed,
            **PAIRS,
        ),
        row(f"{name}.rz.ftz.f16x2.f32x2.f32x2 d, a, c", operands={"d": "f16x2"}, manual=mixed, **PAIRS),
        row(f"{name}.rz.bf16x2.f32x2.f32x2 d, a, c", operands={"d": "bf16x2"}, manual=mixed, **PAIRS),
        row(
            f"{name}{{.rn}}{{.satfinite}}.dtype.atype d, a, c",
            dtype=FP8X4,
            atype=ALTERNATE,
            operands={"c": "dtype"},
            manual=f"{name} (alternate packed)",
            **QUADS,
        ),
    )


ROWS = (
    *_sum("add"),
    *_sum("sub"),
    row("mul.rz.ftz.f16x2.f32x2.f32x2 d, a, b", operands={"d": "f16x2"}, manual="mul (mixed precision)", **PAIRS),
    row("mul.rz.bf16x2.f32x2.f32x2 d, a, b", operands={"d": "bf16x2"}, manual="mul (mixed precision)", **PAIRS),
    *(
        row(
            f"mul.{own}.{own}.{other} d, a, b",
            operands={"d": own, "a": own, "b": other},
            manual="mul (mixed precision)",
            **PAIRS,
        )
        for own, other in (("f16x2", "bf16x2"), ("bf16x2", "f16x2"))
    ),
    row(
        "mul{.rn}{.satfinite}.dtype.atype.btype d, a, b",
        dtype=FP8X4,
        atype=ALTERNATE,
        btype=ALTERNATE,
        manual="mul (alternate packed)",
        **QUADS,
    ),
    row(
        "fma.rnd{.sat}.dtype.abtype d, a, b, c",
        rnd=ROUNDINGS,
        dtype=("f32",),
        abtype=("f16", "bf16"),
        operands={"a": "abtype", "b": "abtype", "c": "f32"},
        manual="fma (mixed precision)",
        **SINGLE,
    ),
    row(
        "fma.rnd.f32x2.atype.f32x2.f32x2 d, a, b, c",
        rnd=ROUNDINGS,
        atype=("f16x2", "bf16x2"),
        manual="fma (mixed precision)",
        **PAIRS,
    ),
    row(
        "fma{.rn}{.satfinite}.dtype.atype.btype d, a, b, c",
        dtype=FP8X4,
        atype=ALTERNATE,
        btype=ALTERNATE,
        operands={"c": "dtype"},
        manual="fma (alternate packed)",
        **QUADS,
    ),
)
