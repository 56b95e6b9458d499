"""Edits of tensor maps."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^tensormap\.cp_fenceproxy\S* .*\| modifier: ": "ptxas reads a field's name here, and does nothing with it",
    r"^tensormap\.replace\.\S*(box_dim|global_dim|element_stride)\S* .*(%f32|%f16x2)": (
        "ptxas takes floating-point registers for a size"
    ),
}

LAXER: dict[str, str] = {}
