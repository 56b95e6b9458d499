"""Environments for producers in wheels: one for each file of `requirements/`, which pins all of its packages."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from manifest import CORPUS

if TYPE_CHECKING:
    from pathlib import Path

REQUIREMENTS = CORPUS / "requirements"


def names() -> tuple[str, ...]:
    """Return the names of all environments."""
    return tuple(sorted(path.stem for path in REQUIREMENTS.glob("*.txt")))


def packages(environment: Path) -> Path:
    """Return the site-packages folder of an environment."""
    return next(environment.glob("lib/python3*/site-packages"))


def made(folder: Path, name: str) -> Path:
    """Return the environment `name` in `folder`; create it again if its requirements have changed.

    Requirements list all dependencies, and nothing else is downloaded (`--no-deps`).
    """
    wanted, environment = REQUIREMENTS / f"{name}.txt", folder / name
    installed = environment / "requirements.txt"
    if installed.exists() and installed.read_bytes() == wanted.read_bytes():
        return environment
    print(f"installing {name}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(environment)], check=True)
    pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "-r", str(wanted)], check=True)
    shutil.copyfile(wanted, installed)
    return environment
