"""Products of matrices by a warp, and what loads, stores and turns them."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^(mma|wmma|ldmatrix|stmatrix|movmatrix)\.\S* [^|]*%pred_": (
        "ptxas takes predicates for 32-bit parts of a matrix; code generation then crashes, or reads nonsense"
    ),
    r"^(mma|wmma|ldmatrix|stmatrix)\.[^|]*\| \S+ [^|]*`\{%b32_[^`]*%(u32|s32|f32|f16x2)_\d+\}`, is a vector of": (
        "after one .b32 register in a vector, ptxas accepts other 32-bit types; the manual names one type"
    ),
    r"^(mma|wmma)\.[^|]*\| \S+ [^|]*`\{(%(f32|f16x2)_\d+(, )?)+\}`, is [^|]*each a \.b32 or \.u32 or \.s32 register": (
        "ptxas takes floating-point registers for integer fragments of some shapes, and not of others"
    ),
    r"^(mma|wmma)\.[^|]*\| \S+ [^|]*`\{[^`]*%[us]64_\d+[^`]*\}`, is a vector of \d+; it must be [^|]*each a \.f64 ": (
        "ptxas accepts 64-bit integer registers for an .f64 accumulator that is read; the manual: .f64"
    ),
    r"^mma\.sp\S* [^|]*\| \S+ [^|]*`\{(%(u32|s32|f16x2)_\d+(, )?)+\}`, is [^|]*each a \.f32 or \.b32 register": (
        "ptxas accepts integer registers for the .f32 accumulator of sparse MMAs, and not of dense ones"
    ),
    r"^mma\.sp\S* [^|]*\| operand-kind: operand [2-5] of [^|]*`(0f3F800000|%\w+|\{%u32_1, %u32_2\})`": (
        "ptxas accepts any 32-bit operand in a fragment of a sparse MMA, and ignores surplus metadata"
    ),
    r"^mma\S*block_scale\S* [^|]*\| \S+ [^|]*`(0f3F800000|\{%\w+, %\w+\})`, is [^|]*it must be a register": (
        "ptxas accepts a floating-point constant for scales, and ignores surplus registers; the manual: one .b32"
    ),
    r"^mma\.sync\S*\.m16n8k16\.row\.col\.f32\.e[45]m[23]\.e[45]m[23]\.f32 [^|]*\| vector-length: operand 3 ": (
        "ptxas 13.0 takes a second register for b, which the manual's figure and later ones do not have"
    ),
    r"^wmma\.mma\S*\.m(16n16|8n32|32n8)k16\.s32\.[us]4\.[us]4\.": (
        "the manual: 4-bit integers have m8n8k32; ptxas 13.0 takes other shapes on sm_75, undocumented"
    ),
    r"`\{(\d+, %\w+|%\w+, \d+)\}`, is a vector of 2; it must be a vector of 2, each a constant": (
        "if one selector is a constant, ptxas accepts a register of any size for the other; the manual: .u16"
    ),
    r"^mma\.sp\S*\.m16n8k32\.\S*\.f16\.f16\.[^|]*\| immediate-range: ": (
        "the manual: 0 or 1, anything else is undefined; ptxas says so for .bf16, but not for .f16"
    ),
    r"^mma\S*\.kind::f8f6f4\S*\.e[45]m[23]\.e[45]m[23]\.[^|]*\| target: ": (
        "the manual: .kind needs sm_120f; ptxas takes it elsewhere for types that need no .kind"
    ),
    r"^mma(?=\S*\.m16n8k16\b)(?=\S*\.kind::f8f6f4\b)\S*": (
        "the manual: .kind::f8f6f4 has m16n8k32; ptxas takes the older shape of fp8 with it, undocumented"
    ),
    r"^mma(?!\S*block_scale)\S*\.kind::mx[^|]*\| (missing-)?modifier: ": (
        "the manual: these kinds need .block_scale; ptxas ignores the kind without it"
    ),
    r"^mma\.sync\.aligned\.m8n8k4\.row\.col\.f32\.(bf16|tf32)\.": (
        "the manual has no such shape of .bf16 and .tf32; ptxas takes it, undocumented"
    ),
    r"^mma\.\S*\.[us]4\.[us]4\.s32\.(xor|and)\b": (
        "the manual: .xor and .and are for .b1; ptxas ignores them for 4-bit integers"
    ),
    r"^(ld|st)matrix\S*\.x8\.": "the manual: 1, 2 or 4 matrices; ptxas knows the word x8, and then counts no registers",
    r"^movmatrix\S* %b32_1, 0f": "the manual: a 32-bit register; ptxas takes a floating-point constant, and no integer",
    r"^wmma\.mma\S*\.s32\.[us]8\.[us]8\.u32\b": "the manual: accumulators are .s32; ptxas also reads .u32",
    r"^wmma\.(load\.c|store\.d)\S*\.m8n8k(32|128)\S*\.f32 ": (
        "the manual: integer MMAs have integer accumulators; ptxas also loads and stores .f32 ones"
    ),
}

LAXER: dict[str, str] = {}
