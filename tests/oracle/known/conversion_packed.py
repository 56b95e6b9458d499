"""cvt to and from packed formats of 8 bits and less, and cvt.pack."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^cvt\S*(\.e2m1x2|::n1\S*|\.ue[58]m[03]x2)\.bf16x2 .*\| operand-(type|kind): operand 2 of": (
        "ptxas checks no source of these forms; in their siblings it wants what the manual says, .b32"
    ),
    r"^cvt\S*\.bf16x2\.ue[58]m[03]x2 .*\| operand-(type|kind): operand [12] of": (
        "ptxas checks no operand of these forms; in their siblings it wants what the manual says, .b32 and .b16"
    ),
    r"^cvt\.\S*ue5m3x2\S* [^;]*, %b8_\d; \| operand-count": "ptxas ignores a scale operand without its modifier",
    r"^cvt\S*\.(ue8m0x4|e2m1p4x4)\.f32": "the manual has these types in arithmetic alone",
}

LAXER: dict[str, str] = {
    r"^cvt\.rs\S* [^;]*\{%[us]32_": "elsewhere ptxas lets vectors of .f32 lie in integer registers",
}
