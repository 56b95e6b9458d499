"""mma, wmma, ldmatrix, stmatrix, movmatrix."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^(mma|wmma|ldmatrix|stmatrix|movmatrix)\.\S* [^|]*%pred_": (
        "ptxas accepts predicates in 32-bit fragments; code generation then crashes or reads undefined values"
    ),
    r"^(mma|wmma|ldmatrix|stmatrix)\.[^|]*\| \S+ [^|]*`\{%b32_[^`]*%(u32|s32|f32|f16x2)_\d+\}`, is a vector of": (
        "after one .b32 register in a vector, ptxas accepts other 32-bit types; the manual requires one type"
    ),
    r"^(mma|wmma)\.[^|]*\| \S+ [^|]*`\{(%(f32|f16x2)_\d+(, )?)+\}`, is [^|]*each a \.b32 or \.u32 or \.s32 register": (
        "ptxas accepts floating-point registers in integer fragments of some shapes"
    ),
    r"^(mma|wmma)\.[^|]*\| \S+ [^|]*`\{[^`]*%[us]64_\d+[^`]*\}`, is a vector of \d+; it must be [^|]*each a \.f64 ": (
        "ptxas accepts 64-bit integer registers for the .f64 input accumulator (C); the manual requires .f64"
    ),
    r"^mma\.sp\S* [^|]*\| \S+ [^|]*`\{(%(u32|s32|f16x2)_\d+(, )?)+\}`, is [^|]*each a \.f32 or \.b32 register": (
        "ptxas accepts integer registers for the .f32 accumulator of sparse MMAs, but not of dense ones"
    ),
    r"^mma\.sp\S* [^|]*\| operand-kind: operand [2-5] of [^|]*`(0f3F800000|%\w+|\{%u32_1, %u32_2\})`": (
        "ptxas accepts any 32-bit operand in a fragment of a sparse MMA, and ignores surplus metadata"
    ),
    r"^mma\S*block_scale\S* [^|]*\| \S+ [^|]*`(0f3F800000|\{%\w+, %\w+\})`, is [^|]*it must be a register": (
        "ptxas accepts a floating-point constant for scale factors, and ignores surplus registers; the manual"
        " requires one .b32 register"
    ),
    r"^mma\.sync\S*\.m16n8k16\.row\.col\.f32\.e[45]m[23]\.e[45]m[23]\.f32 [^|]*\| vector-length: operand 3 ": (
        "ptxas 13.0 accepts a second register for operand B; the manual's figure and later ptxas releases have one"
    ),
    r"^wmma\.mma\S*\.m(16n16|8n32|32n8)k16\.s32\.[us]4\.[us]4\.": (
        "the manual has m8n8k32 for 4-bit integers; ptxas 13.0 accepts other shapes on sm_75 (undocumented)"
    ),
    r"`\{(\d+, %\w+|%\w+, \d+)\}`, is a vector of 2; it must be a vector of 2, each a constant": (
        "ptxas accepts any register as scale selector if the other selector is a constant; the manual requires .u16"
    ),
    r"^mma\.sp\S*\.m16n8k32\.\S*\.f16\.f16\.[^|]*\| immediate-range: ": (
        "the manual requires the sparsity selector 0 or 1; ptxas checks this for .bf16, but not for .f16"
    ),
    r"^mma\S*\.kind::f8f6f4\S*\.e[45]m[23]\.e[45]m[23]\.[^|]*\| target: ": (
        "the manual requires sm_120f for .kind; ptxas accepts it on other targets for types that do not require .kind"
    ),
    r"^mma(?=\S*\.m16n8k16\b)(?=\S*\.kind::f8f6f4\b)\S*": (
        "the manual has m16n8k32 for .kind::f8f6f4; ptxas also accepts the older fp8 shape m16n8k16 (undocumented)"
    ),
    r"^mma(?!\S*block_scale)\S*\.kind::mx[^|]*\| (missing-)?modifier: ": (
        "the manual requires .block_scale with .kind::mx…; without .block_scale ptxas ignores the .kind modifier"
    ),
    r"^mma\.sync\.aligned\.m8n8k4\.row\.col\.f32\.(bf16|tf32)\.": (
        "the manual does not have m8n8k4 for .bf16 and .tf32; ptxas accepts it (undocumented)"
    ),
    r"^mma\.\S*\.[us]4\.[us]4\.s32\.(xor|and)\b": (
        "the manual has .xor and .and for .b1 only; ptxas ignores both modifiers for 4-bit integers"
    ),
    r"^(ld|st)matrix\S*\.x8\.": "the manual has 1, 2 or 4 matrices; ptxas accepts .x8 and does not check the registers",
    r"^movmatrix\S* %b32_1, 0f": (
        "the manual requires a 32-bit source register; ptxas accepts a floating-point constant, but not an integer one"
    ),
    r"^wmma\.mma\S*\.s32\.[us]8\.[us]8\.u32\b": (
        "the manual requires .s32 accumulators; ptxas also accepts .u32 for the input accumulator (C)"
    ),
    r"^wmma\.(load\.c|store\.d)\S*\.m8n8k(32|128)\S*\.f32 ": (
        "the manual has integer accumulators for integer MMAs; ptxas also loads and stores .f32 accumulators"
    ),
}

LAXER: dict[str, str] = {}
