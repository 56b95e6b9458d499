"""`tools/which_tests.py` finds the tests that execute a module, in coverage by test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tools.which_tests import main

ROOT = Path(__file__).parents[1]
BANKS = "packages/pyptx-ir/tests/test_banks.py"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the index of a file's tests."""
    path = tmp_path_factory.mktemp("index") / "which.coverage"
    options = ("-p", "no:cacheprovider", "--quick", "--cov=pyptx_ir", "--cov-context=test", "--cov-report=")
    environment = os.environ | {"COVERAGE_FILE": str(path)}
    subprocess.run([sys.executable, "-m", "pytest", *options, BANKS], cwd=ROOT, env=environment, check=True)
    return path


def test_the_tests_of_a_package_are_printed_one_per_file(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(index), "pyptx_ir.banks"]) == 0
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.startswith("pyptx_ir.banks: ")
    assert f"lines  {BANKS}::test_" in row
    assert main([str(index), "packages/pyptx-ir/src/pyptx_ir/banks", "--all"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 2


def test_a_module_that_no_test_executes_is_a_failure(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(index), "pyptx_ir.toolchain.cache"]) == 1  # the tests import it only
    assert capsys.readouterr().out == "pyptx_ir.toolchain.cache: 0 tests\n"
    with pytest.raises(SystemExit, match=r"pyptx_ir\.nothing: no such module"):
        main([str(index), "pyptx_ir.nothing"])
