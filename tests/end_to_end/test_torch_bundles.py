"""Bundled kernels with many scalars: the first call and later (cached) calls pass the same parameter bytes."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest
import torch

import pyptx
from pyptx.bundles import export
from pyptx_dsl import ptx
from pyptx_dsl.contract.specs import Tile
from pyptx_dsl.modules.beginning import module
from pyptx_dsl.types import f32, u64
from pyptx_torch.fingerprints import fingerprint_of

from . import bundle_kernels
from .test_torch_launches import caller, null  # noqa: F401  pytest requests the fixture by its name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyptx_torch.fingerprints import Fingerprint

pytestmark = [pytest.mark.torch, pytest.mark.ptxas]

SIZE, COUNT = 8, 20
LETTERS = "IqfH"  # `struct` formats of the kernel `many`'s scalars: parameter i has LETTERS[i % 4]


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
    assert len(long) <= 2  # at most two of the calls are not launched from the cache


def test_kernels_of_bundles_have_the_fingerprint_of_what_was_compiled(tmp_path: Path) -> None:
    def loaded(name: str, value: float) -> Fingerprint:
        fixed = {f"p{number}": value for number in range(COUNT) if LETTERS[number % 4] == "f"}
        folder = export(bundle_kernels.many, [{"N": SIZE, **fixed}], tmp_path / name)
        return fingerprint_of(pyptx.load(folder)["many"])

    assert loaded("one", 1.0) == loaded("same", 1.0) != loaded("other", 2.0)


def test_kernels_of_modules_have_the_fingerprint_of_their_text() -> None:
    def written(factor: float) -> Fingerprint:
        m = module(version=(8, 0), target="sm_90a")

        @m.entry("fill", [u64])
        def fill(*names: str) -> None:
            (pointer,) = ptx.global_ptrs(*names)
            ptx.inst.st.global_.f32(ptx.addr(pointer), factor)
            ptx.ret()

        return fingerprint_of(fill.kernel(out_specs={"param_0": Tile(1, f32)}, grid=1, block=1))

    assert written(1.0) == written(1.0) != written(2.0)
    assert not written(1.0).unknown
