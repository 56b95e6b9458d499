"""The page of static evidence: declared tiles match the PTX; a new page keeps the rows of other compilers."""

from __future__ import annotations

import re

import pytest
from tools.sass_loops import loop_of
from tools.static_evidence import OURS, PAGE, PROBLEMS, PRODUCTS, ROOT, ListedKernel, Others, Tile, page

from pyptx_arch_blackwell.descriptors import InstructionDescriptor
from pyptx_ir.toolchain import assemble, disassemble

pytestmark = [pytest.mark.no_cover, pytest.mark.hopper, pytest.mark.blackwell]

TILED = [each for problem in PROBLEMS for each in problem.ours if each.tile is not None]
EACH = pytest.mark.parametrize("shown", TILED, ids=lambda shown: shown.name)
DEPTH = 16  # K of one bf16 MMA instruction


def tile_of(shown: ListedKernel) -> Tile:
    assert shown.tile is not None
    return shown.tile


@EACH
def test_products_are_of_the_tile(shown: ListedKernel) -> None:
    tile, text = tile_of(shown), shown.row.specialize().text
    products = re.findall(r"tcgen05\.mma\.cta_group::(\d)\.kind::f16 \[[^]]*\], %rd\d+, %rd\d+, (\d+)", text)
    assert {int(blocks) for blocks, _ in products} == {tile.blocks}
    sizes = 0x3F << 17 | 0x1F << 24  # mask of the fields N and M of the instruction descriptor
    wanted = InstructionDescriptor("f16", d="f32", a="bf16", b="bf16", m=tile.rows, n=tile.columns).bits & sizes
    assert {int(bits) & sizes for _, bits in products} == {wanted}


@EACH
def test_each_stage_expects_the_bytes_of_a_step_and_the_ring_is_in_shared_memory(shown: ListedKernel) -> None:
    tile, special = tile_of(shown), shown.row.specialize()
    expected = {int(each) for each in re.findall(r"arrive\.expect_tx\S* [^;]*?, (\d+);", special.text)}
    assert tile.fetched // tile.blocks in expected
    shared = special.shared_bytes or sum(map(int, re.findall(r"\.shared .*\.b8 \w+\[(\d+)\]", special.text)))
    assert tile.stages * tile.fetched // tile.blocks <= shared <= 227 * 1024


@EACH
@pytest.mark.ptxas
def test_a_turn_of_the_loop_is_one_step(shown: ListedKernel) -> None:
    special = shown.row.specialize()
    loop = loop_of(disassemble(assemble(special.text, special.target).cubin), PRODUCTS)
    assert loop is not None
    assert loop.count(PRODUCTS) * DEPTH == tile_of(shown).depth


def test_a_tile_counts_its_bytes_and_operations() -> None:
    pair = Tile(256, 256, 64, 4, 2)
    assert pair.cells() == ("256 × 256", "2", "64", "4", "32 KiB", "4.2 M", "128", "126", "128 KiB")


def test_the_page_has_a_row_of_every_kernel_of_others_and_keeps_it() -> None:
    others, text = Others.committed(), (ROOT / PAGE).read_text(encoding="utf-8")
    assert others.rows.keys() == {each.title for problem in PROBLEMS for each in problem.others}
    assert all(by != OURS for by, _ in others.rows.values())
    ours = {each.name: ("",) for problem in PROBLEMS for each in problem.ours}
    kept = page(ours, others)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", others.date)
    assert f"last made on {others.date}" in kept
    for title, (by, cells) in others.rows.items():
        row = f"| {' | '.join((title, by, *cells))} |"
        assert row in kept
        assert row in text
