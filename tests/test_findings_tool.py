"""`tools/findings.py` records the findings of simulations in tests, and tells which of them differ."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tools.findings import main

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[1]
TESTS = """
import numpy as np
import pytest
from pyptx_sim import run
from pyptx_sim.errors import KernelTrap

PTX = '''.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
.reg .b64 %rd<2>;
.reg .b32 %r<2>;
ld.param.u64 %rd1, [out];
mov.u32 %r1, VALUE;
st.global.u32 [%rd1], %r1;
ret;
}
'''


@pytest.mark.parametrize("case", ["one\\ttwo", "three"])
def test_race(case):
    for value in ("7", "%ctaid.x"):
        run(PTX.replace("VALUE", value), grid=2, block=1, args=[np.zeros(4, np.uint32)])


def test_fault():
    with pytest.raises(KernelTrap):
        run(PTX.replace("VALUE", "7").replace("ret;", "trap;"), grid=1, block=1, args=[np.zeros(4, np.uint32)])
"""


def recorded(folder: Path, name: str, *options: str) -> Path:
    """Run TESTS; return the file with their findings."""
    (folder / "test_some.py").write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tools.findings", *options]
    where = ["-c", "/dev/null", f"--rootdir={folder}", "--import-mode=importlib", str(folder / "test_some.py")]
    command += [f"--findings={folder / name}", *where]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    return folder / name


def compared(
    before: Path, after: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *options: str
) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["findings", str(before), str(after), *options])
    return main(), capsys.readouterr().out


def test_differences_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = recorded(tmp_path, "before.tsv")
    assert "note global-race 10 10" in before.read_text(encoding="utf-8")
    assert "error global-race 10 10" in before.read_text(encoding="utf-8")
    assert "stopped KernelTrap" in before.read_text(encoding="utf-8")
    again = recorded(tmp_path, "again.tsv.zst", "-n2")
    for options in ((), ("--by-test",)):
        status, said = compared(before, again, capsys, monkeypatch, *options)
        assert (status, said) == (0, "3 tests in both files, 0 in one only\n0 simulations differ\n")
    after = tmp_path / "after.tsv"
    after.write_text(
        before.read_text(encoding="utf-8").replace("three]\t1\terror", "three]\t1\tnote"), encoding="utf-8"
    )
    status, said = compared(before, after, capsys, monkeypatch)
    assert status == 1
    assert "test_race[three], simulation 1\n  - error global-race 10 10\n  + note global-race 10 10\n" in said
    assert "1 simulations differ" in said
