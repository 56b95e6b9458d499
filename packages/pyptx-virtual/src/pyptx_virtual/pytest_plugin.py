"""Plugin of pytest: `pytest --pyptx` runs tests on a virtual GPU, and fails each test whose launches have errors.

The module is imported by every run of pytest, and imports the simulator only with `--pyptx`.
"""

from __future__ import annotations

import pytest

_NAME = "pyptx-checked-tests"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the virtual GPU, which also exist as settings in configuration files, without `--`."""
    group = parser.getgroup("pyptx", "virtual GPU (pyptx)")
    add = group.addoption
    add("--pyptx", action="store_true", help="run on a virtual GPU; fail tests whose kernels have errors")
    add("--pyptx-target", default="sm_90a", metavar="NAME", help="architecture of the GPU (default: sm_90a)")
    add("--pyptx-memory", metavar="SIZE", help="device memory: 512M (default: 16G)")
    add("--pyptx-schedules", type=int, default=1, metavar="N", help="run each launch under N schedules (default: 1)")
    add("--pyptx-budget", type=float, metavar="SECONDS", help="end a test's simulation after this time: not finished")
    add("--pyptx-suppressions", metavar="FILE", help="accept the findings in FILE (TOML)")
    add("--pyptx-update", action="store_true", help="add the errors found to the suppressions file, for review")
    add("--pyptx-require-launches", action="store_true", help="fail a run that launches no kernel")
    add("--pyptx-shadow-gpu", action="store_true", help="use the virtual GPU although the machine has a GPU")
    add("--pyptx-output", metavar="FILE", help="write the findings of all tests to FILE as JSON")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Activate the virtual GPU before the first file of the user is imported."""
    if not early_config.known_args_namespace.pyptx:
        return
    from argparse import ArgumentTypeError

    from pyptx_ir.errors import PyptxError
    from pyptx_virtual.checked_tests import CheckedTests

    try:
        plugin = CheckedTests.activated(early_config.known_args_namespace)
    except (PyptxError, OSError, ArgumentTypeError) as error:
        raise pytest.UsageError(f"--pyptx: {error}") from error
    early_config.pluginmanager.register(plugin, _NAME)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark."""
    config.addinivalue_line(
        "markers",
        "pyptx(allow=(), schedules=None, checks=None, budget=None): with --pyptx: rules that do not fail the test; "
        "number of schedules, rules to check, and seconds of simulation",
    )
