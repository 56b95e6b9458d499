"""Explanations of ptxas messages about wgmma and setmaxnreg, with remedies.

The patterns match ptxas messages (CUDA 13). Sources: PTX manual, "setmaxnreg", "wgmma.mma_async".
"""

from __future__ import annotations

from typing import Final

from pyptx_ir.plugins.advice import Advice

__all__ = ["ADVICE"]

_SERIALIZED = "each wgmma now waits for the one before it, so that loads and products no longer overlap"

ADVICE: Final = (
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
)
