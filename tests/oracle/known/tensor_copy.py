"""Tensor copies."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^(cp|applypriority)\S*\.im2col\S* .*\{[^{}]*%f16_.*\| operand-type: .* offsets in ": (
        "im2col offsets must be integers; after the first offset, ptxas accepts 16-bit floating-point registers"
    ),
    r"^cp\S*\.tensor\.\S*\.global\.shared::cta\S*\.mbarrier::report::": (
        "the manual has .mbarrier::report for loads only; ptxas accepts it for stores, too"
    ),
    r"^cp\.reduce\S*\.tile::scatter4": "the manual does not have .tile::scatter4 for reductions",
    r"^applypriority\S*\.(tile::gather4|im2col_no_offs)\S* .*\| (missing-)?modifier: ": (
        "the manual has gather4 for two-dimensional tensors only, and im2col_no_offs for stores only"
    ),
    r"^(cp|applypriority)\S*\.tensor\.\S* .*\[(%\w*32|%f64|tex0|surf0).*\| operand-type: ": (
        "a tensor map has a 64-bit generic address; on some targets ptxas accepts other registers and textures"
    ),
}

# The listed instructions differ from valid ones only inside address brackets; the instruction table checks operand
# kinds, not the contents of brackets.
LAXER: dict[str, str] = {
    r"\.override::global_dim(_stride)?\S* .*\{[^{}]*\b[1-9]\d*\}\]": (
        "with .override::global_dim, constant coordinates must be 0, which only ptxas checks"
    ),
    r"\.tensor\.\S* .*\[%\w+\+\d+, \{": "ptxas does not accept an offset to the register with a tensor map's address",
}
