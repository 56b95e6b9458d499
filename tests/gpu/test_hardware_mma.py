"""Each MMA (mma, wgmma, wmma) runs on this GPU, and on the simulator with exact numerics; results must agree.

The GPU's result is recorded under the name of the MMA (see golden.py): the registers of D, or a digest if they are
many. If the simulator's result differs, it is recorded too. Inputs are not stored, because `mma.py` generates them
again; the exception is wmma, whose fragment layout the manual leaves open. `GPU_CHECK_PRODUCT_SECONDS` (40) limits the
time of wgmma, divided among its forms; each form runs at least once.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from . import edges, mma, simulated
from .driver import device
from .golden import held

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from .mma import WarpProduct

pytestmark = pytest.mark.gpu

SECONDS = float(os.environ.get("GPU_CHECK_PRODUCT_SECONDS", "40"))
KEPT = 2  # maximum number of recorded cases per form in which GPU and simulator differ
TARGET = device().target + "a" * (device().capability >= (9, 0))
GROUPS = mma.group_products() if device().capability[0] == 9 else {}  # only devices of capability 9.x have wgmma


def record(
    truth: MutableMapping[str, np.ndarray], name: str, hardware: np.ndarray, found: np.ndarray, *, both: bool = True
) -> bool:
    """Record the GPU's MMA result; return whether the simulator's is equal.

    If it is not, and `both` is true, record both results in full.
    """
    truth[name] = held(hardware)
    same = bool((hardware == found).all())
    if both and not same:
        truth[f"{name} (hardware)"], truth[f"{name} (simulator)"] = hardware, found
    return same


@pytest.mark.parametrize("product", mma.warp_products(TARGET), ids=lambda product: product.name)
def test_a_product_of_a_warp_is_within_its_bound_and_what_the_simulator_says(
    product: WarpProduct, truth: MutableMapping[str, np.ndarray]
) -> None:
    text, empty = product.probe(TARGET), product.empty()
    (hardware,) = device().run(text, "probe", 1, mma.LANES, product.operands, [empty])
    found = simulated.warp_product(product, TARGET)
    truth.update(product.recorded_operands)
    same = record(truth, product.name, hardware, found)
    product.check(hardware)
    assert same, simulated.off(hardware, found)


@pytest.mark.parametrize("name", GROUPS)
def test_products_of_a_warpgroup_are_within_their_bounds_and_what_the_simulator_says(
    name: str, truth: MutableMapping[str, np.ndarray]
) -> None:
    tests, ends = mma.group_tests, time.monotonic() + SECONDS / len(GROUPS)
    beyond, unlike, ran = list[str](), list[str](), 0
    for case in GROUPS[name]:
        if ran and time.monotonic() > ends:
            break
        ran += 1
        hardware, found, excess = run_case(tests, case)
        if excess > 0:
            beyond.append(f"{case}: {excess} beyond the bound")
        if not record(truth, f"{name} {case}", hardware, found, both=len(unlike) < KEPT):
            unlike.append(f"{case}: {simulated.off(hardware, found)}")
    truth[f"{name} (cases)"] = np.array([ran, len(beyond), len(unlike)], np.uint32)
    assert not beyond, f"{len(beyond)} of {ran} cases: {beyond[:3]}"
    assert not unlike, f"{len(unlike)} of {ran} cases: {unlike[:3]}"


@pytest.mark.parametrize("product", edges.warp_products(TARGET), ids=lambda product: product.name)
def test_a_product_of_edges_is_what_the_simulator_says(
    product: WarpProduct, truth: MutableMapping[str, np.ndarray]
) -> None:
    text, empty = product.probe(TARGET), product.empty()
    (hardware,) = device().run(text, "probe", 1, mma.LANES, product.operands, [empty])
    found = simulated.warp_product(product, TARGET)
    record(truth, product.name, hardware, found)
    assert simulated.alike(product.types[0], hardware, found), simulated.off(hardware, found)


@pytest.mark.parametrize("name", edges.group_products() if GROUPS else {})
def test_a_product_of_edges_of_a_warpgroup_is_what_the_simulator_says(
    name: str, truth: MutableMapping[str, np.ndarray]
) -> None:
    product = edges.group_products()[name]
    text = mma.group_tests.kernel_of(product.case).ptx()
    (hardware,) = device().run(text, "product", 1, 128, product.given, [np.zeros_like(product.given[3])])
    found = simulated.group_product(product.case, product.given)
    assert record(truth, name, hardware, found), simulated.off(hardware, found)


def run_case(tests: Any, case: Any) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the words of D from the GPU and from the simulator, and the GPU's largest excess over the error bound."""
    problem, kernel = tests.problem_of(case, mma.SEED), tests.kernel_of(case)
    empty = np.zeros_like(problem.given[3])
    (hardware,) = device().run(kernel.ptx(), "product", 1, 128, problem.given, [empty])
    apart = np.abs(tests.matrix_of(case, hardware).astype(np.float64) - problem.total)
    excess = apart - problem.bound - tests.cut_off(case, problem)
    return hardware, simulated.group_product(case), float(excess.max())
