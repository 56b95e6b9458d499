"""Manual: "Warp-level matrix store instruction: stmatrix"."""

from __future__ import annotations

from pyptx_ir.isa.rows import ptx, row, summarised
from pyptx_ir.isa.table.matrix_moves import BYTES_ON, BYTES_SINCE, SHARED, SINGLE

COUNTS = {"num": tuple(SINGLE.values())}
OPERANDS = {"r": "fragment(num b32)"}

SUMMARIES = {
    "Warp matrices": {
        "stmatrix": "Store small matrices, in the layout of registers that mma takes, to shared memory.",
    },
}

ROWS = summarised(
    SUMMARIES,
    row(
        "stmatrix.sync.aligned.m8n8.num{.trans}{.ss}.b16 [a], r",
        num=tuple(SINGLE),
        ss=SHARED,
        lengths=COUNTS,
        operands=OPERANDS,
        since=ptx(7, 8),
        targets=("sm_90",),
        manual="stmatrix",
    ),
    row(
        "stmatrix.sync.aligned.m16n8.num.trans{.ss}.b8 [a], r",
        num=tuple(SINGLE),
        ss=SHARED,
        lengths=COUNTS,
        operands=OPERANDS,
        since=BYTES_SINCE,
        targets=BYTES_ON,
        manual="stmatrix",
    ),
)
