"""wgmma."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^wgmma\.[^|]*\| missing-modifier: .*lacks a modifier: \.aligned": (
        "the manual requires .aligned in all wgmma instructions"
    ),
    r"^wgmma\.mma_async\.[^|]*\| \S+ operand [1-4] of [^|]*`[^`]*%pred_\d+\}?`": (
        "ptxas accepts predicates in 32-bit fragments and as metadata; the manual does not allow this"
    ),
    r"^wgmma\.mma_async\.sp\.[^|]*\| \S+ operand 4 of [^|]*`0f3F800000`": (
        "ptxas accepts a floating-point constant as metadata; the manual requires a 32-bit register"
    ),
    r"^wgmma\.mma_async\.sp\.[^|]*\| \S+ operand 4 of [^|]*`\{[^`]*,": (
        "ptxas ignores all metadata registers except one; the manual requires one 32-bit register"
    ),
    r"^wgmma\.[^|]*\| \S+ [^|]*`\{%b32_[^`]*%(u32|s32|f32|f16x2)_\d+\}`, is a vector of": (
        "after one .b32 register in a vector, ptxas accepts other 32-bit types; the manual requires one type"
    ),
    r"^wgmma\.mma_async\.\S*\.([us]8|b1)[. ][^|]*\| \S+ operand 2 of [^|]*`\{(%(f32|f16x2)_\d+(, )?)+\}`": (
        "ptxas accepts floating-point registers in integer fragments; for mma.sync it refuses some shapes"
    ),
}

LAXER: dict[str, str] = {}
