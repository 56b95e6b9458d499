"""Tensor copies and tcgen05 MMAs with the same swizzle use the same layout of shared memory."""

from __future__ import annotations

from itertools import product

import pytest

from pyptx_arch_blackwell.sim.layouts import swizzle as of_descriptor
from pyptx_arch_hopper.sim.layouts import swizzle as of_map

MODES = {"none": (16, 16), "32B": (32, 16), "64B": (64, 16), "128B": (128, 16), "128B_atom_32B": (128, 32)}


@pytest.mark.hopper
@pytest.mark.blackwell
@pytest.mark.parametrize(("mode", "other"), [*product(MODES, MODES)])
def test_modes_are_the_same_layout_if_they_are_equal(mode: str, other: str) -> None:
    assert (of_map(mode, "cp.async.bulk.tensor") == of_descriptor(*MODES[other], "tcgen05.mma")) == (mode == other)


@pytest.mark.hopper
@pytest.mark.blackwell
@pytest.mark.parametrize("mode", ["128B_atom_64B", "128B_atom_32B_flip_8B"])
def test_modes_without_a_descriptor_are_no_layout_of_an_mma(mode: str) -> None:
    assert all(of_map(mode, "cp.async.bulk.tensor") != of_descriptor(*of, "tcgen05.mma") for of in MODES.values())
