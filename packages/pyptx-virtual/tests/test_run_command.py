"""`pyptx run`: programs run as Python runs them, and the exit status is theirs, or that of the findings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from .programs import program, python

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return python(
        folder, "-c", "import sys\nfrom pyptx_virtual.command import run\nsys.exit(run(sys.argv[1:]))", *words
    )


def test_a_program_without_faults_succeeds_and_its_launches_are_counted(tmp_path: Path) -> None:
    done = run(tmp_path, str(program(tmp_path, "launch(32)\nlaunch(8)\nprint('done')\n")))
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "2 launches of 1 kernel on pyptx virtual GPU (sm_90a): " in done.stderr
    assert "error" not in done.stderr


def test_errors_fail_a_program_and_show_its_source_line(tmp_path: Path) -> None:
    done = run(tmp_path, str(program(tmp_path, "launch(40)\nlaunch(40)\n")))
    assert done.returncode == 1
    assert "error[out-of-bounds]" in done.stderr
    assert "at kernel.cu:4 in twice" in done.stderr
    assert "in 2 launches of twice" in done.stderr
    assert "twice: 1 error in 2 launches" in done.stderr


def test_uninitialized_memory_is_found(tmp_path: Path) -> None:
    done = run(tmp_path, str(program(tmp_path, "launch(32, initialized=False)\n")))
    assert done.returncode == 1
    assert "uninitialized-memory" in done.stderr


@pytest.mark.parametrize(
    ("text", "status", "shown"),
    [
        ("import sys; launch(40); sys.exit(7)", 7, "out-of-bounds"),
        ("raise SystemExit('no luck')", 1, "no luck"),
        ("import sys; launch(40); sys.exit(0)", 1, "out-of-bounds"),
        ("launch(32); raise ValueError('wrong')", 1, "ValueError: wrong"),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt"),
        ("syntax error", 1, "SyntaxError"),
    ],
)
@pytest.mark.long
def test_the_exit_status_is_that_of_the_program_if_it_fails(tmp_path: Path, text: str, status: int, shown: str) -> None:
    done = run(tmp_path, str(program(tmp_path, text)))
    assert done.returncode == status
    assert shown in done.stderr
    assert "pyptx_virtual/program.py" not in done.stderr


def test_a_program_runs_as_python_runs_it(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("name = __name__\n")
    path = tmp_path / "program.py"
    path.write_text(
        "import sys, helper, pickle\n"
        "class Thing: pass\n"
        "assert pickle.loads(pickle.dumps(Thing)) is Thing\n"
        "print(__name__, __file__ == sys.argv[0], sys.argv[1:], helper.name, sys.path[0])\n"
    )
    for words in ((str(path),), ("--", "python3", str(path))):
        done = run(tmp_path, *words, "--target", "x")
        assert done.stdout == f"__main__ True ['--target', 'x'] helper {tmp_path}\n", done.stderr


@pytest.mark.long
def test_modules_and_commands_of_python_run(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__main__.py").write_text("import sys; print(__package__, sys.argv[1:])\n")
    assert run(tmp_path, "-m", "package", "a").stdout == "package ['a']\n"
    assert run(tmp_path, "--schedules", "2", "-c", "import sys; print(sys.argv)", "-m").stdout == "['-c', '-m']\n"
    assert run(tmp_path, "--", "python", "-m", "package", "a").stdout == "package ['a']\n"
    assert run(tmp_path, "--", "python", "-c", "import sys; print(sys.argv)", "b").stdout == "['-c', 'b']\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no program in an empty command line"),
        (("missing.py",), "no such file: missing.py"),
        ((".",), "no such file: ."),
        (("--target", "sm_1", "program.py"), "unknown target 'sm_1'"),
        (("--memory", "much", "program.py"), "must be a size such as 512M or 16G, got 'much'"),
        (("--schedules", "0", "program.py"), "must be at least 1, got 0"),
        (("--suppressions", "missing.toml", "program.py"), "missing.toml: no such file"),
        (("--checks", "all-races", "program.py"), "unknown check 'all-races'"),
    ],
)
def test_a_wrong_command_line_is_one_clear_error(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    program(tmp_path, "print('ran')\n")
    done = run(tmp_path, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_more_memory_than_the_device_has_is_an_error_of_the_program(tmp_path: Path) -> None:
    text = "pyptx_virtual.active().context.memory.allocate(32 << 20)\n"
    done = run(tmp_path, "--memory", "16M", str(program(tmp_path, text)))
    assert done.returncode == 1
    assert "OutOfMemory: cannot allocate 33554432 bytes" in done.stderr


@pytest.mark.long
def test_launches_can_be_required(tmp_path: Path) -> None:
    path = str(program(tmp_path, "print('no kernel')\n"))
    assert run(tmp_path, path).returncode == 0
    done = run(tmp_path, "--require-launches", path)
    assert done.returncode == 1
    assert "the program launched no kernel" in done.stderr


def test_each_launch_runs_under_the_schedules(tmp_path: Path) -> None:
    done = run(tmp_path, "--schedules", "3", str(program(tmp_path, "launch(40)\n")))
    assert "found with seed 0; seed 0, delay_async; seed 1" in done.stderr


@pytest.mark.long
def test_reports_for_tools_are_written_to_a_file(tmp_path: Path) -> None:
    path = str(program(tmp_path, "launch(40)\nprint('output of the program')\n"))
    done = run(tmp_path, "--format", "json", "--output", "report.json", path)
    report = json.loads((tmp_path / "report.json").read_text())
    assert (done.returncode, done.stdout) == (1, "output of the program\n")
    assert [(each["rule"], each["positions"][0]["line"]) for each in report["problems"]] == [("out-of-bounds", 4)]
    assert report["details"]["kernels"][0]["launches"] == 1
    for name in ("sarif", "junit"):
        run(tmp_path, "--format", name, "--output", name, path)
        assert "out-of-bounds" in (tmp_path / name).read_text()
    assert "::error file=kernel.cu,line=4" in run(tmp_path, "--format", "github", path).stdout


@pytest.mark.long
def test_suppressed_findings_do_not_fail_a_program(tmp_path: Path) -> None:
    path = str(program(tmp_path, "launch(40)\n"))
    entry = '[[suppression]]\nrule = "{}"\nfile = "kernel.cu"\nline = 4\nreason = "reviewed"\n'
    (tmp_path / "accepted.toml").write_text(entry.format("out-of-bounds"))
    done = run(tmp_path, "--suppressions", "accepted.toml", path)
    assert (done.returncode, "1 finding suppressed" in done.stderr) == (0, True)
    (tmp_path / "other.toml").write_text(entry.format("out-of-bounds") + entry.format("global-race"))
    done = run(tmp_path, "--suppressions", "other.toml", path)
    assert (done.returncode, "no finding matches the suppression of global-race" in done.stderr) == (0, True)
    assert run(tmp_path, "--strict-suppressions", "--suppressions", "other.toml", path).returncode == 1


@pytest.mark.hopper
def test_an_error_of_a_pending_launch_fails_the_program(tmp_path: Path) -> None:
    text = (
        "context = pyptx_virtual.active().context\n"
        "trap = PTX.split('{')[0] + '{ griddepcontrol.launch_dependents; trap; }'\n"
        "context.launch(trap, entry='twice', grid=1, block=1, args=[0, 0])\nprint('pending')\n"
    )
    done = run(tmp_path, str(program(tmp_path, text)))
    assert (done.returncode, done.stdout) == (1, "pending\n")
    assert "KernelTrap" in done.stderr
    assert "twice: stopped 1 launch in 1 launch" in done.stderr
