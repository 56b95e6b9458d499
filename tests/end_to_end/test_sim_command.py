"""`pyptx sim FILE.py:KERNEL`: kernels of Python files on the simulator."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pyptx_ir.commands import main

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """\
from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import bf16, f32, u32
"""
REVERSED = """
@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=1, block=lambda N: N)
def reversed_(X, Y, *, synchronizes=True):
    px, py = ptx.global_ptrs(X, Y)
    tid, row = reg.from_(ptx.special.tid.x(), u32), smem.alloc(f32, 64)
    value = reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, ptx.addr(px + tid * 4))
    row[tid] = value
    if synchronizes:
        ptx.bar.sync(0)
    ptx.inst.st.global_.f32(ptx.addr(py + tid * 4), row[63 - tid])
    ptx.ret()
"""
COPIED = """
@kernel(in_specs=(Tile("N", bf16),), out_specs=(Tile("N", bf16),), grid=1, block=lambda N: N)
def copied(X, Y):
    px, py = ptx.global_ptrs(X, Y)
    tid, value = reg.from_(ptx.special.tid.x(), u32), reg.scalar(bf16)
    ptx.inst.ld.global_.b16(value, ptx.addr(px + tid * 2))
    ptx.inst.st.global_.b16(ptx.addr(py + tid * 2), value)
    ptx.ret()
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "reversed.py"
    path.write_text(HEAD + REVERSED)
    return str(path)


