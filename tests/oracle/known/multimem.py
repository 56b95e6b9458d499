"""Instructions on multimem addresses."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^multimem\.\S*(f16|e\dm\d)\S* .*\| operand-type: .* must be a \.": (
        "for 16-bit and 8-bit floating-point types, ptxas accepts registers of other types, even predicates"
    ),
    r"^multimem\.(st|red|cp)\.\S*acc::f(16|32)": (
        "only loads have an accumulation precision; ptxas ignores the modifier"
    ),
    r"^multimem\.red\.\S*(min|max)\S*f16": "the manual's multimem.red has only addition for floating-point types",
}

LAXER: dict[str, str] = {
    r"^multimem\.st\.async\S* .*'cvt'": ("ptxas converts wider registers itself, and fails for some types"),
}
