"""Tensor copies and tcgen05 MMAs with the same swizzle use the same layout of shared memory."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from pyptx_arch_blackwell.sim.layouts import swizzle as of_descriptor
from pyptx_arch_hopper.sim.layouts import swizzle as of_map
from pyptx_sim.extension.shared_matrices import SharedMatrix

if TYPE_CHECKING:
    from pyptx_sim.extension import AccessLayout

MODES = {"none": (16, 16), "32B": (32, 16), "64B": (64, 16), "128B": (128, 16), "128B_atom_32B": (128, 32)}
ROWS = {"none": 1, "32B": 2, "64B": 4, "128B": 8, "128B_atom_32B": 4}
TILE = 5120  # address of a tile, a multiple of 1024

pytestmark = [pytest.mark.hopper, pytest.mark.blackwell]


def read(mode: str, start: int = TILE, base: int = 0) -> AccessLayout:
    """Return the layout of a matrix at `start` that an MMA reads."""
    width, atom = MODES[mode]
    return of_descriptor(SharedMatrix(start, 16, 1024, width, base, atom), "tcgen05.mma")


@pytest.mark.parametrize(("mode", "other"), [*product(MODES, MODES)])
def test_modes_are_the_same_layout_if_they_are_equal(mode: str, other: str) -> None:
    assert (of_map(mode, "cp.async.bulk.tensor", TILE) == read(other)) == (mode == other)


@pytest.mark.parametrize("mode", ["128B_atom_64B", "128B_atom_32B_flip_8B"])
def test_modes_without_a_descriptor_are_no_layout_of_an_mma(mode: str) -> None:
    assert all(of_map(mode, "cp.async.bulk.tensor", TILE) != read(other) for other in MODES)


@pytest.mark.parametrize("mode", MODES)
def test_a_copy_and_an_mma_start_at_the_same_row_of_the_pattern(mode: str) -> None:
    """The pattern of a copy starts at a multiple of 1024 bytes, and repeats after the rows of its mode."""
    for row, other in product(range(8), range(8)):
        same = (row - other) % ROWS[mode] == 0
        assert (of_map(mode, "cp.async.bulk.tensor", TILE + 128 * row) == read(mode, TILE + 128 * other)) == same
        assert (of_map(mode, "cp.async.bulk.tensor", TILE) == read(mode, base=row)) == (row % ROWS[mode] == 0)
