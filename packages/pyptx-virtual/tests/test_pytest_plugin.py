"""`pytest --pyptx`: each test gets the findings of its launches."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from .programs import program, python

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

TESTS = """
import pytest

def test_right():
    launch(32)

def test_wrong():
    launch(40)

@pytest.mark.pyptx(allow=["out-of-bounds"])
def test_allowed():
    launch(40)

@pytest.mark.xfail(strict=True)
def test_expected():
    launch(40)

@pytest.fixture
def prepared():
    launch(40)

def test_setup(prepared):
    pass

def test_assertion():
    launch(40)
    assert False

def test_without_launch():
    pass
"""


def checked(folder: Path, *words: str, text: str = TESTS) -> subprocess.CompletedProcess[str]:
    path = program(folder, text, "test_program.py")
    plugin = ("-p", "pyptx_virtual.pytest_plugin", "-p", "no:cacheprovider", "-p", "no:randomly")
    return python(folder, "-m", "pytest", *plugin, "-q", str(path), *words)


@pytest.mark.long
def test_tests_fail_with_the_errors_of_their_launches(tmp_path: Path) -> None:
    done = checked(tmp_path, "--pyptx")
    assert done.returncode == 1
    assert "2 failed, 3 passed, 1 xfailed, 1 error" in done.stdout
    assert "at kernel.cu:4 in twice" in done.stdout
    assert "FAILED test_program.py::test_wrong - " in done.stdout
    assert "ERROR test_program.py::test_setup - " in done.stdout
    assert "pyptx: 6 launches on pyptx virtual GPU (sm_90a): " in done.stdout
    assert "pyptx virtual GPU (sm_90a), 1 schedule per launch" in checked(tmp_path, "--pyptx", "-v").stdout


def test_without_the_option_nothing_is_active(tmp_path: Path) -> None:
    text = "import sys\ndef test_inactive():\n    assert 'pyptx_sim' not in sys.modules\n"
    path = tmp_path / "test_program.py"
    path.write_text(text)
    done = python(tmp_path, "-m", "pytest", "-q", "-p", "pyptx_virtual.pytest_plugin", str(path), PYPTX="1")
    assert "1 passed" in done.stdout


@pytest.mark.long
def test_a_test_over_its_budget_is_not_finished(tmp_path: Path) -> None:
    text = "def test_long():\n    for _ in range(10_000):\n        launch(32)\n"
    done = checked(tmp_path, "--pyptx", "--pyptx-budget", "1", text=text)
    assert done.returncode == 0
    assert "1 not finished" in done.stdout
    assert "passed" not in done.stdout


@pytest.mark.long
def test_errors_that_were_found_become_suppressions(tmp_path: Path) -> None:
    accepted = ("--pyptx-suppressions", "accepted.toml")
    text = "def test_wrong():\n    launch(40)\n"
    assert checked(tmp_path, "--pyptx", *accepted, text=text).returncode == 4  # the file does not exist
    done = checked(tmp_path, "--pyptx", "--pyptx-update", *accepted, text=text)
    assert (done.returncode, "1 suppression added" in done.stdout) == (0, True)
    file = tmp_path / "accepted.toml"
    done = checked(tmp_path, "--pyptx", *accepted, text=text)
    assert (done.returncode, "reason" in done.stderr) == (4, True)
    file.write_text(file.read_text().replace('reason = ""', 'reason = "reviewed"'))
    assert checked(tmp_path, "--pyptx", *accepted, text=text).returncode == 0
    done = checked(tmp_path, "--pyptx", *accepted, text=text.replace("40", "32"))
    assert (done.returncode, "no finding matches the suppression of out-of-bounds" in done.stdout) == (0, True)


@pytest.mark.long
def test_launches_can_be_required(tmp_path: Path) -> None:
    text = "def test_nothing():\n    pass\n"
    assert checked(tmp_path, "--pyptx", text=text).returncode == 0
    done = checked(tmp_path, "--pyptx", "--pyptx-require-launches", text=text)
    assert (done.returncode, "no test launched a kernel" in done.stdout) == (1, True)


@pytest.mark.long
def test_marks_choose_schedules_and_checks(tmp_path: Path) -> None:
    text = (
        "import pytest\n@pytest.mark.pyptx(schedules=2)\ndef test_two():\n    launch(40)\n"
        "@pytest.mark.pyptx(checks=['global-race'])\ndef test_others():\n    launch(40)\n"
    )
    done = checked(tmp_path, "--pyptx", text=text)
    assert "1 failed, 1 passed" in done.stdout
    assert "found with seed 0; seed 0, delay_async" in done.stdout


@pytest.mark.long
def test_findings_are_written_as_json(tmp_path: Path) -> None:
    checked(tmp_path, "--pyptx", "--pyptx-output", "findings.json")
    reports = [json.loads(line) for line in (tmp_path / "findings.json").read_text().splitlines()]
    found = {
        report["inputs"][0].rpartition("::")[2]: [each["rule"] for each in report["problems"]] for report in reports
    }
    assert found["test_right"] == []
    assert found["test_wrong"] == ["out-of-bounds"]


@pytest.mark.long
def test_workers_of_xdist_send_what_they_find(tmp_path: Path) -> None:
    done = checked(tmp_path, "--pyptx", "-n", "2")
    assert "2 failed, 3 passed, 1 xfailed, 1 error" in done.stdout
    assert "pyptx: 6 launches on pyptx virtual GPU (sm_90a): " in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--pyptx-target", "sm_1"), "unknown target 'sm_1'"),
        (("--pyptx-memory", "much"), "must be a size such as 512M or 16G, got 'much'"),
        (("--pyptx-memory", "100"), "cannot allocate 128 bytes"),
    ],
)
@pytest.mark.long
def test_a_wrong_option_is_one_clear_error(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = checked(tmp_path, "--pyptx", *words)
    assert done.returncode == (1 if "allocate" in message else 4)
    assert message in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
