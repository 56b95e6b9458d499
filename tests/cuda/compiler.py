"""Compile CUDA C++ to PTX with nvcc."""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path


@cache
def ptx_of(source: str, *options: str, arch: str = "sm_90a") -> str:
    """Return the PTX that nvcc generates for a translation unit; raise AssertionError with its message if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        unit, made = Path(folder, "unit.cu"), Path(folder, "unit.ptx")
        unit.write_text(source, encoding="utf-8")
        command = ["nvcc", "-ptx", f"-arch={arch}", "-std=c++17", *options, str(unit), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr
        return made.read_text(encoding="utf-8")
