"""set, setp, selp, slct."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^set\.\S*bf16x2\.bf16x2|^setp\S*\.bf16x2 [^;]*, !%pred": "ptxas checks no operand of these forms",
    r"^set\.\S*\.bf16\.\w+ %[us]16_": "the manual: values of .bf16 lie in .b16 registers",
    r"^setp\S*\.b?f16 %pred_\d\|_": "the manual: one comparison has one result; ptxas ignores a second one that is `_`",
    r"^setp\S*f16x2? _": ("ptxas takes the sink for both results"),
}

LAXER: dict[str, str] = {
    r"Arguments mismatch for instruction '(set|setp)'|Result register required": (
        "a literal where these forms want a register; ptxas takes one in their siblings"
    ),
}
