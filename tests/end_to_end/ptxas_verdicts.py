"""Errors that ptxas reports for a whole PTX module."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyptx_ir.toolchain.diagnostics import parse_log
from pyptx_ir.toolchain.finder import find_tool
from pyptx_ir.toolchain.runner import run


def complaints(text: str, target: str) -> list[str]:
    """Return the errors of ptxas for a module compiled for `target` with `-O0 -c` (undefined functions are allowed)."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "m.ptx").write_bytes(text.encode("utf-8", "surrogateescape"))
        outcome = run(find_tool("ptxas"), [f"-arch={target}", "-O0", "-c", "m.ptx", "-o", "m.o"], Path(folder))
    found = [remark.message for remark in parse_log(outcome.output) if remark.is_error]
    return found or ([outcome.output or f"exit status {outcome.status}"] if outcome.status else [])
