"""What `python my_kernel.py` prints: lines that launch a kernel of a compiler on arrays of torch and of jax."""

from __future__ import annotations

import runpy
import sys
import textwrap
from functools import partial
from typing import TYPE_CHECKING

import jax
import numpy as np
import pytest
import torch

from pyptx import Layout, Tile
from pyptx.codegen import ptx_to_python
from pyptx.modules import FunctionName
from pyptx.types import bf16, f32, s32
from pyptx_ir.syntax import decode

from .corpus_modules import CORPUS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.torch,
    pytest.mark.jax,
    pytest.mark.filterwarnings("ignore::pyptx_ir.errors.SimulatedExecution"),
]

LAUNCHED = ("nvcc-13.0/atomics.sm_80", "nvcc-13.0/hashing.sm_75", "triton-3.9/across.sm_80.counting")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a folder from which `my_kernel` is imported; what the lines switch on in jax is switched off behind them."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_kernel", raising=False)
    before = jax.config.jax_enable_x64
    yield tmp_path
    jax.config.update("jax_enable_x64", before)
    sys.modules.pop("my_kernel", None)


@pytest.mark.parametrize("name", LAUNCHED)
def test_the_lines_run_as_they_are_and_both_frameworks_get_the_same(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = decode((CORPUS / f"{name}.ptx").read_bytes())
    (folder / "my_kernel.py").write_text(ptx_to_python(source, sugar=True), encoding="ascii")
    runpy.run_path(str(folder / "my_kernel.py"), run_name="__main__")
    said = capsys.readouterr().out
    lines = said.partition("\nTo launch ")[2].partition("\n")[2].partition("\nWith numbers")[0]
    shown: list[list[bytes]] = []
    names: dict[str, object] = {"print": lambda *arrays: shown.append([np.asarray(each).tobytes() for each in arrays])}
    exec(textwrap.dedent(lines), names)  # noqa: S102  what users copy
    ours, theirs = shown
    assert ours == theirs
    assert any(set(each) != {0} for each in ours)


def kernel(name: str, function: str, folder: Path) -> FunctionName:
    """Return a kernel of a transpiled module, as a file that imports it gets it."""
    source = decode((CORPUS / f"{name}.ptx").read_bytes())
    (folder / "printed.py").write_text(ptx_to_python(source, sugar=True), encoding="ascii")
    found = runpy.run_path(str(folder / "printed.py"))[function]
    assert isinstance(found, FunctionName)
    return found


def test_a_kernel_of_nvcc_is_right_on_arrays_of_torch_and_of_jax(tmp_path: Path) -> None:
    clamped = kernel("nvcc-13.0/elementwise.sm_80", "clamp_and_select", tmp_path).kernel(
        names=("out", "values", "low", "high", "N"),
        in_specs={"values": Tile("N", s32)},
        out_specs={"out": Tile("N", s32)},
        grid=lambda N: -(-N // 128),
        block=128,
    )
    values = np.random.default_rng(5).integers(-100, 100, 300, np.int32)
    bounded = values.clip(-40, 60)
    wanted = np.where(bounded & 1, -bounded, bounded)
    assert np.array_equal(clamped(torch.from_numpy(values), low=-40, high=60).numpy(), wanted)
    assert np.array_equal(clamped(values, low=-40, high=60), wanted)
    bound = partial(clamped, low=-40, high=60)
    for call in (bound, jax.jit(bound)):
        assert np.array_equal(call(jax.numpy.asarray(values)), wanted)
    assert clamped.simulate(values, low=-40, high=60).findings == ()


def test_inputs_that_are_written_to_change_in_torch_and_are_returned_by_jax(tmp_path: Path) -> None:
    saxpy = kernel("nvcc-13.0/elementwise.sm_80", "saxpy_strided", tmp_path).kernel(
        names=("y", "x", "a", "N"),
        in_specs={"y": Tile("N", f32), "x": Tile("N", f32)},
        mutates=("y",),
        grid=2,
        block=64,
    )
    x, y = np.linspace(-1, 1, 500, dtype=np.float32), np.linspace(7, 9, 500, dtype=np.float32)
    wanted = 2.5 * x.astype(np.float64) + y
    changed = torch.from_numpy(y.copy())
    saxpy(changed, torch.from_numpy(x), a=2.5)
    for given in (changed.numpy(), saxpy(jax.numpy.asarray(y), jax.numpy.asarray(x), a=2.5)):
        assert (
            np.abs(np.asarray(given).astype(np.float64) - wanted).max() <= 2.0**-24 * 16
        )  # one rounding of numbers below 16


def test_a_matrix_product_with_tensor_maps_is_a_kernel_of_torch(tmp_path: Path) -> None:
    def tile(rows: str, columns: str, height: int) -> Tile:
        return Tile(rows, columns, bf16, Layout.TMA_128B, tma_box=(height, 64))

    product = kernel("nvcc-13.0/hopper_gemm.sm_90a", "gemm", tmp_path).kernel(
        names=("a", "b", "c", "M", "N", "K"),
        in_specs={"a": tile("M", "K", 128), "b": tile("N", "K", 256)},
        out_specs={"c": tile("M", "N", 64)},
        grid=1,
        block=384,
        smem=213_040,  # of its three stages, as in corpus/sources/hopper_gemm.cu
    )
    torch.manual_seed(3)
    a, b = torch.randn(136, 128).bfloat16(), torch.randn(264, 128).bfloat16()
    wanted = a.double() @ b.double().T
    assert torch.all((product(a, b).double() - wanted).abs() <= 2.0**-8 * wanted.abs() + 1e-3)
