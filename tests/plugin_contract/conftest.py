"""Fixtures that run scripts in an interpreter of their own with acme_arch."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest
from tools.forks import Forks

if TYPE_CHECKING:
    from collections.abc import Iterator

ACME = Path(__file__).parent / "acme_arch"
# Imports query no plugin: each script discovers plugins itself.
IMPORTS = """
import importlib, pkgutil, sys
import numpy

for name in ("pyptx", "pyptx_ir", "pyptx_dsl", "pyptx_sim", "pyptx_arch_hopper", "pyptx_arch_blackwell"):
    root = importlib.import_module(name)
    for part in pkgutil.walk_packages(root.__path__, f"{name}."):
        if not part.name.endswith("__main__"):
            importlib.import_module(part.name)
assert sys.modules["pyptx_ir.plugins.manager"].manager.cache_info().misses == 0
"""


class Run(Protocol):
    """Runner of a script in an interpreter of its own with acme_arch; returns its standard output."""

    def __call__(self, script: str, **environment: str) -> str:
        """Run `script` with `environment` added to the variables; raise AssertionError with stderr if it fails."""
        ...


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for PYTHONPATH with acme_arch; an empty folder if acme_arch is installed."""
    folder = tmp_path_factory.mktemp("site")
    if "acme-arch" not in {distribution.name for distribution in metadata.distributions()}:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
        subprocess.run([*command, "--target", str(folder), str(ACME)], check=True, capture_output=True, text=True)
    return folder


@pytest.fixture(scope="session")
def forks(site: Path) -> Iterator[Forks]:
    """Return a process that finds acme_arch on its path, without the variables of pyptx."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYPTX_")}
    process = Forks(IMPORTS, {**clean, "PYTHONPATH": paths(site)})
    yield process
    process.close()


@pytest.fixture
def run(forks: Forks, site: Path, tmp_path: Path) -> Run:
    """Return a runner of scripts, which may import modules that a test writes to `tmp_path`."""
    return runner(forks, site, tmp_path)


@pytest.fixture(scope="module")
def run_once(forks: Forks, site: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a runner shared by the tests of a file."""
    return runner(forks, site, tmp_path_factory.mktemp("once"))


def paths(*folders: Path) -> str:
    return os.pathsep.join(filter(None, [*map(str, folders), os.environ.get("PYTHONPATH", "")]))


def runner(forks: Forks, site: Path, folder: Path) -> Run:
    """Return a runner of scripts in a folder, from which they may import."""
    return lambda script, **environment: forks.run(folder, script, {"PYTHONPATH": paths(folder, site), **environment})
