"""The null driver of pyptx-launch's tests, and CPU tensors as the memory of its device."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[2] / "pyptx-launch" / "tests" / "null_driver.py"
NAME = "null_driver_of_pyptx_launch"


def install() -> Any:
    """Return the null driver, which pyptx_launch opens in place of NVIDIA's."""
    if NAME not in sys.modules:
        spec = importlib.util.spec_from_file_location(NAME, FILE)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[NAME] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[NAME])
    return sys.modules[NAME].install()
