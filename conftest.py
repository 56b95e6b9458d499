"""Options and hooks of all tests: GPU tests, the long fuzzing profile, where coverage is measured."""

from __future__ import annotations

import gc
from collections import Counter
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings
from tools.shares import FULL

if TYPE_CHECKING:
    from pathlib import Path

# Folders whose tests add no coverage of the gated packages (noxfile.GATED) to that of those packages' own tests and of
# END_TO_END.
ABOVE = tuple(
    f"packages/pyptx-{name}/" for name in ("bundles", "diff", "jax", "launch", "torch", "transpile", "virtual")
)
UNMEASURED = (*ABOVE, "packages/pyptx-sim/tests/litmus/", "tests/")
END_TO_END = "tests/end_to_end/"

# These tests record the forms that they ran, and one of them checks that all forms were run: they need one process.
SEMANTICS = "/test_semantics_"
MEASURED = 3  # cases of a test on which coverage is measured
# With --quick: one in LONG of the tests with the marker `long`; of other tests the first case, and one in MANY others.
LONG, MANY = 4, 6
# Its tests take minutes each, are independent, and are distributed one by one.
SURVIVORS = "tests/mutations/test_kernel_survivors.py"

# The time of one example measures what else the machine does.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", settings.get_profile("any machine"), max_examples=5_000)
settings.load_profile("any machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--gpu`, `--cuda`, `--every` and `--quick`."""
    parser.addoption("--gpu", action="store_true", help="collect tests/gpu, which needs an NVIDIA GPU and its driver")
    parser.addoption("--cuda", action="store_true", help="collect tests/cuda, which compiles CUDA C++ by nvcc of PATH")
    parser.addoption("--every", type=int, default=1, metavar="N", help="run the first case of each test, and each Nth")
    parser.addoption("--quick", action="store_true", help="run one in four long tests, and some cases of all others")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Stop the first of the two measurements that pytest-cov 7.1 starts in each process of `pytest -n`.

    Its result is not used, and it doubles the tracer's cost. It would also continue while the second one is paused
    (UNMEASURED).
    """
    plugin: Any = session.config.pluginmanager.getplugin("_cov")
    if hasattr(session.config, "workerinput") and plugin is not None and plugin.cov_controller is not None:
        plugin.cov_controller.cov.stop()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore tests/gpu without `--gpu`, and tests/cuda without `--cuda`."""
    for name in ("gpu", "cuda"):
        if collection_path == config.rootpath / "tests" / name and not config.getoption(f"--{name}"):
            return True
    return None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Pause coverage where it adds nothing: `scaled` tests run the same lines over corpora, tables and kernels.

    The tracer would cost more than the tests. `scaled` tests of the simulator are measured: only they run all of its
    code.
    """
    scaled = item.get_closest_marker("scaled") is not None and not item.nodeid.startswith("packages/pyptx-sim/")
    repeats = item.nodeid.startswith(UNMEASURED) and not item.nodeid.startswith(END_TO_END)
    if is_measured(item.config) and (scaled or repeats):
        item.add_marker(pytest.mark.no_cover)


def is_measured(config: pytest.Config) -> bool:
    """Return whether coverage is measured for the gates; `nox -s which` measures it by test, without exceptions."""
    return config.pluginmanager.hasplugin("_cov") and not config.getoption("cov_context", None)


def is_left_out(item: pytest.Item, number: int, *, quick: bool) -> bool:
    """Return whether case `number` of a test is not in the share that its marker `scaled(N)` or `--quick` asks for.

    A hash of its name decides: every N-th case could have the same value of one of several parameters.
    """
    name = crc32(item.name.encode())
    shares = [mark.args[0] for mark in item.iter_markers("scaled") if mark.args]
    if shares and number and not FULL and name % shares[0]:
        return True
    long = item.get_closest_marker("long") is not None
    return quick and (name % LONG != 0 if long else number > 0 and name % MANY != 0)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect cases as the options and `scaled` require, among those selected by `-m` and `-k`, except SEMANTICS.

    Coverage is measured on the first cases of each test only: the others run the same lines.
    """
    every: Any = config.getoption("--every")
    quick: Any = config.getoption("--quick")
    numbers: Counter[str] = Counter()
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        test = item.nodeid.partition("[")[0]
        number = numbers[test]
        numbers[test] += 1
        if SEMANTICS not in test:
            if number % every or is_left_out(item, number, quick=quick):
                left_out.append(item)
                continue
            if number >= MEASURED and is_measured(config):
                item.add_marker(pytest.mark.no_cover)
        kept.append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def pytest_collection_finish(session: pytest.Session) -> None:  # noqa: ARG001 - pytest passes arguments by name
    """Exclude existing objects from garbage collection: ten thousand tests, and their imports."""
    gc.collect()
    gc.freeze()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Exclude objects cached by a file's tests from garbage collection; later collections would visit them again."""
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:  # noqa: ANN401 - type of xdist
    """Distribute whole files over the processes of `pytest -n`; SEMANTICS files stay together, SURVIVORS is split."""
    from xdist.scheduler import LoadScopeScheduling

    class Files(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            if file == SURVIVORS:
                return nodeid
            return SEMANTICS if SEMANTICS in file else file

    return Files(config, log)
