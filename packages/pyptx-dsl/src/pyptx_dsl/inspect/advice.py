"""Explanations and remedies for ptxas's advisories and resource figures, one `Advice` each; plugins add others.

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
        "ptxas cannot limit registers by CTAs per SM without the CTA size",
        "pass reqntid=… or a raw directive .maxntid",
    ),
    Advice(
        r"Registers are spilled to local memory|bytes of spilled registers",
        "values that do not fit in registers are stored in local memory (off-chip memory, cached in L1)",
        "keep fewer values live (smaller tiles, less unrolling), or raise the limit set by .maxntid, "
        ".minnctapersm or .maxnreg",
    ),
    Advice(
        r"Local memory used|bytes of local memory",
        "an array or a spilled value is in local memory (off-chip memory, cached in L1)",
        "index register arrays with Python integers, not with registers; or use shared memory",
    ),
    Advice(
        r"Stack size for entry function .* cannot be statically determined",
        "the kernel calls through pointers or recursively, so the driver's default stack size applies",
        "limit the recursion depth, or set the stack size before the launch (cudaLimitStackSize)",
    ),
    Advice(
        r"is deprecated",
        "this ptxas accepts the deprecated form; a later ptxas will reject it",
        "use the replacement named by ptxas or by the instruction's reference page",
    ),
    Advice(
        r"substantially reduced performance",
        "the instruction works, but will be slow on future devices",
        "use the modifier or target that ptxas recommends",
    ),
)
"""Advice that applies to every architecture."""


def advice_on(remark: str) -> Advice | None:
    """Return the advice whose pattern has the longest match in ptxas's message; None if no pattern matches."""
    from pyptx_ir.plugins.manager import manager

    found = [(match[0], row) for row in manager().advice() if (match := re.search(row.pattern, remark))]
    return max(found, key=lambda pair: len(pair[0]), default=("", None))[1]
