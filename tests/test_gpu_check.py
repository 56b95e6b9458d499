"""What a run on a GPU leaves behind is read rightly: nothing that failed, hung or never ran passes for good."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PASSED = {"event": "passed", "test": "a", "seconds": 0.1, "what": ""}
FAILED = {
    "event": "failed",
    "test": "b",
    "seconds": 0.1,
    "what": "def test_b():\nE   assert 1 == 2\nE    +  where 1 = f()",
}
TARGET = {"name": "eager", "limit": 5, "measured": "4.00 us", "met": True}


def summarise(
    tmp_path: Path, stages: dict[str, str], lines: list[dict[str, object]]
) -> tuple[int, str, dict[str, object]]:
    """Run the summary over what a run wrote; return its exit status, what it prints, and the file."""
    begun = [{"event": "begun", "test": each["test"]} for each in lines]
    rows = [row for pair in zip(begun, lines, strict=True) for row in pair]
    (tmp_path / "outcomes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "launch.json").write_text(json.dumps({"targets": [TARGET]}))
    table = tmp_path / "stages.tsv"
    table.write_text("".join(f"{name}\t{status}\t3\n" for name, status in stages.items()))
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "gpu_summary.py", "--write", table],
        env={**os.environ, "OUT": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr, json.loads((tmp_path / "summary.json").read_text())


def test_a_run_in_which_all_went_well_passes(tmp_path: Path) -> None:
    status, printed, summary = summarise(tmp_path, {"build": "0", "test_launch": "0"}, [PASSED])
    assert status == 0, printed
    assert summary["tests"] == {"passed": 1}
    assert "met       eager: 4.00 us" in printed


def test_a_run_of_benchmarks_alone_needs_no_test(tmp_path: Path) -> None:
    assert summarise(tmp_path, {"build": "0", "kernels_norms": "0"}, [])[0] == 0
    assert summarise(tmp_path, {"build": "0", "kernels_norms": "1"}, [])[0] == 1


@pytest.mark.parametrize(
    ("stages", "lines", "shown"),
    [
        ({"test_launch": "1"}, [PASSED, FAILED], "failed    b: assert 1 == 2"),
        ({"build": "1"}, [PASSED], "1    3 s  build"),
        ({"test_launch": "124"}, [PASSED, {"event": "begun", "test": "c"}], "cut short c"),
        ({"test_launch": "late"}, [PASSED], "late    3 s  test_launch"),
        ({"test_launch": "0"}, [], "tests: none ran"),
    ],
    ids=["a failure", "no build", "a hang", "no time", "no test"],
)
def test_whatever_went_wrong_is_shown_and_fails(
    tmp_path: Path, stages: dict[str, str], lines: list[dict[str, object]], shown: str
) -> None:
    status, printed, _ = summarise(tmp_path, stages, lines)
    assert status == 1
    assert shown in printed


def test_a_machine_without_a_gpu_says_so_and_leaves_out_what_it_cannot_run() -> None:
    command = [sys.executable, ROOT / "tools" / "gpu_summary.py"]
    environment = {**os.environ, "PATH": "/nowhere"}
    machine = subprocess.run([*command, "--machine"], env=environment, capture_output=True, text=True, check=False)
    selected = subprocess.run([*command, "--select"], env=environment, capture_output=True, text=True, check=True)
    assert machine.returncode == 1
    assert "nvidia-smi" in machine.stdout
    assert selected.stdout.startswith("gpu")
    assert "not sm_100" in selected.stdout


def test_the_script_is_legal_and_names_files_that_are_there() -> None:
    script = ROOT / "tools" / "gpu_check.sh"
    subprocess.run([shutil.which("bash") or "sh", "-n", script], check=True)
    text = script.read_text(encoding="utf-8")
    for path, words in (
        ("tools/gpu_summary.py", "tools/gpu_summary.py"),
        ("benchmarks/launch/__main__.py", "-m benchmarks.launch "),
        ("benchmarks/kernels/__main__.py", "-m benchmarks.kernels "),
        ("tests/gpu/test_hardware_truth.py", "test_hardware_truth:"),
        ("tests/gpu/test_hardware_products.py", "test_hardware_products:"),
    ):
        assert (ROOT / path).exists()
        assert words in text
