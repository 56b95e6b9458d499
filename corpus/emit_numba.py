"""Compile a Python function to PTX with numba-cuda: `emit_numba.py SOURCE TARGET CASE OUTPUT`."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from pathlib import Path


def main(source: str, target: str, case: str, output: str) -> None:
    """Write the PTX of a source's `CASES[case]`: a function, its signature, and the compiler's options."""
    warnings.simplefilter("ignore")
    from numba import cuda

    sys.path.insert(0, str(Path("/proc/self/cwd") / Path(source).parent))  # the same path on every machine
    function, signature, options = import_module(Path(source).stem).CASES[case]
    digits, kind = target.removeprefix("sm_").rstrip("af"), target[-1] if target[-1] in "af" else ""
    capability = (int(digits[:-1]), int(digits[-1]), kind) if kind else (int(digits[:-1]), int(digits[-1]))
    Path(output).write_text(cuda.compile_ptx(function, signature, cc=capability, **options)[0], encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
