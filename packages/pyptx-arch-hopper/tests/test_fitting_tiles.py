"""`Tile` inferred for a tensor map from a kernel's copies: rank, bytes of a box, and direction of the copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyptx_arch_hopper.tensor_maps.description import tensor_map
from pyptx_arch_hopper.tensor_maps.fitting import fitting_tile
from pyptx_dsl.contract.specs import Layout, Tile
from pyptx_dsl.modules.launch_lines import launch_lines
from pyptx_dsl.modules.pointers import pointers
from pyptx_dsl.types import BY_NAME
from pyptx_ir.syntax import nodes, parse

if TYPE_CHECKING:
    from pyptx_ir.plugins.descriptor_rows import ExampleTile

COORDINATES = ["%r1", "%r2", "%r3", "%r4", "%r5"]
EXPECT = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], "


def kernel(body: str, header: str = "") -> nodes.Function:
    """Return a kernel with two tensor maps; `%rd2` is the address of the first, `%r9` is 0."""
    text = (
        ".version 8.0\n.target sm_90a\n.address_size 64\n"
        f".visible .entry k(.param .align 64 .b8 k_a[128], .param .align 64 .b8 k_b[128])\n{header}\n"
        "{\n.reg .b16 %h<9>; .reg .b32 %r<99>; .reg .b64 %rd<9>; .shared .b64 full; .shared .align 1024 .b8 s[65536];\n"
        f"mov.b64 %rd1, k_a; cvta.param.u64 %rd2, %rd1; mov.b32 %r9, 0;\n{body}\nret;\n}}\n"
    )
    return next(node for node in parse(text).body if isinstance(node, nodes.Function))


def load(rank: int, address: str = "%rd2", first: str = "%r1", more: str = "", mask: str = "") -> str:
    """Return a load of a TMA box."""
    at = ", ".join([first, *COORDINATES[1:rank]])
    words = f"{rank}d.shared::cluster.global{more}.mbarrier::complete_tx::bytes"
    return f"cp.async.bulk.tensor.{words} [s], [{address}, {{{at}}}], [full]{mask};"


def store(rank: int) -> str:
    """Return a store of a TMA box."""
    at = ", ".join(COORDINATES[:rank])
    return f"cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group [%rd2, {{{at}}}], [s];"


SWIZZLED = ", Layout.TMA_128B"
FOUND = {
    f"{EXPECT}2048;{load(1)}": ("f64", ", tma_box=(256,)", 1),
    f"{EXPECT}256;{load(1)}": ("bf16", ", tma_box=(128,)", 1),
    f"{EXPECT}16384;{load(2)}": ("bf16", f"{SWIZZLED}, tma_box=(128, 64)", 2),
    f"{EXPECT}192;{load(2)}": ("bf16", ", tma_box=(3, 32)", 2),
    f"{EXPECT}65536;{load(3)}": ("bf16", f"{SWIZZLED}, tma_box=(2, 256, 64)", 3),
    f"{EXPECT}16384;{load(4)}": ("bf16", f"{SWIZZLED}, tma_box=(1, 1, 128, 64)", 4),
    f"{EXPECT}16384;{load(5)}": ("bf16", f"{SWIZZLED}, tma_box=(1, 1, 1, 128, 64)", 5),
    f"{EXPECT}16384;{load(3, first='0')}": ("bf16", f"{SWIZZLED}, tma_box=(128, 64), tma_rank=3", 2),
    f"{EXPECT}65536;{load(3, first='%r9')}": ("bf16", f"{SWIZZLED}, tma_box=(256, 128), tma_rank=3", 2),
    # Two TMA loads share each expect-tx; the second pair of loads is in a loop's body.
    f"{EXPECT}32768;{load(2)}{load(2, 'k_b')}" * 2: ("bf16", f"{SWIZZLED}, tma_box=(128, 64)", 2),
    f"mov.b32 %r20, 8192; {EXPECT}%r20;{load(2)}": ("bf16", f"{SWIZZLED}, tma_box=(64, 64)", 2),
    f"mov.b32 %r20, 4096; mov.b32 %r20, 512; {EXPECT}%r20;{load(2)}": ("bf16", f"{SWIZZLED}, tma_box=(64, 64)", 2),
    f"{EXPECT}%r30;{load(2, 'k_a')}": ("bf16", f"{SWIZZLED}, tma_box=(64, 64)", 2),
    f"add.s64 %rd5, %rd2, 0; {EXPECT}4096;{load(2, '%rd5')}": ("bf16", f"{SWIZZLED}, tma_box=(32, 64)", 2),
    f"mov.b16 %h1, 3; {EXPECT}4096;"
    + load(2).replace("bytes [", "bytes.multicast::cluster [").replace("[full]", "[full], %h1"): (
        *("bf16", f"{SWIZZLED}, tma_box=(16, 64)", 2),
    ),
    load(1): ("bf16", ", tma_box=(256,)", 1),
}


@pytest.mark.parametrize("body", FOUND)
def test_loads_show_the_rank_and_the_box(body: str) -> None:
    dtype, arguments, rank = FOUND[body]
    found = fitting_tile(kernel(body), "k_a")
    assert found is not None
    assert (found.dtype, found.arguments, len(found.sizes), found.written) == (dtype, arguments, rank, False)
    assert tensor_map(tile(found), {}).box
    assert tensor_map(tile(found), {}).shape[-1] % 8 == 0


def tile(found: ExampleTile) -> Tile:
    """Return the inferred `Tile` of an example kernel as text, with size names as extents."""
    names = {"Layout": Layout, "Tile": Tile, **BY_NAME}
    made = eval(f"Tile({', '.join(map(str, found.sizes))}, {found.dtype}{found.arguments})", names)  # noqa: S307  the printed call
    assert isinstance(made, Tile)
    return made


def test_the_ranks_of_maps_are_those_of_the_copies() -> None:
    for rank in range(1, 6):
        found = fitting_tile(kernel(load(rank)), "k_a")
        assert found is not None
        assert len(tensor_map(tile(found), {}).shape) == rank
    slabs = fitting_tile(kernel(load(3, first="0")), "k_a")
    assert slabs is not None
    assert len(tensor_map(tile(slabs), {}).shape) == 3


@pytest.mark.parametrize("rank", range(1, 6))
def test_stores_write_and_have_a_box_of_some_size(rank: int) -> None:
    found = fitting_tile(kernel(f"{EXPECT}64;{store(rank)}"), "k_a")
    assert found is not None
    assert found.written
    assert len(tensor_map(tile(found), {}).shape) == rank


UNKNOWN = {
    "no copy": "",
    "another map": load(2, "k_b"),
    "two ranks": load(2) + load(3),
    "im2col": load(4, more=".im2col", mask=", {%h1, %h2}"),
    "gather4": load(5, more=".tile::gather4").replace("5d", "2d"),
}


@pytest.mark.parametrize("why", UNKNOWN)
def test_other_uses_show_no_tile(why: str) -> None:
    function = kernel(UNKNOWN[why])
    assert fitting_tile(function, "k_a") is None
    said = "\n".join(launch_lines(function, pointers(function), "k", "file", dynamic=[]))
    assert said.startswith("k takes tensor maps (a, b). To launch it, describe their arrays in k.kernel:")


def test_bytes_of_other_copies_are_not_shared_out() -> None:
    bulk = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd4], 512, [full];"
    found = fitting_tile(kernel(f"{EXPECT}2048;{bulk}{load(2)}"), "k_a")
    assert found is not None
    assert found.arguments == f"{SWIZZLED}, tma_box=(64, 64)"


def test_a_grid_has_the_ctas_of_a_cluster() -> None:
    function = kernel(load(2) + load(2, "k_b"), ".explicitcluster\n.reqnctapercluster 2, 1, 1")
    said = "\n".join(launch_lines(function, pointers(function), "k", "file", dynamic=["s"], most_shared=200_000))
    assert "grid=(2, 1, 1)" in said
    assert "smem=200000" in said
    assert 'a": Tile("M0", "N0", bf16, Layout.TMA_128B, tma_box=(64, 64))' in said
    assert "torch.zeros((1024, 1024), dtype=torch.bfloat16)" in said
