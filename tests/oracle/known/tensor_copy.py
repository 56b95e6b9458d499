"""Copies of tensors."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^(cp|applypriority)\S*\.im2col\S* .*\{[^{}]*%f16_.*\| operand-type: .* offsets in ": (
        "offsets are integers; after one, ptxas accepts 16-bit floating-point registers"
    ),
    r"^cp\S*\.tensor\.\S*\.global\.shared::cta\S*\.mbarrier::report::": (
        "the manual has reports for loads only; ptxas lets a store have a report, too"
    ),
    r"^cp\.reduce\S*\.tile::scatter4": "the manual's reductions have no mode .tile::scatter4",
    r"^applypriority\S*\.(tile::gather4|im2col_no_offs)\S* .*\| (missing-)?modifier: ": (
        "the manual has gather4 for tensors of two dimensions, and im2col_no_offs for stores alone"
    ),
    r"^(cp|applypriority)\S*\.tensor\.\S* .*\[(%\w*32|%f64|tex0|surf0).*\| operand-type: ": (
        "a tensor map has a generic address of 64 bits; ptxas takes other registers, and textures, on some devices"
    ),
}

# Both are about what stands inside of the brackets, of which the table knows the kinds alone.
LAXER: dict[str, str] = {
    r"\.override::global_dim(_stride)?\S* .*\{[^{}]*\b[1-9]\d*\}\]": (
        "with other sizes, constant coordinates must be 0, which ptxas checks"
    ),
    r"\.tensor\.\S* .*\[%\w+\+\d+, \{": "a tensor map's register can't have an offset",
}
