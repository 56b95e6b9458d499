"""A call checks arrays against the `Tile` specs of a kernel: matching arrays pass, errors name the mismatch."""

from __future__ import annotations

import pytest

from pyptx_dsl.contract.arguments import check_arguments, dense_strides
from pyptx_dsl.contract.specs import Layout, Tile, unify_envs
from pyptx_dsl.errors import (
    AlignmentError,
    ArgumentCountError,
    ContractError,
    DeviceError,
    DtypeError,
    LayoutError,
    RankError,
    ShapeError,
    SpecError,
    UnboundDimensionsError,
)
from pyptx_dsl.types import b16, bf16, e4m3, f16, f32, tf32, u32
from pyptx_ir.plugins.rows import Argument


def argument(
    *shape: int, dtype: str = "f32", layout: Layout = Layout.ROW, address: int = 256, device: str = "cpu"
) -> Argument:
    return Argument(shape, dtype, dense_strides(shape, layout), address, device)


def check(tiles: list[Tile], *arguments: Argument) -> dict[str, int]:
    return check_arguments("gemm", ["A", "B", "C"], tiles, arguments)


def test_a_tile_takes_dtype_and_layout_by_position_or_keyword() -> None:
    tile = Tile("M", 64, bf16, Layout.TMA_128B, tma_box=(64, 64))
    assert tile == Tile("M", 64, dtype=bf16, layout=Layout.TMA_128B, tma_box=[64, 64])
    assert hash(tile) == hash(Tile("M", 64, dtype=bf16, layout=Layout.TMA_128B, tma_box=[64, 64]))
    assert (tile.shape, tile.dtype, tile.layout, tile.tma_box) == (("M", 64), bf16, Layout.TMA_128B, (64, 64))
    assert (tile.tma_rank, tile.tma_padding, tile.rank, tile.swizzle) == (2, False, 2, "128B")
    assert repr(tile) == "Tile('M', 64, bf16, Layout.TMA_128B)"
    assert Tile("M", "M", "N", f32).symbolic_dims == ("M", "N")


@pytest.mark.parametrize(
    "build",
    [
        lambda: Tile("M", "N"),
        lambda: Tile(f32),
        lambda: Tile(-1, f32),
        lambda: Tile(0, f32),
        lambda: Tile(1.5, f32),  # type: ignore[arg-type]  # a mistake on purpose
        lambda: Tile("not a name", f32),
        lambda: Tile("M", f32, f16),
        lambda: Tile("M", f32, "N"),
        lambda: Tile("M", f32, tma_box=(1, 2)),
        lambda: Tile("M", f32, tma_rank=9),
        lambda: Tile("M", f32, align=12),
        lambda: Tile("M", f32, tma_promotion="512B"),
        lambda: Tile("M", f32, tma_fill="ones"),
        lambda: Tile("M", u32, tma_fill="nan"),
        lambda: Tile("M", e4m3, tma_fill="nan"),
        lambda: Tile("M", f32, align=0),
    ],
)
def test_tiles_that_make_no_sense_are_refused(build: object) -> None:
    with pytest.raises(SpecError):
        build()  # type: ignore[operator]  # a mistake on purpose


def test_shapes_resolve_and_extract() -> None:
    tile = Tile("M", "K", 8, f32)
    assert tile.resolve_shape({"M": 2, "K": 3}) == (2, 3, 8)
    assert tile.extract_env((2, 3, 8)) == {"M": 2, "K": 3}
    with pytest.raises(UnboundDimensionsError, match="K"):
        tile.resolve_shape({"M": 2})
    with pytest.raises(RankError):
        tile.extract_env((2, 3))
    with pytest.raises(ShapeError, match="must be 8"):
        tile.extract_env((2, 3, 9))
    with pytest.raises(ShapeError):
        Tile("M", "M", f32).extract_env((2, 3))
    assert tile.matches((2, 3, 8), "f32")
    assert tile.matches((2, 3, 8), "float32")
    assert not tile.matches((2, 3, 8), "float64")
    assert not tile.matches((2, 3, 9), "f32")
    assert not tile.matches((2, 3), "f32")
    bits = Tile("M", b16)
    assert all(bits.matches((4,), name) for name in ("b16", "uint16", "int16", "float16", "bfloat16", "f16"))
    assert not bits.matches((4,), "float32")


def test_environments_unify_or_conflict() -> None:
    assert unify_envs([{"M": 2, "K": 3}, {"K": 3, "N": 4}, {}]) == {"M": 2, "K": 3, "N": 4}
    with pytest.raises(ShapeError, match="'K' is 3 in one array and 5"):
        unify_envs([{"K": 3}, {"K": 5}])


