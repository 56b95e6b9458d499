"""Textures and surfaces."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^(tex|tld4)\S* .*operand [2-7] of (tex|tld4)": (
        "after the coordinates, ptxas accepts a number for a vector and a vector for a number; it also "
        "accepts gradients with too few elements"
    ),
    r"^su(ld|st)\S* .*(one operand, not a vector|must be a vector of)": (
        "in suld and sust, ptxas accepts vectors without .v2 and .v4, and one number for a vector"
    ),
    r"^su\w+\S* .*coordinates in braces": "ptxas accepts one number as the coordinates in any number of dimensions",
    r"^sust\.p\S*\.(wb|cg|cs|wt|a[12]d)\b": "the manual does not have cache operators and arrays for formatted stores",
    r"^su(ld|st)\S* .*%pred_": "ptxas accepts a predicate among the values, and then crashes in code generation",
    r"^txq\.level.* a vector of": ("ptxas accepts a vector as the level of detail of txq.level"),
    r"^tex\S*\.f16x2\.\S* .*operand 1 of": "ptxas accepts .f32 registers together with .b32 ones for .f16x2",
}

LAXER: dict[str, str] = {
    r"^(tex|tld4|su\w+)\S* .*%f16x2_\d.*elements of different types": (
        "the table accepts .f16x2 registers as 32-bit integers, also in vectors"
    ),
}
