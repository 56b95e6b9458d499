"""The reviewed list of operands, calls and sections that the check and ptxas see differently, each with its reason.

A key is a regular expression, searched in `TEXT | WHAT THE CHECK SAYS | WHAT PTXAS SAYS`. Differences of statements may
stand in `known`, too.
"""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"\.f16x2 a\)[^|]*\| call-argument: .* got the \.pred register": "ptxas takes .f16x2 registers for predicates",
    r"\| call-argument: expected a (scalar, got the vector|\.v\d vector, got the \.[\w.]+) register '[^']*' \|": (
        "ptxas passes a vector register for a number of the same size, and takes a result of either for the other"
    ),
}
LAXER: dict[str, str] = {}
