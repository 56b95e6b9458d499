"""Differences of more than one chapter."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^\w+(\.[\w:]+)*?(\.(?!(?:[bsuf]|bf|tf|u?e)\d|row|col)[\w:]+)(\.[\w:]+)*?\2(?![\w:])": (
        "ptxas accepts a repeated modifier, except types and layouts, and ignores the second"
    ),
    r"\| immediate-range: .* must be -(128|32768|2147483648|922\d+) to (255|65535|4294967295|1844\d+) \|": (
        "ptxas truncates a constant that the type can't hold, in silence"
    ),
    r"\| operand-(kind|type): .*`[%\w.]+\+.*`, is a symbol; it must be": (
        "the manual: name+n is an operand of mov, and an address; ptxas also takes it for a register or number"
    ),
    r"\[(tex|surf|smp)0[^|]*\| address-space: ": "ptxas takes a texture's name for an address in global memory",
    r"\[%[bus]16_\d[^|]*\| operand-type: .* an address in a \.[bus]16 register": (
        "ptxas takes a register of 16 bits for an address; addresses have 32 or 64 bits"
    ),
    r"\bfunction\b[^|]*\| operand-(kind|type): [^|]*`function`, is a symbol; it must be": (
        "ptxas takes a function's address for a number of any type"
    ),
    r"%f16x2_": "ptxas takes .f16x2 registers for predicates and counts; the manual has no such rule",
}

LAXER: dict[str, str] = {
    r"\| crash": "ptxas dies on this instruction instead of refusing it",
}
