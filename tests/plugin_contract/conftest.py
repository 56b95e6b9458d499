"""Fixtures that run scripts in a new interpreter with acme_arch."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Protocol

import pytest

ACME = Path(__file__).parent / "acme_arch"


class Run(Protocol):
    """Runner of a script in a fresh interpreter with acme_arch; returns its standard output."""

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


@pytest.fixture
def run(site: Path, tmp_path: Path) -> Run:
    """Return a runner of scripts, which may import modules that a test writes to `tmp_path`."""
    return runner(site, tmp_path)


@pytest.fixture(scope="module")
def run_once(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a runner shared by the tests of a file: an interpreter takes longer to start than most scripts to run."""
    return runner(site, tmp_path_factory.mktemp("once"))


def runner(site: Path, tmp_path: Path) -> Run:
    """Return a runner of scripts in a folder, from which they may import."""

    def call(script: str, **environment: str) -> str:
        path = os.pathsep.join(filter(None, [str(tmp_path), str(site), os.environ.get("PYTHONPATH", "")]))
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYPTX_")}
        (tmp_path / "case.py").write_text(script, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(tmp_path / "case.py")],
            capture_output=True,
            text=True,
            check=False,
            env={**clean, "PYTHONPATH": path, **environment},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call
