"""Explanations of ptxas messages about wgmma and setmaxnreg, with remedies.

The patterns match ptxas messages (CUDA 13). Sources: PTX manual, "setmaxnreg", "wgmma.mma_async".
"""

from __future__ import annotations

from typing import Final

from pyptx_ir.plugins.advice import Advice

__all__ = ["ADVICE"]

_SERIALIZED = "each wgmma waits for the previous one, so loads and MMAs do not overlap"

ADVICE: Final = (
    Advice(
        r"'setmaxnreg' ignored; unable to determine register count at entry",
        "ptxas ignored every setmaxnreg: warps keep the registers of the launch",
        "set the register limit: .maxntid (or reqntid=…) together with .minnctapersm, or .maxnreg, as raw directives",
    ),
    Advice(
        r"'setmaxnreg' ignored to maintain minimum register requirements",
        "ptxas ignored setmaxnreg: the following code needs more registers than the count allows",
        "raise the register count of that warpgroup, or move work out of it",
    ),
    Advice(
        r"'setmaxnreg' ignored to maintain compatibility (across compilation units|into 'extern' call)",
        "ptxas ignored setmaxnreg: the kernel may call functions of other modules, whose register use is unknown",
        "define the functions in the kernel's own module",
    ),
    Advice(
        r"'setmaxnreg' ignored to allow debugging",
        "ptxas ignored setmaxnreg: the module was assembled for debugging",
        "assemble without -g",
    ),
    Advice(
        r"wgmma\.mma_async instructions are serialized due to insufficient register resources",
        f"accumulators and operands do not fit in the registers; {_SERIALIZED}",
        "use a smaller tile, more warpgroups, or setmaxnreg.inc in the consumers (with .maxntid, so that "
        "ptxas honors it)",
    ),
    Advice(
        r"wgmma\.mma_async instructions are serialized due to non wgmma instructions (defining|reading) accumulator",
        f"an instruction accesses an accumulator between wgmma.fence and wgmma.wait_group; {_SERIALIZED}",
        "initialize accumulators before wgmma.fence, and read them after wgmma.wait_group",
    ),
    Advice(
        r"wgmma\.mma_async instructions are serialized due to non wgmma instructions defining input registers",
        f"registers of A are written between wgmma.fence and wgmma.wait_group; {_SERIALIZED}",
        "load the registers of A before wgmma.fence, in a second set if the first is still being read",
    ),
    Advice(
        r"wgmma\.mma_async instructions are serialized due to ill formed pipeline stage",
        f"a wgmma.fence, commit_group or wait_group is missing on some path; {_SERIALIZED}",
        "put fence, wgmma.mma_async, commit_group and wait_group in this order on every path",
    ),
    Advice(
        r"wgmma\.mma_async instructions are serialized due to program dependence on compiler-inserted",
        f"wgmma.mma_async is in code where warps of one warpgroup may diverge; {_SERIALIZED}",
        "branch on a value that is uniform over the warpgroup: broadcast it, or use a uniform predicate",
    ),
    Advice(
        r"wgmma\.mma_async instructions are serialized due to (the presence of Extern calls|wgmma pipeline crossing)",
        f"the pipeline contains a call; {_SERIALIZED}",
        "inline the function, or finish the pipeline (wgmma.wait_group 0) before the call",
    ),
    Advice(
        r"(warpgroup\.wait|wgmma\.wait_group) is injected in around line",
        "this code accesses registers of wgmmas that may be in flight, so ptxas inserts a wait for all of them",
        "access accumulators, and registers of A, after the wgmma.wait_group for their wgmma",
    ),
    Advice(
        r"warpgroup\.arrive is injected in around line",
        "this wgmma uses registers that were written without a following wgmma.fence, so ptxas inserts one",
        "put wgmma.fence between writes to accumulators or registers of A and the next wgmma.mma_async",
    ),
)
