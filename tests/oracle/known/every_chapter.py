"""Reviewed differences that concern several chapters of the instruction table."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^\w+(\.[\w:]+)*?(\.(?!(?:[bsuf]|bf|tf|u?e)\d|row|col)[\w:]+)(\.[\w:]+)*?\2(?![\w:])": (
        "ptxas accepts a repeated modifier, except types and layouts, and ignores the second"
    ),
    r"\| immediate-range: .* must be -(128|32768|2147483648|922\d+) to (255|65535|4294967295|1844\d+) \|": (
        "ptxas silently truncates a constant that does not fit the type"
    ),
    r"\| operand-(kind|type): .*`[%\w.]+\+.*`, is a symbol; it must be": (
        "the manual has name+n as an operand of mov and as an address; ptxas also accepts it as a register or number"
    ),
    r"\[(tex|surf|smp)0[^|]*\| address-space: ": "ptxas accepts the name of a texture as an address in global memory",
    r"\[%[bus]16_\d[^|]*\| operand-type: .* an address in a \.[bus]16 register": (
        "ptxas accepts a 16-bit register as an address; addresses have 32 or 64 bits"
    ),
    r"\bfunction\b[^|]*\| operand-(kind|type): [^|]*`function`, is a symbol; it must be": (
        "ptxas accepts a function's address as a number of any type"
    ),
    r"%f16x2_": "ptxas accepts .f16x2 registers as predicates and counts; the manual does not allow this",
}

LAXER: dict[str, str] = {
    r"\| crash": "ptxas crashes on this instruction",
}
