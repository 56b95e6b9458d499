"""Property L7 without a GPU: the simulator reproduces the recorded results of each instruction and MMA, bit by bit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.gpu import edges, mma, simulated
from tests.gpu.copies import COPIES, Copy
from tests.gpu.golden import held, read
from tests.gpu.instructions import RECORDED, Recorded
from tests.gpu.questions import CHAINS, QUESTIONS
from tools.shares import share

if TYPE_CHECKING:
    from tests.gpu.mma import WarpProduct

pytestmark = pytest.mark.scaled

TARGET, OF_WARPGROUPS = "sm_90", "sm_90a"
TRUTH = read(Path(__file__).with_name("truth_sm_90.json"))
# Instructions and MMAs without a recorded result were added after the recording; they are not tested.
INSTRUCTIONS = [row for row in RECORDED if row.opcode in TRUTH]
WARP_PRODUCTS = [each.of(TRUTH) for each in mma.warp_products(OF_WARPGROUPS) if each.name in TRUTH]
EDGES = [each for each in edges.warp_products(OF_WARPGROUPS) if each.name in TRUTH]
GROUP_EDGES = [each for name, each in edges.group_products().items() if name in TRUTH]
RECORDED_COPIES = [case for case in COPIES.values() if case.name in TRUTH]
# The recorder has a time limit: of each wgmma form, it runs the smallest and the largest N first.
GROUP_PRODUCTS = {
    f"{form} {case}": case
    for form, cases in mma.group_products().items()
    for case in cases
    if f"{form} {case}" in TRUTH
}


def test_what_is_recorded_is_known_and_nothing_of_it_is_left_out() -> None:
    assert len(INSTRUCTIONS) >= 232
    assert len(WARP_PRODUCTS) >= 199
    assert len(GROUP_PRODUCTS) >= 565
    assert len(EDGES) >= 80
    assert len(GROUP_EDGES) >= 24
    assert len(RECORDED_COPIES) >= 16
    operands = {name for product in WARP_PRODUCTS for name in product.recorded_operands}
    names = {row.opcode for row in INSTRUCTIONS} | {product.name for product in WARP_PRODUCTS} | operands
    of_edges = {product.name for product in (*EDGES, *GROUP_EDGES)}
    asked = {name for name in (*QUESTIONS, *CHAINS) if name in TRUTH}
    assert set(TRUTH) == names | of_edges | {case.name for case in RECORDED_COPIES} | set(GROUP_PRODUCTS) | asked
    for form, cases in mma.group_products().items():
        assert all(f"{form} {case}" in TRUTH for case in cases[:2])


@pytest.mark.parametrize("row", INSTRUCTIONS, ids=[row.opcode for row in INSTRUCTIONS])
def test_an_instruction_gives_what_the_hardware_gave(row: Recorded) -> None:
    simulated.agree(row, TRUTH[row.opcode], simulated.instruction(row, TARGET))


@pytest.mark.parametrize("product", WARP_PRODUCTS, ids=[product.name for product in WARP_PRODUCTS])
def test_a_product_of_a_warp_gives_what_the_hardware_gave(product: WarpProduct) -> None:
    hardware, found = TRUTH[product.name], simulated.warp_product(product, OF_WARPGROUPS)
    assert (hardware == found).all(), simulated.off(hardware, found)


@pytest.mark.parametrize("product", EDGES, ids=[product.name for product in EDGES])
def test_a_product_of_edges_gives_what_the_hardware_gave(product: WarpProduct) -> None:
    hardware, found = TRUTH[product.name], simulated.warp_product(product, OF_WARPGROUPS)
    assert simulated.alike(product.types[0], hardware, found), simulated.off(hardware, found)


@pytest.mark.parametrize("product", GROUP_EDGES, ids=[product.name for product in GROUP_EDGES])
def test_a_product_of_edges_of_a_warpgroup_gives_what_the_hardware_gave(product: edges.GroupProduct) -> None:
    assert np.array_equal(TRUTH[product.name], simulated.group_product(product.case, product.given))


@pytest.mark.parametrize("product", share(WARP_PRODUCTS, 7), ids=lambda product: product.name)
def test_what_the_hardware_gave_is_within_the_bound_of_the_product(product: WarpProduct) -> None:
    product.check(TRUTH[product.name])


@pytest.mark.parametrize("name", share(GROUP_PRODUCTS, 13))
def test_a_product_of_a_warpgroup_gives_what_the_hardware_gave(name: str) -> None:
    assert np.array_equal(TRUTH[name], held(simulated.group_product(GROUP_PRODUCTS[name])))


@pytest.mark.parametrize("case", RECORDED_COPIES, ids=lambda case: case.name)
def test_a_copy_gives_what_the_hardware_gave(case: Copy) -> None:
    found = simulated.copy(case, OF_WARPGROUPS)
    assert np.array_equal(TRUTH[case.name].view(np.uint8).reshape(found.shape), found)


@pytest.mark.parametrize("change", [1, 1 << 31])
def test_a_bit_that_differs_is_seen(change: int) -> None:
    row: Any = next(row for row in RECORDED if row.opcode == "add.rn.f32")
    other = TRUTH[row.opcode].copy()
    other[np.flatnonzero(other == 0x3F800000)[0]] ^= np.uint32(change)
    with pytest.raises(AssertionError, match="1 of"):
        simulated.agree(row, TRUTH[row.opcode], other)
