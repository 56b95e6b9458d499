"""`pyptx.wgmma_layout` functions return known layouts of wgmma operands."""

from __future__ import annotations

import pytest

from pyptx_arch_hopper.wgmma_layout import GmmaLayout, LayoutType, layout_for_a, layout_for_b, pick_gmma_layout
from pyptx_dsl.shared_memory.tiles import Major
from pyptx_dsl.types import bf16, f16, f32


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        (layout_for_a(dtype=bf16, m=64, k=16), GmmaLayout(LayoutType.B32, 16, 256, "32B", "32B")),
        (layout_for_a(dtype=bf16, m=64, k=32), GmmaLayout(LayoutType.B64, 16, 512, "64B", "64B")),
        (layout_for_a(dtype=bf16, m=64, k=64), GmmaLayout(LayoutType.B128, 16, 1024, "128B", "128B")),
        (layout_for_b(dtype=bf16, k=16, n=8), GmmaLayout(LayoutType.INTERLEAVE, 128, 16, "NONE", None)),
        (layout_for_b(dtype=f16, k=64, n=64), GmmaLayout(LayoutType.B128, 16, 1024, "128B", "128B")),
        (layout_for_b(dtype=f16, k=64, n=128), GmmaLayout(LayoutType.B128, 8192, 1024, "128B", "128B")),
        (pick_gmma_layout(elem_bytes=4, m_or_n=64, k=32, major=Major.K), layout_for_a(dtype=f32, m=64, k=32)),
    ],
)
def test_layouts_are_what_they_were(layout: GmmaLayout, expected: GmmaLayout) -> None:
    assert layout == expected
    assert layout.swizzle_code == int(expected.layout_type)


def test_a_layout_that_there_is_not_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="elem_bytes must be 1, 2 or 4"):
        pick_gmma_layout(elem_bytes=3, m_or_n=64, k=64, major=Major.K)
    with pytest.raises(ValueError, match="16-bit types only"):
        pick_gmma_layout(elem_bytes=1, m_or_n=64, k=64, major=Major.MN)
