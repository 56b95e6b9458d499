"""Textures and surfaces."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^(tex|tld4)\S* .*operand [2-7] of (tex|tld4)": (
        "ptxas takes a number for a vector, and a vector for a number, behind the coordinates; and short gradients"
    ),
    r"^su(ld|st)\S* .*(one operand, not a vector|must be a vector of)": (
        "ptxas takes vectors without .v2 and .v4, and one number for a vector"
    ),
    r"^su\w+\S* .*coordinates in braces": "ptxas takes one number for coordinates in any number of dimensions",
    r"^sust\.p\S*\.(wb|cg|cs|wt|a[12]d)\b": "the manual: formatted stores have no cache operation, and no arrays",
    r"^su(ld|st)\S* .*%pred_": "ptxas takes a predicate among the values, and then crashes in code generation",
    r"^txq\.level.* a vector of": "ptxas takes a vector for the level of detail",
    r"^tex\S*\.f16x2\.\S* .*operand 1 of": "ptxas accepts .f32 registers together with .b32 ones for .f16x2",
}

LAXER: dict[str, str] = {
    r"^(tex|tld4|su\w+)\S* .*%f16x2_\d.*elements of different types": (
        "the table lets .f16x2 registers stand for 32-bit integers, in vectors too"
    ),
}
