"""set, setp, selp, slct."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^set\.\S*bf16x2\.bf16x2|^setp\S*\.bf16x2 [^;]*, !%pred": (
        "ptxas does not check the operands of set.bf16x2.bf16x2 and setp.bf16x2"
    ),
    r"^set\.\S*\.bf16\.\w+ %[us]16_": "the manual requires .b16 registers for .bf16 values",
    r"^setp\S*\.b?f16 %pred_\d\|_": "the manual has one result for one comparison; ptxas ignores a second result `_`",
    r"^setp\S*f16x2? _": ("ptxas accepts `_` for both results of setp.f16 and setp.f16x2"),
}

LAXER: dict[str, str] = {
    r"Arguments mismatch for instruction '(set|setp)'|Result register required": (
        "ptxas requires a register in some forms of set and setp, and accepts a literal in the related forms"
    ),
}
