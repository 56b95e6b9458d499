"""Transpiled kernels, edited by hand: they emit their original PTX, except for names and whitespace."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np
import pytest

from pyptx_diff import compare
from pyptx_dsl.modules.builder import ModuleBuilder
from pyptx_ir.plugins.rows import TensorMap
from pyptx_ir.syntax import decode, parse
from pyptx_sim import WithDescriptor, run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_diff import Comparison

pytestmark = pytest.mark.no_cover

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "examples" / "transpiled"
BEGAN_AS = {
    "hopper_gemm": "nvcc-13.0/hopper_gemm.sm_90a.ptx",
    "rms_norm": "tilelang-0.1/rows.sm_90a.rms-norm.ptx",
    "row_totals": "cutedsl-4.8/vectors.sm_90a.totals.ptx",
    "triton_attention": "triton-3.9/attention.sm_90a.tma.ptx",
    "tiled_product": "numba-0.30/kernels.sm_90a.multiply.ptx",
}
"""The examples, and the corpus modules from which they were printed."""
PARTS = {"triton_parts"}  # parts of an example, not examples


def source_of(name: str) -> str:
    """Return the original PTX of an example."""
    return decode((ROOT / "corpus" / BEGAN_AS[name]).read_bytes())


def emitted(path: Path) -> str:
    """Return the PTX that a file emits."""
    module = runpy.run_path(str(path))["module"]
    assert isinstance(module, ModuleBuilder)
    return module.ptx()


def compared(path: Path, name: str) -> Comparison:
    """Compare the original PTX of an example with the PTX that a file emits."""
    return compare(parse(source_of(name)), parse(emitted(path)))


def test_each_example_is_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} - PARTS == set(BEGAN_AS)


@pytest.mark.parametrize("name", BEGAN_AS)
def test_it_emits_what_it_began_as(name: str) -> None:
    assert compared(FOLDER / f"{name}.py", name).same


@pytest.mark.parametrize("name", BEGAN_AS)
def test_it_runs_by_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    assert "largest" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("right", "edited", "wanted"),
    [
        ("inc.sync.aligned.u32(240)", "inc.sync.aligned.u32(232)", ["setmaxnreg.inc.sync.aligned.u32 232;"]),
        ("less(step, steps)", "less(step, columns)", ["setp.lt.s32"]),
        ("EMPTY = 212992, 213016", "EMPTY = 212992, 213032", ["add.s32"] * 6),
    ],
    ids=["a constant", "the bound of a loop", "a place in shared memory"],
)
def test_an_edit_changes_that_and_nothing_else(right: str, edited: str, wanted: list[str], tmp_path: Path) -> None:
    text = (FOLDER / "hopper_gemm.py").read_text(encoding="utf-8")
    assert text.count(right) == 1
    path = tmp_path / "edited.py"
    path.write_text(text.replace(right, edited), encoding="utf-8")
    changes = list(compared(path, "hopper_gemm").changes())
    assert [change.kind for change in changes] == ["changed"] * len(wanted)
    for change, begins in zip(changes, wanted, strict=True):
        assert change.after is not None
        assert change.after.text.startswith(begins)
        assert len(change.reasons) == 1


BF16 = ml_dtypes.bfloat16
M, N, K = 200, 304, 192  # tiles are 128 x 256 and stages 64 of K: all tiles are partial


def product(text: str, a: NDArray[np.generic], b: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return C computed on the simulator by the kernel in a text; no findings."""
    c = np.zeros((M, N), BF16)

    def tiled(array: NDArray[np.generic], rows: int) -> WithDescriptor:
        return WithDescriptor(array, TensorMap("bf16", array.shape, array.strides, (rows, 64), (1, 1), swizzle="128B"))

    arguments = [tiled(a, 128), tiled(b, 256), tiled(c, 64), M, N, K]
    result = run(text, grid=2, block=384, args=arguments, shared_bytes=213_040)
    assert result.findings == ()
    return c


def test_the_matrix_product_is_one_on_the_simulator() -> None:
    random = np.random.default_rng(1)
    a, b = (random.standard_normal(shape).astype(BF16) for shape in ((M, K), (N, K)))
    ours = product(emitted(FOLDER / "hopper_gemm.py"), a, b)
    theirs = product(source_of("hopper_gemm"), a, b)
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    assert np.array_equal(ours.view(np.uint16), theirs.view(np.uint16))
    assert np.all(np.abs(ours.astype(np.float64) - exact) <= 2.0**-8 * np.abs(exact) + 1e-3)
