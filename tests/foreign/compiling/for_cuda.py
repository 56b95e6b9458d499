"""CUDA C++ by nvcc: a source is compiled once for each target, and a case names one of its kernels."""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from modules import Compiled, Parameters

if TYPE_CHECKING:
    from cases import Case

SOURCES = Path(__file__).resolve().parents[1] / "sources" / "cuda"
OPTIONS = ("-ptx", "-std=c++17", "-O3", "--extended-lambda", "-w")


def compiled(case: Case, target: str) -> Compiled:
    """Return the module of a source with one of its entries chosen, and those of the units `linked` with it."""
    behind = compiled(case.behind, target) if case.behind else None
    parameters = Parameters.behind(behind)
    for argument in case.arguments.values():
        parameters.add(argument)
    linked = case.options.get("linked", ())
    relocatable = ("-dc",) if linked else ()
    text, *others = (_module(source, target, *relocatable) for source in (case.options["source"], *linked))
    return Compiled(text, case.kernel, parameters, case.block, linked=tuple(others), behind=behind)


def _module(source: str, target: str, *options: str) -> str:
    text, complaint = _said(source, target, *options)
    if complaint:
        raise RuntimeError(complaint)
    return text


@cache
def _said(source: str, target: str, *options: str) -> tuple[str, str]:
    """Return the text of a module, or what nvcc has against its source."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "module.ptx"
        command = ["nvcc", *OPTIONS, *options, f"-arch={target}", str(SOURCES / source), "-o", str(output)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return ("", done.stderr) if done.returncode else (output.read_text(encoding="utf-8"), "")
