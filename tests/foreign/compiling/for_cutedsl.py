"""CuTe DSL: the host function is compiled for fake tensors (stand-ins); its only kernel is run.

A case's `kernel` returns that function and the stand-ins; the case's arguments are those of the kernel. The compiler's
data about the kernel's parameters and launch is kept; a case may omit a grid that these data contain.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modules import Compiled, Parameters

if TYPE_CHECKING:
    from cases import Case

KEEPS = tuple(map(int, version("nvidia-cutlass-dsl").split(".")[:2])) >= (4, 8)
DUMPS = Path(tempfile.gettempdir()) / f"foreign-{os.getpid()}"


def begin(target: str) -> None:
    """Set the target and the option to keep PTX: the package reads them when it is imported."""
    os.environ |= {"CUTE_DSL_ARCH": target, "CUTE_DSL_KEEP": "ptx,ir", "CUTE_DSL_DUMP_DIR": str(DUMPS)}
    os.environ["CUTE_DSL_DISABLE_FILE_CACHING"] = "1"
    if not KEEPS:
        import before_keep

        before_keep.begin()


def compiled(case: Case, target: str) -> Compiled:  # noqa: ARG001 # `begin` has set the target
    """Compile a case, and read the PTX that the compiler keeps."""
    function, stand_ins = case.kernel()
    if not KEEPS:
        import before_keep

        return before_keep.compiled(case, function, stand_ins)
    parameters = Parameters()
    for argument in case.arguments.values():
        parameters.add(argument)
    return _compiled(case, function, stand_ins, parameters)


def _compiled(case: Case, function: Any, stand_ins: Any, parameters: Parameters) -> Compiled:
    from cutlass import cute

    shutil.rmtree(DUMPS, ignore_errors=True)
    DUMPS.mkdir()
    kept = cute.compile(function, *stand_ins)
    shutil.rmtree(DUMPS)
    said = {"MLIR": kept.artifacts.MLIR, "ir_module": str(kept.ir_module)}
    (entry,) = kept.kernel_info
    return Compiled(kept.artifacts.PTX, entry, parameters, case.block, cute=said)
