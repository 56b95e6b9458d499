"""Instructions on multimem addresses."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^multimem\.\S*(f16|e\dm\d)\S* .*\| operand-type: .* must be a \.": (
        "for 16 and 8-bit floating point, ptxas takes registers of other types, even predicates, in vectors or alone"
    ),
    r"^multimem\.(st|red|cp)\.\S*acc::f(16|32)": (
        "only loads accumulate in another precision; ptxas reads the word and drops it"
    ),
    r"^multimem\.red\.\S*(min|max)\S*f16": "the manual's multimem.red only adds floating-point numbers",
}

LAXER: dict[str, str] = {
    r"^multimem\.st\.async\S* .*'cvt'": ("ptxas converts wider registers itself, and fails to convert some"),
}
