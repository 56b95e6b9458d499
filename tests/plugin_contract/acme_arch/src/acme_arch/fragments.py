"""How matrices lie in the registers of acme.dot: as those of mma.sync, but for d, of which a lane holds a row."""

from __future__ import annotations

from pyptx_ir.fragments import Fragment, Step, fragment_of
from pyptx_ir.plugins.rows import Fragments

# 32 rows of eight sums: a lane has a row.
_SUMS = Fragment(
    "acme.dot m32n8k8 d .f32",
    32,
    8,
    32,
    lanes=tuple(Step(row=1 << bit) for bit in range(5)),
    elements=tuple(Step(column=1 << bit) for bit in range(3)),
)


def _layout(shape: str, operand: str, element: str, _order: str) -> Fragment:
    if shape != "m32n8k8":
        raise ValueError(f"acme.dot has no shape {shape!r}")
    return _SUMS if operand == "d" else fragment_of("mma", shape, operand, element)


DOT = Fragments("acme.dot", _layout)
