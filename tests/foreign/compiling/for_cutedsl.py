"""CuTe DSL: the host's function is compiled for stand-ins of arrays; its one kernel is what runs.

A case's `kernel` returns that function and the stand-ins; its arguments are those of the kernel. Tensors are
structures of a pointer, where their layouts are known.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from cases import Array
from modules import Compiled, Parameters

if TYPE_CHECKING:
    from cases import Case

DUMPS = Path(tempfile.gettempdir()) / f"foreign-{os.getpid()}"


def begin(target: str) -> None:
    """Say for whom to compile, and that the text is to be kept: the package asks when it is imported."""
    os.environ |= {"CUTE_DSL_ARCH": target, "CUTE_DSL_KEEP": "ptx", "CUTE_DSL_DUMP_DIR": str(DUMPS)}
    os.environ["CUTE_DSL_DISABLE_FILE_CACHING"] = "1"


def compiled(case: Case, target: str) -> Compiled:  # noqa: ARG001 # `begin` was told
    """Compile, and read what the compiler keeps."""
    from cutlass import cute

    shutil.rmtree(DUMPS, ignore_errors=True)
    DUMPS.mkdir()
    function, stand_ins = case.kernel()
    cute.compile(function, *stand_ins)
    (found,) = DUMPS.rglob("*.ptx")
    text = found.read_text(encoding="utf-8")
    shutil.rmtree(DUMPS)
    parameters = Parameters()
    for argument in case.arguments.values():
        if isinstance(argument, Array | bytes):
            parameters.structure(argument)
        else:
            parameters.add(argument)
    return Compiled(text, text.split(".visible .entry ")[1].split("(")[0].strip(), parameters, case.block)
