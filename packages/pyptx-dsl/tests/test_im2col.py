"""Im2col pixel columns: tensor map settings for a convolution, and rejected settings."""

from __future__ import annotations

from typing import Any

import pytest

from pyptx_dsl.contract.im2col import Im2col
from pyptx_dsl.contract.specs import Layout, Tile
from pyptx_dsl.errors import SpecError
from pyptx_dsl.shared_memory.tiles import SharedTile
from pyptx_dsl.types import bf16

WINDOW = Im2col.convolution((3, 3), pixels=128, channels=64, padding=1)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("padding", [0, 1, 3])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2])
def test_the_walk_has_as_many_pixels_as_a_convolution_has_outputs(
    size: int, padding: int, stride: int, dilation: int
) -> None:
    window = Im2col.convolution((size,), pixels=8, channels=8, padding=padding, stride=stride, dilation=dilation)
    for extent in range(12, 20):
        (found,) = window.outputs((extent,))
        assert found == (extent + 2 * padding - dilation * (size - 1) - 1) // stride + 1


def test_each_dimension_may_have_its_own() -> None:
    window = Im2col.convolution(
        (1, 3, 5), pixels=8, channels=8, padding=(0, 1, 2), stride=(1, 2, 3), dilation=(1, 1, 2)
    )
    assert window.lower == (0, -1, -2)
    assert window.upper == (0, -1, -6)
    assert window.strides == (1, 2, 3)


def test_a_shared_tile_declares_the_array_that_fills_it() -> None:
    shared = SharedTile(bf16, (128, 128), swizzle="128B")  # tile rows of 256 bytes: two TMA boxes of 128 bytes
    tile = shared.im2col_tile("N", "H", "W", "C", filter_size=(3, 3), padding=1, stride=2)
    assert tile == Tile(
        "N", "H", "W", "C", bf16, layout=Layout.TMA_128B,
        im2col=Im2col.convolution((3, 3), pixels=128, channels=64, padding=1, stride=2),
    )  # fmt: skip
    assert shared.boxes == 2


def test_a_shared_tile_with_channels_in_its_rows_is_refused() -> None:
    with pytest.raises(SpecError, match="contiguous channels"):
        SharedTile(bf16, (64, 128), major="MN").im2col_tile("N", "H", "W", "C", filter_size=(3, 3))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pixels": 2000}, "pixels must be 1 to 1024, got 2000"),
        ({"channels": 0}, "channels must be 1 to 256, got 0"),
        ({"stride": 9}, "stride must be 1 to 8, got 9"),
        ({"padding": 200}, "must be -128 to 127"),
        ({"filter_size": (1, 1, 1, 1)}, "one entry for each of W, H and D"),
        ({"padding": (1, 2, 3)}, "invalid filter .3, 3. with padding .1, 2, 3.,"),
    ],
)
def test_columns_that_no_map_has_are_refused(change: dict[str, Any], message: str) -> None:
    given = {"filter_size": (3, 3), "pixels": 64, "channels": 64, **change}
    size = given.pop("filter_size")
    with pytest.raises(SpecError, match=message):
        Im2col.convolution(size, **given)


def test_columns_for_another_rank_are_refused() -> None:
    with pytest.raises(SpecError, match="need a tensor of rank 4, got 3"):
        Tile("N", "W", "C", bf16, im2col=WINDOW)


@pytest.mark.parametrize("change", [{"tma_box": (1, 1, 8, 64)}, {"layout": Layout.COL}])
def test_columns_have_no_box(change: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match="do not apply"):
        Tile("N", "H", "W", "C", bf16, im2col=WINDOW, **change)
