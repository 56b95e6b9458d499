"""Contents of the tensor map of a `Tile`."""

from __future__ import annotations

import pytest

from pyptx_arch_hopper.tensor_maps.description import tensor_map
from pyptx_dsl.contract.im2col import Im2col
from pyptx_dsl.contract.specs import Layout, Tile
from pyptx_dsl.errors import SpecError
from pyptx_dsl.shared_memory.tiles import SharedTile
from pyptx_dsl.types import PtxType, bf16, e2m1x2, f32, u8
from pyptx_ir.plugins.rows import Im2col as Row
from pyptx_ir.plugins.rows import TensorMap

SIZES = {"M": 512, "K": 256}
WINDOW = Im2col.convolution((3, 3), pixels=128, channels=64, padding=1)


@pytest.mark.parametrize(
    ("tile", "described"),
    [
        (
            Tile("M", "K", bf16, Layout.TMA_128B, tma_box=(128, 64)),
            TensorMap("bf16", (512, 256), (512, 2), (128, 64), (1, 1), "128B"),
        ),
        (
            Tile("M", "K", bf16, tma_box=(128, 64), tma_promotion="256B", tma_fill="nan"),
            TensorMap("bf16", (512, 256), (512, 2), (128, 64), (1, 1), l2_promotion="256B", fill="nan"),
        ),
        (
            SharedTile(bf16, (128, 64)).tma_tile("M", "K", promotion="128B", fill="nan"),
            TensorMap("bf16", (512, 256), (512, 2), (128, 64), (1, 1), "128B", l2_promotion="128B", fill="nan"),
        ),
        (
            Tile("M", "K", f32, Layout.COL, tma_box=(64, 32)),
            TensorMap("f32", (256, 512), (2048, 4), (32, 64), (1, 1)),
        ),
        (
            Tile(2, "M", "K", f32, Layout.INTERLEAVED, tma_box=(1, 8, 4)),
            TensorMap("f32", (2, 512, 256), (524288, 1024, 4), (1, 8, 4), (1, 1, 1), interleave="16B"),
        ),
        (
            Tile("M", "K", bf16, Layout.TMA_128B, tma_box=(128, 128), tma_rank=3),
            TensorMap("bf16", (4, 512, 64), (128, 512, 2), (2, 128, 64), (1, 1, 1), "128B"),
        ),
        (
            Tile("M", "K", bf16, tma_box=(128, 128), tma_rank=3, tma_padding=True),
            TensorMap("bf16", (4, 512, 64), (128, 512, 2), (2, 128, 72), (1, 1, 1)),
        ),
        (
            Tile("M", "K", e2m1x2, Layout.TMA_128B, tma_box=(128, 64)),
            TensorMap("b4x16", (512, 512), (256, 1), (128, 128), (1, 1), "128B"),
        ),
        (
            Tile("M", "K", e2m1x2, Layout.TMA_128B, tma_elements="b4x16_p64"),
            TensorMap("b4x16_p64", (512, 512), (256, 1), (256, 128), (1, 1), "128B"),
        ),
        (
            Tile("M", 192, u8, tma_box=(8, 96), tma_elements="b6x16_p32"),
            TensorMap("b6x16_p32", (512, 256), (192, 1), (8, 128), (1, 1)),
        ),
    ],
)
def test_a_tile_describes_its_tensor(tile: Tile, described: TensorMap) -> None:
    assert tensor_map(tile, SIZES) == described


def test_a_box_wider_than_its_swizzle_is_refused_with_the_picture() -> None:
    with pytest.raises(SpecError, match="has 256 bytes, more than its 128B swizzle") as caught:
        tensor_map(Tile("M", "K", bf16, Layout.TMA_128B, tma_box=(64, 128)), SIZES)
    assert "boxes of 64 columns" in str(caught.value)
    assert "  row 7 " in str(caught.value)


@pytest.mark.parametrize("columns", [32, 96])
def test_a_matrix_that_is_no_whole_slabs_is_refused(columns: int) -> None:
    with pytest.raises(SpecError, match=rf"{columns} columns are not a multiple of the 64 columns of a slab"):
        tensor_map(Tile("M", "K", bf16, Layout.TMA_128B, tma_box=(64, 64), tma_rank=3), {"M": 64, "K": columns})


def test_a_tile_with_columns_describes_its_tensor() -> None:
    tile = Tile("N", 32, "W", 64, bf16, layout=Layout.TMA_128B, im2col=WINDOW)
    assert tensor_map(tile, {"N": 8, "W": 16}) == TensorMap(
        "bf16", (8, 32, 16, 64), (65536, 2048, 128, 2), (), (1, 1, 1, 1), "128B",
        im2col=Row((-1, -1), (-1, -1), 64, 128),
    )  # fmt: skip


def test_channels_wider_than_the_swizzle_are_refused() -> None:
    with pytest.raises(SpecError, match="has 256 bytes, more than its 128B swizzle"):
        tensor_map(Tile(2, 8, 8, 64, f32, layout=Layout.TMA_128B, im2col=WINDOW), {})


@pytest.mark.parametrize(
    ("dtype", "elements", "said"),
    [
        (u8, "b5x16", "invalid tma_"),
        (bf16, "b4x16", "needs a sub-byte type"),
        (f32, "b6x16_p32", "needs a sub-byte type"),
    ],
)
def test_elements_share_bytes_in_tiles_of_bytes(dtype: PtxType, elements: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        Tile("M", "K", dtype, tma_elements=elements)
