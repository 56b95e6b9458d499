"""The summary of a GPU run: no stage or test that failed, hung or did not run counts as passed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tools import gpu_rehearsal, gpu_tools

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
    """Run the summary over the files of a run; return its exit status, its output, and summary.json."""
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
        ({"test_launch": "left out: no reason", "test_x": "0"}, [], "left out    3 s  test_launch: no reason"),
    ],
    ids=["a failure", "no build", "a hang", "no time", "no test", "only a skipped stage"],
)
def test_whatever_went_wrong_is_shown_and_fails(
    tmp_path: Path, stages: dict[str, str], lines: list[dict[str, object]], shown: str
) -> None:
    status, printed, _ = summarise(tmp_path, stages, lines)
    assert status == 1
    assert shown in printed


def test_what_cannot_run_here_is_named_and_is_no_failure(tmp_path: Path) -> None:
    status, printed, _ = summarise(tmp_path, {"test_launch": "0", "profiler": "left out: no ncu here"}, [PASSED])
    assert status == 0, printed
    assert "left out    3 s  profiler: no ncu here" in printed


def test_frameworks_and_hardware_that_are_said_to_be_absent_are_left_out() -> None:
    command = [sys.executable, ROOT / "tools" / "gpu_summary.py"]
    told = {
        question: subprocess.run(
            [*command, question],
            env={**os.environ, "GPU_CHECK_WITHOUT": "torch jax hardware"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for question in ("--select", "--absent")
    }
    assert told["--absent"] == "torch jax"
    assert told["--select"].startswith("gpu and not torch and not jax and not hardware")


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
        ("tests/gpu/test_hardware_mma.py", "test_hardware_mma:"),
        ("tests/gpu/test_streams.py", "test_streams:"),
        ("tools/gpu_tools.py", "tools/gpu_tools.py"),
    ):
        assert (ROOT / path).exists()
        assert words in text


# --- NVIDIA's tools ---------------------------------------------------------------------------------

STOPPED = """[Switching focus to CUDA kernel 0, grid 1, block (0,0,0), thread (0,0,0), device 0, sm 0, warp 0, lane 0]

CUDA thread hit Breakpoint 1, traced<<<(8,1,1),(128,1,1)>>> () at traced.py:45
45\t        ptx.inst.mul.rn.f32(value, value, value)
"""


def test_a_listing_that_has_the_line_and_instructions_is_told_from_others() -> None:
    line = "mul(value)  # the line"
    assert gpu_tools.shown(f'"Source","SASS"\n"{line}","FMUL R0, R0, R0"', line)
    assert not gpu_tools.shown(f'"{line}"\nno kernels were profiled', line)
    assert not gpu_tools.shown('"","FMUL R0, R0, R0"', line)


def test_a_stop_at_the_line_is_told_from_a_breakpoint_that_was_only_set() -> None:
    assert gpu_tools.stopped(STOPPED, "traced.py:45")
    assert not gpu_tools.stopped(STOPPED, "traced.py:46")
    assert not gpu_tools.stopped("Breakpoint 1 (traced.py:45) pending.\n[exited normally]", "traced.py:45")


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("========= ERROR SUMMARY: 64 errors", 64),
        ("========= ERROR SUMMARY: 1 error", 1),
        ("========= RACECHECK SUMMARY: 3 hazards displayed (3 errors, 0 warnings)", 3),
        ("========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)", 0),
        ("compute-sanitizer still ran after 100 s", None),
    ],
)
def test_findings_of_the_sanitizer_are_counted(said: str, found: int | None) -> None:
    assert gpu_tools.count(said) == found


@pytest.mark.parametrize(
    ("title", "which", "counts", "wrong"),
    [
        ("a load past the end of an array", "faulty", (64, 0), False),
        ("a load past the end of an array", "faulty", (0, 0), True),
        ("a load past the end of an array", "faulty", (None, 0), True),
        ("a load past the end of an array", "mended", (0, 0), False),
        ("a load past the end of an array", "mended", (0, 1), True),
        ("a shared exchange without a barrier", "faulty", (0, 0), False),  # racecheck need not detect every data race
    ],
)
def test_the_table_of_the_sanitizer_judges_what_it_can(
    title: str,
    which: str,
    counts: tuple[int | None, ...],
    wrong: bool,  # noqa: FBT001 - pytest passes it by name
) -> None:
    row = gpu_tools.Row(title, which, ("out-of-bounds",), counts)
    assert row.wrong == wrong
    assert row.told().count("|") == 6


# --- dry run of a GPU run ---------------------------------------------------------------------------


@pytest.mark.ptxas
@pytest.mark.long
def test_tests_of_a_gpu_run_on_the_host_driver_and_compare_numbers(tmp_path: Path) -> None:
    environment = gpu_rehearsal.environment(gpu_rehearsal.host_driver(), tmp_path, gpu_rehearsal.tool("ptxas"))
    environment["PYTHONPATH"] = os.pathsep.join([environment["PYTHONPATH"], os.environ.get("PYTHONPATH", "")])
    environment["OUT"] = str(tmp_path)
    chosen = "tests/gpu/test_launch.py", "tests/gpu/test_tensor_maps.py", "-k", "cubin or graph or swizzle"
    command = [sys.executable, "-m", "pytest", "--gpu", "-q", "-p", "no:cacheprovider", *chosen]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
    assert sorted((tmp_path / "images").glob("*.ptx")), "the PTX of a cubin is kept, which the simulator runs"


@pytest.mark.ptxas
def test_the_kernel_that_profilers_are_shown_has_the_marked_line(tmp_path: Path) -> None:
    environment = gpu_rehearsal.environment(gpu_rehearsal.host_driver(), tmp_path, gpu_rehearsal.tool("ptxas"))
    environment["PYTHONPATH"] = os.pathsep.join([environment["PYTHONPATH"], os.environ.get("PYTHONPATH", "")])
    script = (
        "from tests.gpu import traced; traced.main(); print(traced.SOURCE.name, traced.marked());"
        "print(traced.square().ptx(N=traced.SIZE))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    off, place, *text = done.stdout.splitlines()
    assert off == "off by 0.0"
    number = int(place.split()[1])
    following = {text[i + 1].split()[0] for i, row in enumerate(text[:-1]) if ".loc" in row and f" {number} " in row}
    assert following == {"mul.rn.f32"}
