"""Products of matrices by a warpgroup."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^wgmma\.[^|]*\| missing-modifier: .*lacks a modifier: \.aligned": "the manual: .aligned is mandatory",
    r"^wgmma\.mma_async\.[^|]*\| \S+ operand [1-4] of [^|]*`[^`]*%pred_\d+\}?`": (
        "ptxas takes predicates for 32-bit parts of a matrix and for its metadata; the manual has no such rule"
    ),
    r"^wgmma\.mma_async\.sp\.[^|]*\| \S+ operand 4 of [^|]*`0f3F800000`": (
        "ptxas takes a floating-point constant for the metadata; the manual: a 32-bit register"
    ),
    r"^wgmma\.mma_async\.sp\.[^|]*\| \S+ operand 4 of [^|]*`\{[^`]*,": (
        "ptxas ignores all but one register of the metadata; the manual: a 32-bit register"
    ),
    r"^wgmma\.[^|]*\| \S+ [^|]*`\{%b32_[^`]*%(u32|s32|f32|f16x2)_\d+\}`, is a vector of": (
        "after one .b32 register in a vector, ptxas accepts other 32-bit types; the manual names one type"
    ),
    r"^wgmma\.mma_async\.\S*\.([us]8|b1)[. ][^|]*\| \S+ operand 2 of [^|]*`\{(%(f32|f16x2)_\d+(, )?)+\}`": (
        "ptxas takes floating-point registers for integer fragments; those of mma.sync it refuses for some shapes"
    ),
}

LAXER: dict[str, str] = {}
