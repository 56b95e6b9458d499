"""Manual: "Warp-level matrix store instruction: stmatrix"."""

from __future__ import annotations

from pyptx_ir.isa.rows import ptx, row, summarised
from pyptx_ir.isa.table.matrix_moves import BYTES_ON, BYTES_SINCE, SHARED, SINGLE

COUNTS = {"num": tuple(SINGLE.values())}
OPERANDS = {"r": "fragment(num b32)"}

SUMMARIES = {
    "Warp matrices": {
        "stmatrix": "Store 8x8 matrices from mma fragments to shared memory.",
    },
}

ROWS = summarised(
    SUMMARIES,
    row(
        "stmatrix.sync.aligned.shape.num{.trans}{.ss}.type [a], r",
        shape=("m8n8",),
        type=("b16",),
        num=tuple(SINGLE),
        ss=SHARED,
        lengths=COUNTS,
        operands=OPERANDS,
        access="wr",
        since=ptx(7, 8),
        targets=("sm_90",),
        manual="stmatrix",
    ),
    row(
        "stmatrix.sync.aligned.shape.num.trans{.ss}.type [a], r",
        shape=("m16n8",),
        type=("b8",),
        num=tuple(SINGLE),
        ss=SHARED,
        lengths=COUNTS,
        operands=OPERANDS,
        access="wr",
        since=BYTES_SINCE,
        targets=BYTES_ON,
        manual="stmatrix",
    ),
)
