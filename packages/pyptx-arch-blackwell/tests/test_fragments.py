"""Fragments match `tcgen05.ld`: each register holds the element of D at the loaded lane and column, in every layout."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from pyptx_arch_blackwell.datapath import accumulator
from pyptx_arch_blackwell.fragments import accumulator_fragment
from pyptx_arch_blackwell.layouts.moves import SHAPES, column, lane, register_fragment
from pyptx_dsl import ptx, reg
from pyptx_dsl.errors import OperandError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import u32
from pyptx_ir.fragments.instructions import fragments_in
from pyptx_ir.fragments.lookup import fragment_of
from pyptx_ir.syntax import parse
from pyptx_ir.syntax.nodes import Instruction
from pyptx_ir.syntax.walk import walk

HEAD = ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<10>;\n"

# For each of the manual's layouts: M, the MMA options, and the load shapes that can read it.
ALL, HALVES = ("32x32b", "16x64b", "16x128b", "16x256b"), ("16x64b",)
PRODUCTS: list[tuple[str, int, dict[str, Any], tuple[str, ...]]] = [
    ("A", 256, {"cta_group": 2}, ("32x32b",)),
    ("B", 128, {"cta_group": 2}, ("32x32b",)),
    ("C", 128, {"cta_group": 2, "sparse": True}, ("16x64b", "16x128b", "16x256b")),
    ("D", 128, {}, ("32x32b",)),
    ("E", 64, {"ws": True}, ("32x32b",)),
    ("F", 64, {}, ("16x64b", "16x128b", "16x256b")),
    ("G", 32, {"ws": True}, ("32x32b",)),
]
CASES = [(m, words, load) for _, m, words, loads in PRODUCTS for load in loads]


def cells(m: int, n: int, words: dict[str, Any]) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the element of D at each lane and column of the first CTA's tensor memory."""
    parts = accumulator(
        m, n, blocks=words.get("cta_group", 1), sparse=words.get("sparse", False), stationary=words.get("ws", False)
    )
    return {
        (part.lane + row, part.column + across): (part.row + row, part.n + across)
        for part in parts
        if part.block == 0
        for row, across in product(range(part.rows), range(part.columns))
    }


@pytest.mark.parametrize(("m", "words", "load"), CASES)
@pytest.mark.parametrize("n", [64, 128])
def test_a_register_has_the_element_of_the_cell_that_is_loaded_into_it(
    m: int, n: int, words: dict[str, Any], load: str
) -> None:
    held = cells(m, n, words)
    found = accumulator_fragment(m, n, load=load, **words)
    seen = set()
    for thread, register in product(range(128), range(found.registers)):
        cell = (thread // 32 * 32 + lane(load, thread % 32, register), column(load, thread % 32, register))
        assert (found.row(thread, register), found.column(thread, register)) == held[cell]
        seen.add(cell)
    assert seen == set(held)


@pytest.mark.parametrize(("m", "words", "load"), CASES)
def test_packed_registers_have_two_columns(m: int, words: dict[str, Any], load: str) -> None:
    held = cells(m, 64, words)
    found = accumulator_fragment(m, 64, load=load, packed=True, **words)
    for thread, register, half in product(range(128), range(found.registers), range(2)):
        cell = (
            thread // 32 * 32 + lane(load, thread % 32, register),
            column(load, thread % 32, register, packed=True) + half,
        )
        element = 2 * register + half
        assert (found.row(thread, element), found.column(thread, element)) == held[cell]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_loads_and_stores_have_the_layout_of_the_cells_they_access(shape: str, *, packed: bool) -> None:
    offset = ", 4" if shape == "16x32bx2" else ""
    held = ", ".join(f"%r{index}" for index in range(4))
    for name, operands in (("ld", f"{{{held}}}, [%r9]{offset}"), ("st", f"[%r9]{offset}, {{{held}}}")):
        repeats = 4 // SHAPES[shape].count
        words = f".{'' if name == 'ld' else 'un'}pack::16b" if packed else ""
        text = f"tcgen05.{name}.sync.aligned.{shape}.x{repeats}{words}.b32 {operands};"
        (node,) = (each for each in walk(parse(f"{HEAD}{text}\n}}")) if isinstance(each, Instruction))
        (found,) = fragments_in(node).values()
        assert found == register_fragment(shape, repeats, packed=packed)
        assert found.registers == 4


def test_a_load_of_lanes_that_hold_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="16 of them"):
        accumulator_fragment(64, 64)
    with pytest.raises(ValueError, match="load must be one of 32x32b"):
        accumulator_fragment(128, 64, load="16x32bx2")


def test_kernels_ask_for_fragments_and_compute_places_by_registers() -> None:
    @kernel(arch="sm_100a", block=128)
    def k() -> None:
        found = ptx.tcgen05.fragment(shape=(64, 128), load="16x256b")
        assert found == accumulator_fragment(64, 128, load="16x256b")
        assert ptx.tcgen05.fragment(load="16x64b", count=4).registers == 4
        found.row(reg.scalar(u32), 3)
        with pytest.raises(OperandError, match="M = 96"):
            ptx.tcgen05.fragment(shape=(96, 64))
        with pytest.raises(OperandError, match="invalid repetition count"):
            ptx.tcgen05.fragment(load="16x256b", count=64)
        ptx.ret()

    assert "shr.u32" in k.ptx()
    assert fragment_of("tcgen05", "m128n64k16", "d", "f32", "") == accumulator_fragment(128, 64)
    assert "m128 n64" in str(accumulator_fragment(128, 64))


def test_every_shape_of_load_is_in_the_cases() -> None:
    assert {load for *_, load in CASES} == {name for name, shape in SHAPES.items() if shape.accesses == 1}
