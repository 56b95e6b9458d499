"""`pyptx bench` on the host driver, which runs launches on the simulator, and its errors without a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from statistics import median
from typing import TYPE_CHECKING

import pytest
from tools import gpu_rehearsal

from pyptx_ir.commands import main

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.torch, pytest.mark.ptxas]

# C[i] = A[i], 32 elements per CTA; B is not read; `far` moves the store past the end of C.
KERNELS = """
from pyptx import Tile, kernel, ptx, reg
from pyptx.types import bf16, f32, u32


@kernel(
    in_specs=(Tile("N", f32), Tile("N", bf16)),
    out_specs=(Tile("N", f32),),
    grid=lambda N: N // 32,
    block=32,
    arch="sm_90",
)
def copied(A, B, C, *, far=0):
    pa, pb, pc = ptx.global_ptrs(A, B, C)
    at = reg.from_(ptx.special.ctaid.x(), u32) * 32 + reg.from_(ptx.special.tid.x(), u32)
    value = reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, ptx.addr(pa + at * 4))
    ptx.inst.st.global_.f32(ptx.addr(pc + at * 4 + far), value)
    ptx.ret()
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    return str(path)


def bench(folder: Path, *words: str, driver: str = "") -> subprocess.CompletedProcess[str]:
    """Run `pyptx bench` in a process whose driver is the host driver, or `driver`."""
    environment = gpu_rehearsal.environment(gpu_rehearsal.host_driver(), folder, gpu_rehearsal.tool("ptxas"))
    environment["PYTHONPATH"] = os.pathsep.join([environment["PYTHONPATH"], os.environ.get("PYTHONPATH", "")])
    environment |= {"PYPTX_LIBCUDA": driver} if driver else {}
    command = [sys.executable, "-m", "pyptx", "bench", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_the_report_has_each_time_and_the_bytes_of_all_arrays(file: str, tmp_path: Path) -> None:
    done = bench(tmp_path, f"{file}:copied", "--N", "64", "--runs", "20", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert len(found["seconds"]) == 20
    assert min(found["seconds"]) > 0
    assert found["median"] == median(found["seconds"])
    first, third = found["quartiles"]
    assert min(found["seconds"]) <= first <= found["median"] <= third <= max(found["seconds"])
    assert found["bytes"] == 64 * (4 + 2 + 4)
    assert found["bytes_per_second"] == found["bytes"] / found["median"]
    assert (found["kernel"], found["arguments"], found["target"]) == ("copied", {"N": 64}, "sm_90")
    assert found["flushed_bytes"] == 2 * 52_428_800
    assert {"CUDA driver", "pyptx-torch", "torch"} <= found["versions"].keys()


@pytest.mark.long
def test_a_fault_of_the_kernel_is_an_error_that_names_the_first_failed_call(file: str, tmp_path: Path) -> None:
    done = bench(tmp_path, file, "--N", "32", "--far", str(1 << 40))
    assert (done.returncode, done.stdout) == (2, "")
    message = "pyptx bench: copied cannot be measured: waiting for the launches: cuStreamSynchronize failed with "
    assert f"{message}CUDA_ERROR_ILLEGAL_ADDRESS" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "pyptx bench: copied: no size for N\nhelp: add --N 16"),
        (["--N", "32", "--runs", "19"], "argument --runs: expected a number of at least 20, got '19'\nhelp:"),
    ],
)
def test_errors_have_status_2_and_help(
    words: list[str], message: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", file, *words]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert message in error
    assert "\nhelp: " in error


@pytest.mark.long
def test_without_a_driver_there_is_help(file: str, tmp_path: Path) -> None:
    done = bench(tmp_path, file, "--N", "32", driver="libcuda-is-not-installed.so")
    assert (done.returncode, done.stdout) == (2, "")
    assert "pyptx bench: copied cannot be measured: no CUDA driver: " in done.stderr
    assert "\nhelp: " in done.stderr


@pytest.mark.parametrize("name", ["missing.py:copied", "kernels.py:missing", "kernels.ptx", "."])
def test_an_input_that_is_not_a_kernel_of_a_python_file_is_a_usage_error(
    name: str, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "kernels.ptx").write_text(".version 8.0\n.target sm_90\n")
    assert file.startswith(str(tmp_path))
    assert main(["bench", str(tmp_path / name)]) == 2
    assert capsys.readouterr().err.startswith("pyptx bench: ")


def test_without_a_runtime_that_measures_the_command_that_installs_one_is_named(
    file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyptx_ir.plugins.manager import manager

    simulators = [row for row in manager().runtimes() if row.benchmark is None]
    assert simulators
    monkeypatch.setattr(type(manager()), "runtimes", lambda _: simulators)
    assert main(["bench", file, "--N", "32"]) == 2
    error = capsys.readouterr().err
    assert "copied: no installed runtime measures kernels on a GPU\nhelp: pip install " in error
    assert "torch" in error
