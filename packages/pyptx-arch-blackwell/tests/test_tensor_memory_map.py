"""Maps of tensor memory: regions of an allocation, and the locations of accumulators."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from pyptx_arch_blackwell.datapath import accumulator
from pyptx_arch_blackwell.tensor_memory_map import TensorMemoryMap, TensorMemoryPart
from pyptx_dsl import ptx
from pyptx_dsl.kernels.decorator import kernel

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '</text><script>alert(1)</script>\x1b"'


def texts(drawing: str, tag: str = "text") -> list[str]:
    return [each.text or "" for each in ET.fromstring(drawing).iter(f"{SVG}{tag}")]  # noqa: S314 - our own text


def test_a_map_has_the_lanes_and_columns_of_regions() -> None:
    found = []

    @kernel(arch="sm_100a", block=128)
    def k() -> None:
        with ptx.tmem.alloc(512, when=ptx.special.tid.x() < 32) as t:
            found.append(ptx.tmem.map(stage=t[:, 128:256], scales=t[32:64, 256:][:, 4:8]))
            found.append(t[64:, 32:64])
        ptx.ret()

    emitted = k.ptx()
    tensor_map, region = found
    assert str(tensor_map) == (
        "tensor memory\n  stage: lanes 0-127, columns 128-255\n  scales: lanes 32-63, columns 260-263"
    )
    assert texts(tensor_map.to_svg(), "title") == [str(part) for part in tensor_map.parts]
    assert "lanes 64-127, columns 32-63" in region._repr_html_()
    assert emitted.count("tcgen05") == k.ptx().count("tcgen05")


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((128, 256), {}),
        ((64, 64), {}),
        ((128, 128), {"cta_group": 2}),
        ((256, 64), {"cta_group": 2}),
        ((32, 64), {"ws": True}),
    ],
)
def test_an_accumulator_covers_each_element_once(shape: tuple[int, int], options: dict[str, int]) -> None:
    found = ptx.tmem.accumulator(shape, **options)
    assert sum(part.lanes * part.columns for part in found.parts) == shape[0] * shape[1]
    blocks = options.get("cta_group", 1)
    wanted = accumulator(*shape, blocks=blocks, stationary="ws" in options)
    assert [(part.cta, part.lane, part.column) for part in found.parts] == [
        (each.block, each.lane, each.column) for each in wanted
    ]
    shown = texts(found.to_svg())
    assert sum("column" in text and "lanes" not in text for text in shown) == blocks
    assert f"CTA {blocks - 1}, column" in shown or blocks == 1


def test_an_unsupported_accumulator_is_an_error() -> None:
    with pytest.raises(ValueError, match="invalid M = 96"):
        ptx.tmem.accumulator((96, 64))


def test_names_are_escaped() -> None:
    hostile = TensorMemoryMap(HOSTILE, (TensorMemoryPart(HOSTILE, 0, 128, 0, 512),))
    shown = texts(hostile.to_svg())
    assert shown[0] == HOSTILE.replace("\x1b", "?")
    assert not list(ET.fromstring(hostile._repr_html_()).iter("script"))  # noqa: S314 - our own text
