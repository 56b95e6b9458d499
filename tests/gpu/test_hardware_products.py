"""Law L7 for tensor cores: each product of matrices runs on this GPU, and on the simulator as exactly as it can.

What the GPU gave is recorded under the product's name (see golden.py): the registers of d, or where they are many
their digest; beside it, where the simulator gives anything else, what that is. Inputs are not stored: `products.py`
makes them again. `GPU_CHECK_PRODUCT_SECONDS` (40) bounds the time of wgmma, which its forms share: each runs at least
once.
"""

from __future__ import annotations

import hashlib
import os
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pyptx_sim

from . import products
from .driver import device

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from .products import WarpProduct

pytestmark = pytest.mark.gpu

SECONDS = float(os.environ.get("GPU_CHECK_PRODUCT_SECONDS", "40"))
WHOLE = 1024  # words of d: what has more is recorded as a digest
KEPT = 2  # of the cases of a form that the simulator gets wrong
TARGET = device().target + "a" * (device().capability >= (9, 0))
GROUPS = products.group_products() if device().capability[0] == 9 else {}  # no other has wgmma


def digest(array: np.ndarray) -> np.ndarray:
    """Return what tells an array from others: 16 bytes."""
    return np.frombuffer(hashlib.blake2b(array.tobytes(), digest_size=16).digest(), np.uint8)


def record(
    truth: MutableMapping[str, np.ndarray], name: str, hardware: np.ndarray, simulated: np.ndarray, *, both: bool = True
) -> bool:
    """Record a product; tell whether the simulator gives the same bits. `both` keeps all words where it doesn't."""
    truth[name] = hardware if hardware.size <= WHOLE else digest(hardware)
    same = bool((hardware == simulated).all())
    if both and not same:
        truth[f"{name} (hardware)"], truth[f"{name} (simulator)"] = hardware, simulated
    return same


def off(hardware: np.ndarray, simulated: np.ndarray) -> str:
    """Say how many words of d differ, and show some."""
    wrong = np.argwhere(hardware != simulated)
    shown = [(*map(int, at), hex(hardware[tuple(at)]), hex(simulated[tuple(at)])) for at in wrong[:6]]
    return f"{len(wrong)} of {hardware.size} words differ; place, hardware, simulator: {shown}"


@pytest.mark.parametrize("product", products.warp_products(TARGET), ids=lambda product: product.name)
def test_a_product_of_a_warp_is_within_its_bound_and_what_the_simulator_says(
    product: WarpProduct, truth: MutableMapping[str, np.ndarray]
) -> None:
    text, empty = product.probe(TARGET), product.empty()
    (hardware,) = device().run(text, "probe", 1, products.LANES, product.operands, [empty])
    args = [*product.operands, empty]
    pyptx_sim.run(text, entry="probe", grid=1, block=products.LANES, args=args, checks="none", numerics="exact")
    same = record(truth, product.name, hardware, empty)
    product.check(hardware)
    assert same, off(hardware, empty)


@pytest.mark.parametrize("name", GROUPS)
def test_products_of_a_warpgroup_are_within_their_bounds_and_what_the_simulator_says(
    name: str, truth: MutableMapping[str, np.ndarray]
) -> None:
    tests, ends = products.group_tests, time.monotonic() + SECONDS / len(GROUPS)
    beyond, unlike, ran = list[str](), list[str](), 0
    for case in GROUPS[name]:
        if ran and time.monotonic() > ends:
            break
        ran += 1
        hardware, simulated, excess = run_case(tests, case)
        if excess > 0:
            beyond.append(f"{case}: {excess} beyond the bound")
        if not record(truth, f"{name} {case}", hardware, simulated, both=len(unlike) < KEPT):
            unlike.append(f"{case}: {off(hardware, simulated)}")
    truth[f"{name} (cases)"] = np.array([ran, len(beyond), len(unlike)], np.uint32)
    assert not beyond, f"{len(beyond)} of {ran} cases: {beyond[:3]}"
    assert not unlike, f"{len(unlike)} of {ran} cases: {unlike[:3]}"


def run_case(tests: Any, case: Any) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the words of d from the GPU and from the simulator, and by how much the GPU's exceed what is allowed."""
    problem, kernel = tests.problem_of(case, products.SEED), tests.kernel_of(case)
    empty = np.zeros_like(problem.given[3])
    (hardware,) = device().run(kernel.ptx(), "product", 1, 128, problem.given, [empty])
    (simulated,) = kernel.simulate(*problem.given, checks="none", numerics="exact").outputs
    apart = np.abs(tests.matrix_of(case, hardware).astype(np.float64) - problem.total)
    excess = apart - problem.bound - tests.cut_off(case, problem)
    return hardware, np.asarray(simulated).reshape(hardware.shape), float(excess.max())