def test_a_kernel_runs_on_random_arrays_and_its_outputs_can_be_saved(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x, y = np.arange(64, dtype=np.float32), tmp_path / "y.npy"
    np.save(tmp_path / "x.npy", x)
    assert main(["sim", file, "--N", "64"]) == 0
    assert capsys.readouterr().out.startswith("no findings: ")
    assert main(["sim", file, "--N", "64", "--arg", str(tmp_path / "x.npy"), "--save", f"Y={y}"]) == 0
    np.testing.assert_array_equal(np.load(y), x[::-1])


def test_findings_have_the_line_of_python(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", f"{file}:reversed_", "--N=64", "--synchronizes=False", "--json"]) == 1
    (race,) = json.loads(capsys.readouterr().out)["problems"]
    assert race["rule"] == "shared-race"
    lines = (HEAD + REVERSED).splitlines()
    assert [lines[each["line"] - 1].strip() for each in race["positions"]] == [
        "ptx.inst.st.global_.f32(ptx.addr(py + tid * 4), row[63 - tid])",
        "row[tid] = value",
    ]
    assert {each["file"] for each in race["positions"]} == {file}


def test_arrays_of_types_that_numpy_lacks_are_random_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "copied.py"
    path.write_text(HEAD + COPIED)
    assert main(["sim", str(path), "--N", "32"]) == 0
    assert "no findings" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no size for N"),
        (["--N", "64", "--block", "32"], "--block is for PTX"),
        (["--N", "64", "--grid", "2"], "--grid is for PTX"),
        (["--N", "64", "--arch", "sm_80"], "has no PTX for sm_80"),
        (["--N", "64", "--arg", "f32[64]"], "has no values"),
        (["--N", "64", "--arg", "f32[32]=zeros"], "N=64 contradicts the arrays"),
        (["--N", "64", "--M", "3"], "reversed_ has no size or parameter M"),
        (["--N", "64", "--sede", "3"], "unknown option --sede\nhelp: did you mean --seed?\n  sizes and parameters of"),
        (["--N", "99999999999999"], "not enough memory for the inputs"),
    ],
)
def test_wrong_calls_are_usage_errors(
    words: list[str], said: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sim", file, *words]) == 2
    assert said in capsys.readouterr().err


COLUMNS = """
@kernel(in_specs=(Tile("M", "N", u32, layout=Layout.COL),), grid=1, block=lambda M, N: M * N, arch="sm_80")
def columns(X):
    px = ptx.global_ptrs(X)[0]
    tid, value = reg.from_(ptx.special.tid.x(), u32), reg.scalar(u32)
    ptx.inst.ld.global_.u32(value, ptx.addr(px + tid * 4))
    ptx.inst.add.u32(value, value, tid)
    ptx.inst.st.global_.u32(ptx.addr(px + tid * 4), value)
    ptx.ret()
"""
NUMBERS = """
@kernel(in_specs=(Scalar(f32), Tile("N", bf16)), raw_params=[("u32", "shift")], grid=1, block=32, arch="sm_90")
def scaled(alpha, X):
    px = ptx.global_ptrs(X)[0]
    tid, value, bits = reg.from_(ptx.special.tid.x(), u32), reg.scalar(f32), reg.scalar(bf16)
    ptx.inst.ld.global_.b16(bits, ptx.addr(px + tid * 2))
    ptx.inst.cvt.f32.bf16(value, bits)
    ptx.inst.mul.f32(value, value, ptx.param(f32, "alpha"))
    ptx.inst.cvt.rn.bf16.f32(bits, value)
    ptx.inst.st.global_.b16(ptx.addr(px + tid * 2), bits)
    ptx.ret()
"""


def test_numbers_are_options_and_arrays_that_the_kernel_writes_can_be_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, saved = tmp_path / "numbers.py", tmp_path / "x.npy"
    path.write_text("from pyptx import Scalar\n" + HEAD + NUMBERS)
    assert main(["sim", str(path), "--N", "32"]) == 2
    assert "no value for alpha\nhelp: add --alpha 1.0" in capsys.readouterr().err
    assert main(["sim", str(path), "--N", "32", "--alpha", "2.0"]) == 2
    assert "no value for shift\nhelp: add --shift VALUE" in capsys.readouterr().err
    ones = ["--arg", "bf16[32]=ones"]
    for words in (["--alpha", "3.0", *ones], ["--arg", "3.0", *ones]):
        assert main(["sim", str(path), "--N", "32", "--shift=1", *words, "--save", f"X={saved}"]) == 0
        assert (np.load(saved).view("V2").view(np.uint16) == 0x4040).all()  # 3.0


@pytest.mark.parametrize(
    ("dtype", "said"), [("ue8m0", ""), ("e4m3", ""), ("e2m1x2", "X: NumPy has no arrays of e2m1x2")]
)
def test_arrays_of_narrow_types_are_random_if_numpy_has_them(
    dtype: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "narrow.py"
    spec = f'@kernel(in_specs=(Tile("N", {dtype}),), grid=1, block=32, mutates=("X",))\ndef narrow(X):\n    ptx.ret()\n'
    path.write_text(f"{HEAD}from pyptx.types import {dtype}\n{spec}")
    assert main(["sim", str(path), "--N", "32"]) == (2 if said else 0)
    assert said in capsys.readouterr().err


def test_column_major_arrays_are_stored_by_columns(tmp_path: Path) -> None:
    path, saved = tmp_path / "columns.py", tmp_path / "x.npy"
    path.write_text("from pyptx import Layout\n" + HEAD + COLUMNS)
    assert main(["sim", str(path), "--M", "4", "--N", "8"]) == 0
    assert main(["sim", str(path), "--M", "4", "--N", "8", "--arg", "u32[4,8]=arange", "--save", f"X={saved}"]) == 0
    np.testing.assert_array_equal(np.load(saved), np.arange(32).reshape(4, 8) + np.arange(32).reshape(8, 4).T)


def test_a_new_file_runs_and_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "scaled"]) == 0
    assert main(["sim", "scaled.py", "--N", "1000"]) == 0
    assert main(["ptx", "scaled.py", "--N", "1000", "--factor", "3.0"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("wrote scaled.py; run it: python scaled.py\nno findings: ")
    assert "0f40400000" in captured.out  # 3.0
    done = subprocess.run([sys.executable, "scaled.py"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("scaled: no findings: ")
    assert main(["new", "scaled"]) == 2
    assert main(["new", "class"]) == 2
    assert capsys.readouterr().err == (
        "pyptx new: scaled.py exists; choose another name\npyptx new: 'class' is not a valid name of a function\n"
    )
