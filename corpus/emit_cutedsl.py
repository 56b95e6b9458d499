"""Compile a CuTe DSL function to PTX: `emit_cutedsl.py SOURCE TARGET CASE OUTPUT`."""

from __future__ import annotations

import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path


def main(source: str, target: str, case: str, output: str) -> None:
    """Write the PTX of a source's `CASES[case]`, which returns a function and stand-ins for its arguments."""
    sys.path.insert(0, str(Path("/proc/self/cwd") / Path(source).parent))  # the same path on every machine
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"CUTE_DSL_ARCH": target, "CUTE_DSL_KEEP": "ptx", "CUTE_DSL_DUMP_DIR": folder}
        os.environ["CUTE_DSL_DISABLE_FILE_CACHING"] = "1"
        from cutlass import cute

        function, arguments = import_module(Path(source).stem).CASES[case]()
        cute.compile(function, *arguments)
        (found,) = Path(folder).rglob("*.ptx")
        Path(output).write_bytes(found.read_bytes())


if __name__ == "__main__":
    main(*sys.argv[1:])
