"""Kernels of many scalars out of bundles: each call passes what the first one did, whichever way it takes."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest
import torch

import pyptx
from pyptx.bundles import export

from . import bundle_kernels
from .test_torch_launches import caller, null  # noqa: F401  the fixture is asked for by its name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = [pytest.mark.torch, pytest.mark.ptxas]

SIZE, COUNT = 8, 20
LETTERS = "IqfH"  # of the types of `many`, by turns, in `struct`


def value_of(number: int) -> float:
    return number + 0.5 if LETTERS[number % 4] == "f" else number


@pytest.mark.parametrize("left", [(), (3,), (16,), (19,), (0, 15, 16, 17), tuple(range(COUNT))])
def test_warm_calls_pass_the_bytes_of_the_cold_one(
    left: Sequence[int],
    tmp_path: Path,
    null,  # noqa: F811  a fixture
) -> None:
    fixed = {f"p{number}": value_of(number) for number in range(COUNT) if number not in left}
    folder = export(bundle_kernels.many, [{"N": SIZE, **fixed}], tmp_path / "bundle")
    call, long = caller(pyptx.load(folder)["many"])
    x, out = torch.ones(SIZE), torch.empty(SIZE)
    given = {f"p{number}": value_of(number) for number in left}
    for _ in range(4):
        assert call(x, out=out, **given) is out
    launches = null.launches()
    wanted = [struct.pack("<Q", tensor.data_ptr()) for tensor in (x, out)]
    wanted += [struct.pack("<" + LETTERS[number % 4], value_of(number)) for number in range(COUNT)]
    assert [launch["parameters"] for launch in launches] == [wanted] * 4
    assert len(long) <= 2  # the rest is warm
