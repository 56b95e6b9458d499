"""`pytest --every=N`, `--quick` and the marker `scaled(N)` deselect cases, never all of a test that is not long."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = """
import pytest

@pytest.mark.parametrize("case", range(7))
def test_many(case):
    pass

def test_one():
    pass

class TestOthers:
    @pytest.mark.parametrize("case", "ab")
    def test_many(self, case):
        pass
"""
EVERYTHING = [*(f"test_many[{case}]" for case in range(7)), "test_one", *(f"TestOthers::test_many[{x}]" for x in "ab")]


@pytest.fixture
def run(tmp_path):
    """Return a function that runs TESTS in a file of the given name with only the `conftest.py` of this repository.

    The temporary folder is inside a checkout, as TMPDIR may be: pytest must not read the configuration and
    `conftest.py` of its parent folders.
    """
    above, folder = tmp_path / "checkout", tmp_path / "checkout" / "tmp"
    (folder / "some").mkdir(parents=True)
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, above)
    shutil.copy(ROOT / "conftest.py", folder)
    (folder / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "shares.py", folder / "tools")
    # The folder of an ini file is pytest's root directory.
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")

    def run(file: str, *options: str, marked: str = "") -> list[str]:
        (folder / "some" / file).write_text(TESTS + marked, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-p", "no:xdist", *options]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    return run


def passed(lines: list[str]) -> list[str]:
    """Return the names of the passed tests."""
    return [line.split()[0].partition("::")[2] for line in lines if " PASSED" in line]


def test_the_first_case_of_each_test_runs_and_each_nth(run):
    lines = run("test_some.py", "--every=3")
    assert passed(lines) == ["test_many[0]", "test_many[3]", "test_many[6]", "test_one", "TestOthers::test_many[a]"]
    assert "5 passed, 5 deselected" in lines[-1]


def test_cases_are_counted_among_those_that_are_chosen(run):
    lines = run("test_some.py", "--every=3", "-k", "not 0 and not 3")
    assert passed(lines) == ["test_many[1]", "test_many[5]", "test_one", "TestOthers::test_many[a]"]


@pytest.mark.parametrize("options", [(), ("--every=1",)], ids=["by default", "every=1"])
def test_all_run_unless_asked_otherwise(run, options):
    lines = run("test_some.py", *options)
    assert passed(lines) == EVERYTHING
    assert "deselected" not in lines[-1]


def test_files_of_which_one_asks_whether_all_have_run_keep_their_cases(run):
    assert passed(run("test_semantics_of_some.py", "--every=3")) == EVERYTHING


PRODUCT = """
pytestmark = pytest.mark.scaled(3)

@pytest.mark.parametrize("one", ["x", "y", "z"])
@pytest.mark.parametrize("other", range(30))
def test_product(one, other):
    pass
"""


def test_marked_files_run_a_share_with_each_value_of_each_parameter(run, monkeypatch):
    monkeypatch.setenv("PYPTX_KERNELS", "")
    names = passed(run("test_some.py", marked=PRODUCT))
    product = [name for name in names if name.startswith("test_product")]
    assert 20 < len(product) < 40
    assert {name[-2] for name in product} == {*"xyz"}
    assert {"test_one", "test_many[0]", "TestOthers::test_many[a]"} <= {*names}


def test_marked_files_run_whole_if_all_are_asked_for(run, monkeypatch):
    monkeypatch.setenv("PYPTX_KERNELS", "all")
    assert len(passed(run("test_some.py", marked=PRODUCT))) == len(EVERYTHING) + 90


LONG = """
@pytest.mark.long
@pytest.mark.parametrize("case", range(60))
def test_long(case):
    pass

@pytest.mark.parametrize("case", range(80))
def test_short(case):
    pass
"""


def test_a_quick_run_has_a_quarter_of_long_tests_and_the_first_case_and_a_sixth_of_each_other(run):
    names = passed(run("test_some.py", "--quick", marked=LONG))
    assert 5 < sum(name.startswith("test_long") for name in names) < 25
    short = [name for name in names if name.startswith("test_short")]
    assert short[0] == "test_short[0]"
    assert 5 < len(short) < 25
    assert {"test_one", "test_many[0]", "TestOthers::test_many[a]"} <= {*names}


def test_without_the_option_long_tests_run(run):
    assert len(passed(run("test_some.py", marked=LONG))) == len(EVERYTHING) + 140
