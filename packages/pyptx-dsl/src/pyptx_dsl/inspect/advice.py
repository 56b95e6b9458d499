"""Explanations and remedies for ptxas's advisories and figures, one row each; plugins add others.

The patterns are searched in ptxas's messages (CUDA 13). Sources: PTX manual, "Performance-Tuning Directives"; CUDA
programming guide, "Local Memory".
"""

from __future__ import annotations

import re
from typing import Final

from pyptx_ir.plugins.advice import Advice

__all__ = ["ADVICE", "advice_on"]

ADVICE: Final = (
    Advice(
        r"\.(minnctapersm|maxnctapersm) is ignored when neither \.maxntid nor \.reqntid is specified",
        "ptxas can't bound registers by blocks per multiprocessor without the size of a block",
        "give reqntid=… or a raw directive .maxntid",
    ),
    Advice(
        r"Registers are spilled to local memory|bytes of spilled registers",
        "values that did not fit in registers travel through local memory, a part of global memory behind the L1 cache",
        "keep fewer values alive (smaller tiles, shorter unrolled stretches), or raise the limit that .maxntid, "
        ".minnctapersm or .maxnreg sets",
    ),
    Advice(
        r"Local memory used|bytes of local memory",
        "an array or a spilled value lives in local memory, a part of global memory behind the L1 cache",
        "index arrays of registers with numbers that Python knows, not with registers; or keep them in shared memory",
    ),
    Advice(
        r"Stack size for entry function .* cannot be statically determined",
        "the kernel calls through pointers or recursively, so the driver's default stack size applies",
        "bound the recursion, or set the limit before the launch (cudaLimitStackSize)",
    ),
    Advice(
        r"is deprecated",
        "this ptxas still takes it; a later one will not",
        "write the form that the advisory or the reference page names",
    ),
    Advice(
        r"substantially reduced performance",
        "it works, and future devices will do it slowly",
        "use the modifier or the target that ptxas names",
    ),
)
"""Rows that apply to every architecture."""


def advice_on(remark: str) -> Advice | None:
    """Return the row with the longest match in ptxas's message; None if no row matches."""
    from pyptx_ir.plugins.manager import manager

    found = [(match[0], row) for row in manager().advice() if (match := re.search(row.pattern, remark))]
    return max(found, key=lambda pair: len(pair[0]), default=("", None))[1]
