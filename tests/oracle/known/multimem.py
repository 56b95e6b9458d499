"""Instructions on multimem addresses."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^multimem\.\S*\.v[248]\S* .*\| operand-type: .* must be a \.": (
        "in vectors, ptxas takes registers of other types than alone, even predicates"
    ),
    r"^multimem\.(st|red|cp)\.\S*acc::f(16|32)": (
        "only loads accumulate in another precision; ptxas reads the word and drops it"
    ),
    r"^multimem\.ld_reduce\S*e\dm\dx4 %pred": "ptxas takes a predicate for four 8-bit numbers",
    r"^multimem\.red\.\S*(min|max)\S*f16": "the manual's multimem.red only adds floating-point numbers",
}

LAXER: dict[str, str] = {
    r"^multimem\.st\.async\S* .*%(b128|f16x2)_.* specified for 'cvt'": (
        "ptxas converts wider registers itself, and fails to convert these"
    ),
}
