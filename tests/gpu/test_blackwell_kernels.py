"""The example kernels for sm_100 on the GPU: each benchmark case for sm_100, compared with its reference.

A kernel is tested as soon as a case in benchmarks/kernels/cases has `capability` (10, 0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from benchmarks.kernels.protocol import error_of
from benchmarks.kernels.runner import subjects

if TYPE_CHECKING:
    from benchmarks.kernels.case import Case

pytestmark = [pytest.mark.gpu, pytest.mark.torch, pytest.mark.sm_100, pytest.mark.hardware]

CASES = [case for cases in subjects().values() for case in cases if case.capability == (10, 0)]
TURNS = 20  # runs of each kernel: a data race does not change every run's result


def generator() -> torch.Generator:
    return torch.Generator("cuda").manual_seed(5)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_kernel_equals_its_reference_at_its_full_size(case: Case) -> None:
    inputs = case.make(generator())
    assert error_of(case.kernel(*inputs), case.reference(*inputs)) <= case.tolerance


@pytest.mark.parametrize("case", [case for case in CASES if case.small is not None], ids=lambda case: case.name)
def test_a_kernel_equals_its_reference_at_edges_time_and_again(case: Case) -> None:
    assert case.small is not None
    inputs = case.small(generator())
    expected = case.reference(*inputs)
    for _ in range(TURNS):
        assert error_of(case.kernel(*inputs), expected) <= case.tolerance
