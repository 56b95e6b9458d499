"""Kernels that were transpiled and cleaned by hand: they emit what they began as, but for names and white space."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyptx_dsl.modules.builder import ModuleBuilder
from pyptx_ir.diff import compare
from pyptx_ir.syntax import decode, parse

if TYPE_CHECKING:
    from pyptx_ir.diff import Comparison

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "examples" / "transpiled"
BEGAN_AS = {"hopper_gemm": "nvcc-13.0/hopper_gemm.sm_90a.ptx"}
"""The examples, and the modules of the corpus that they were printed from."""


def compared(path: Path, source: str) -> Comparison:
    """Compare a module of the corpus with what a file emits."""
    module = runpy.run_path(str(path))["module"]
    assert isinstance(module, ModuleBuilder)
    return compare(parse(decode((ROOT / "corpus" / source).read_bytes())), parse(module.ptx()))


def test_each_example_is_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == set(BEGAN_AS)


@pytest.mark.parametrize("name", BEGAN_AS)
def test_it_emits_what_it_began_as(name: str) -> None:
    assert compared(FOLDER / f"{name}.py", BEGAN_AS[name]).same


@pytest.mark.parametrize(
    ("right", "edited", "wanted"),
    [
        ("inc.sync.aligned.u32(240)", "inc.sync.aligned.u32(232)", ["setmaxnreg.inc.sync.aligned.u32 232;"]),
        ("test(), step, steps)", "test(), step, columns)", ["setp.lt.s32"]),
        ("EMPTY = 212992, 213016", "EMPTY = 212992, 213032", ["add.s32"] * 6),
    ],
    ids=["a constant", "the bound of a loop", "a place in shared memory"],
)
def test_an_edit_changes_that_and_nothing_else(right: str, edited: str, wanted: list[str], tmp_path: Path) -> None:
    text = (FOLDER / "hopper_gemm.py").read_text(encoding="utf-8")
    assert text.count(right) == 1
    path = tmp_path / "edited.py"
    path.write_text(text.replace(right, edited), encoding="utf-8")
    changes = list(compared(path, BEGAN_AS["hopper_gemm"]).changes())
    assert [change.kind for change in changes] == ["changed"] * len(wanted)
    for change, begins in zip(changes, wanted, strict=True):
        assert change.after is not None
        assert change.after.text.startswith(begins)
        assert len(change.reasons) == 1
