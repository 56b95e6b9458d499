"""What ptxas's advisories and figures mean, and what to do about them: a row for each.

The patterns are searched in ptxas's words (CUDA 13); their numbers (C7508 and its kin) are not used, because one number
covers several causes. Sources: PTX manual, "setmaxnreg", "wgmma.mma_async", "Performance-Tuning Directives"; CUDA
programming guide, "Local Memory".
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Advice:
    """An advisory that matches `pattern`, what it means for the kernel, and what to do."""

    pattern: str
    meaning: str
    remedy: str


_SERIALIZED = "each wgmma now waits for the one before it, so that loads and products no longer overlap"

ADVICE = (
    Advice(
        r"'setmaxnreg' ignored; unable to determine register count at entry",
        "ptxas has dropped every setmaxnreg: the warps keep the registers that they were launched with",
        "say how many registers a thread may count on: .maxntid (or reqntid=…) together with .minnctapersm, or "
        ".maxnreg, as raw directives",
    ),
    Advice(
        r"'setmaxnreg' ignored to maintain minimum register requirements",
        "ptxas has dropped setmaxnreg: the code behind it needs more registers than it leaves",
        "leave that warpgroup more registers, or move work out of it",
    ),
    Advice(
        r"'setmaxnreg' ignored to maintain compatibility (across compilation units|into 'extern' call)",
        "ptxas has dropped setmaxnreg: functions of other modules may be called, whose registers it does not know",
        "define the functions in the kernel's own module",
    ),
    Advice(
        r"'setmaxnreg' ignored to allow debugging",
        "ptxas has dropped setmaxnreg, because the module was assembled for a debugger",
        "assemble without -g",
    ),
    Advice(
        r"wgmma\.mma_async instructions are serialized due to insufficient register resources",
        f"accumulators and operands do not fit in the registers; {_SERIALIZED}",
        "use a smaller tile, more warpgroups, or setmaxnreg.inc in the consumers (with .maxntid, so that it counts)",
    ),
    Advice(
        r"wgmma\.mma_async instructions are serialized due to non wgmma instructions (defining|reading) accumulator",
        f"something touches an accumulator between wgmma.fence and wgmma.wait_group; {_SERIALIZED}",
        "initialise accumulators in front of wgmma.fence, and read them behind wgmma.wait_group",
    ),
    Advice(
        r"wgmma\.mma_async instructions are serialized due to non wgmma instructions defining input registers",
        f"registers of A are written between wgmma.fence and wgmma.wait_group; {_SERIALIZED}",
        "load the registers of A in front of wgmma.fence, in a second set if the first is still being read",
    ),
    Advice(
        r"wgmma\.mma_async instructions are serialized due to ill formed pipeline stage",
        f"a wgmma.fence, commit_group or wait_group is missing on some way through the code; {_SERIALIZED}",
        "put fence, products, commit_group and wait_group in this order on every path",
    ),
    Advice(
        r"wgmma\.mma_async instructions are serialized due to program dependence on compiler-inserted",
        f"the products stand where warps of one warpgroup may part; {_SERIALIZED}",
        "branch on what is the same for the whole warpgroup: broadcast it, or use a uniform predicate",
    ),
    Advice(
        r"wgmma\.mma_async instructions are serialized due to (the presence of Extern calls|wgmma pipeline crossing)",
        f"a call stands inside the pipeline; {_SERIALIZED}",
        "inline the function, or finish the pipeline (wgmma.wait_group 0) in front of the call",
    ),
    Advice(
        r"(warpgroup\.wait|wgmma\.wait_group) is injected in around line",
        "this code touches registers of products that may still run, so ptxas waits here for all of them",
        "touch accumulators, and registers of A, behind the wgmma.wait_group that waits for their product",
    ),
    Advice(
        r"warpgroup\.arrive is injected in around line",
        "this product takes registers that were written without a wgmma.fence in between, so ptxas puts one here",
        "put wgmma.fence between what writes accumulators, or registers of A, and the next wgmma.mma_async",
    ),
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


def advice_on(remark: str) -> Advice | None:
    """Return the row for what ptxas said, or None for words that no row knows."""
    return next((row for row in ADVICE if re.search(row.pattern, remark)), None)
