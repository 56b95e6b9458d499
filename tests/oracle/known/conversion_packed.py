"""cvt to and from packed formats of 8 bits and less, and cvt.pack."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^cvt\S*(\.e2m1x2|::n1\S*|\.ue[58]m[03]x2)\.bf16x2 .*\| operand-(type|kind): operand 2 of": (
        "ptxas does not check the sources of some cvt from .bf16x2; in the related forms it requires .b32, as the "
        "manual does"
    ),
    r"^cvt\S*\.bf16x2\.ue[58]m[03]x2 .*\| operand-(type|kind): operand [12] of": (
        "ptxas does not check the operands of cvt.bf16x2 from .ue8m0x2 and .ue5m3x2; in the related forms it requires"
        " .b32 and .b16, as the manual does"
    ),
    r"^cvt\.\S*ue5m3x2\S* [^;]*, %b8_\d; \| operand-count": "ptxas ignores a scale operand if its modifier is missing",
    r"^cvt\S*\.(ue8m0x4|e2m1p4x4)\.f32": ("the manual has .ue8m0x4 and .e2m1p4x4 in arithmetic instructions only"),
}

LAXER: dict[str, str] = {
    r"^cvt\.rs\S* [^;]*\{%[us]32_": ("ptxas accepts vectors of .f32 in integer registers, but not in cvt.rs"),
}
