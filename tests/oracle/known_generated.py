"""Reviewed differences between `pyptx check` and ptxas in operands, calls and sections, each with its reason.

Each key of the dictionaries is a regular expression, searched in `TEXT | MESSAGE OF THE CHECK | MESSAGE OF PTXAS`.
Differences of statements may also be in `known`.
"""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"\.f16x2 a\)[^|]*\| call-argument: .* got the \.pred register": "ptxas accepts .f16x2 registers as predicates",
    r"\| call-argument: expected a (scalar, got the vector|\.v\d vector, got the \.[\w.]+) register '[^']*' \|": (
        "ptxas accepts a vector register as a scalar argument of the same size, and a vector for a scalar result or"
        " a scalar for a vector result"
    ),
}
LAXER: dict[str, str] = {}
