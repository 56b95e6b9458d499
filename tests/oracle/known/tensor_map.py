"""tensormap.replace, tensormap.cp_fenceproxy."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^tensormap\.cp_fenceproxy\S* .*\| modifier: ": (
        "ptxas accepts and ignores the name of a field in tensormap.cp_fenceproxy"
    ),
    r"^tensormap\.replace\.\S*(box_dim|global_dim|element_stride)\S* .*(%f32|%f16x2)": (
        "ptxas accepts floating-point registers as a size"
    ),
}

LAXER: dict[str, str] = {}