def test_wgmma_operands_choose_their_layout_by_the_inner_width() -> None:
    assert Tile.wgmma_a(64, 16, bf16).layout is Layout.TMA_32B
    assert Tile.wgmma_a(64, 64, bf16, tile_k=32).layout is Layout.TMA_64B
    assert Tile.wgmma_a(2048, 64, bf16, tile_m=64).tma_box == (64, 64)
    assert Tile.wgmma_b(16, 256, bf16, tile_n=64) == Tile(16, 256, bf16, Layout.TMA_128B, tma_box=(16, 64))
    assert Tile.wgmma_b(16, 8, bf16).layout is Layout.ROW
    assert Tile.wgmma_b("K", "N", bf16).layout is Layout.ROW
    with pytest.raises(SpecError):
        Tile.wgmma_a(64, 20, bf16)


def test_boxes_default_to_what_one_copy_moves() -> None:
    assert Tile(4096, 4096, bf16, Layout.TMA_128B).resolve_box({}) == (256, 64)
    assert Tile("M", 32, f32).resolve_box({"M": 16}) == (16, 32)
    assert Tile("M", "K", f32, tma_box=("M", 8)).resolve_box({"M": 16, "K": 64}) == (16, 8)


def test_arguments_that_fit_give_the_dimensions() -> None:
    tiles = [Tile("M", "K", bf16), Tile("K", "N", bf16, Layout.COL)]
    env = check(tiles, argument(8, 4, dtype="bf16"), argument(4, 2, dtype="bf16", layout=Layout.COL))
    assert env == {"M": 8, "K": 4, "N": 2}
    assert check([Tile("M", b16)], argument(8, dtype="f16")) == {"M": 8}
    assert check([Tile("M", tf32)], argument(8)) == {"M": 8}
    assert check([Tile(1, "N", f32)], Argument((1, 4), "f32", (99, 1), 16)) == {"N": 4}


BROKEN = [
    ("too few", [Tile(4, f32), Tile(4, f32)], [argument(4)], ArgumentCountError, "B missing"),
    ("too many", [Tile(4, f32)], [argument(4), argument(4)], ArgumentCountError, "expected 1 array "),
    ("dtype", [Tile(4, f32)], [argument(4, dtype="f16")], DtypeError, "A has dtype f16"),
    ("bits", [Tile(4, b16)], [argument(4, dtype="f32")], DtypeError, "A has dtype f32"),
    ("fp8", [Tile(4, e4m3)], [argument(4, dtype="e5m2")], DtypeError, "A has dtype e5m2"),
    ("rank", [Tile(4, f32)], [argument(4, 1)], RankError, "A has 2 dimensions"),
    ("size", [Tile(4, f32)], [argument(5)], ShapeError, r"A\.shape\[0\] is 5"),
    ("equation", [Tile("M", "N", f32), Tile("N", f32)], [argument(2, 3), argument(4)], ShapeError, "but 4 in B"),
    ("transposed", [Tile("M", "N", f32)], [argument(2, 3, layout=Layout.COL)], LayoutError, "A has strides"),
    ("not columns", [Tile("M", "N", f32, Layout.COL)], [argument(2, 3)], LayoutError, "unit stride on dimension 0"),
    ("strided", [Tile("M", f32)], [Argument((4,), "f32", (2,), 16)], LayoutError, "A has strides"),
    ("broadcast", [Tile("M", "N", f32)], [Argument((4, 4), "f32", (0, 1), 16)], LayoutError, "A has strides"),
    ("misaligned", [Tile(4, f32)], [argument(4, address=6)], AlignmentError, "not a multiple of 4"),
    ("wide", [Tile(4, f32, align=16)], [argument(4, address=8)], AlignmentError, "not a multiple of 16"),
    ("tma", [Tile(4, 64, bf16, Layout.TMA_128B)], [argument(4, 64, dtype="bf16", address=8)], AlignmentError, "of 16"),
    ("devices", [Tile(4, f32), Tile(4, f32)], [argument(4), argument(4, device="cuda:1")], DeviceError, "B on cuda:1"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("tiles", "arguments", "error", "words"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN]
)
def test_what_breaks_the_contract_is_named(
    tiles: list[Tile], arguments: list[Argument], error: type[ContractError], words: str
) -> None:
    with pytest.raises(error, match=words) as caught:
        check(tiles, *arguments)
    assert str(caught.value).startswith("gemm")
