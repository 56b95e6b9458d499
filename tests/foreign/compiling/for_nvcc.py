"""CUDA C++ by nvcc: a source is compiled once for each target; a case names one of its kernels."""

from __future__ import annotations

import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from modules import Compiled, Parameters

if TYPE_CHECKING:
    from collections.abc import Callable

    from cases import Case

SOURCES = Path(__file__).resolve().parents[1] / "sources" / "cuda"
Compile: TypeAlias = "Callable[..., tuple[str, str]]"
OPTIONS = ("-ptx", "-std=c++17", "-O3", "--extended-lambda", "-w")


def compiled(case: Case, target: str, compile_: Compile | None = None) -> Compiled:
    """Return the module of a source with the case's entry, and the modules of the `linked` units.

    `compile_` returns the text of a module and the errors, one of them empty, for a source, a target and options.
    """
    behind = compiled(case.behind, target, compile_) if case.behind else None
    parameters = Parameters.behind(behind)
    for argument in case.arguments.values():
        parameters.add(argument)
    linked = case.options.get("linked", ())
    said = [
        (compile_ or _said)(each, target, *(("-dc",) if linked else ())) for each in (case.options["source"], *linked)
    ]
    if complaint := "".join(words for _, words in said):
        raise RuntimeError(complaint)
    text, *others = (text for text, _ in said)
    return Compiled(text, case.kernel, parameters, case.block, linked=tuple(others), behind=behind)


@cache
def _said(source: str, target: str, *options: str) -> tuple[str, str]:
    """Return the PTX that nvcc generates and nvcc's errors; one of the two is empty."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "module.ptx"
        command = ["nvcc", *OPTIONS, *options, f"-arch={target}", str(SOURCES / source), "-o", str(output)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return ("", done.stderr) if done.returncode else (output.read_text(encoding="utf-8"), "")
