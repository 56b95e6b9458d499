"""Instruction table: elect.sync, griddepcontrol, setmaxnreg."""

from __future__ import annotations

from pyptx_ir.isa.rows import ptx, row, summarised

SUMMARIES = {
    "Synchronization": {
        "elect.sync": "Elect one lane of a warp as leader.",
        "griddepcontrol": "Allow dependent grids to start, or wait for prerequisite grids.",
    },
    "Miscellaneous": {
        "setmaxnreg": "Release registers of the warp to the CTA's pool, or request registers from the pool.",
    },
}

ROWS = summarised(
    SUMMARIES,
    row(
        "elect.sync d|p, membermask",
        operands={"d": "int32 or _", "membermask": "int32"},
        since=ptx(8, 0),
        targets=("sm_90",),
        manual="elect.sync",
    ),
    row(
        "griddepcontrol.action",
        action=("launch_dependents", "wait"),
        since=ptx(7, 8),
        targets=("sm_90",),
        manual="griddepcontrol",
    ),
    row(
        "setmaxnreg.action.sync.aligned.u32 count",
        action=("inc", "dec"),
        operands={"count": "imm in 24..256 by 8"},
        access="r",
        leading=True,
        since=ptx(8, 0),
        targets=("sm_90a", "sm_100a", "sm_100f", "sm_110a", "sm_110f", "sm_120a", "sm_120f"),
        manual="setmaxnreg",
    ),
)
