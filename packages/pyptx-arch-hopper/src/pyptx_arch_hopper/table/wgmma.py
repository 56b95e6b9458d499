"""Manual: "Asynchronous Warpgroup Level Matrix Instructions"."""

from __future__ import annotations

from pyptx_ir.isa.rows import ptx, row

ROWS = (
    row("wgmma.fence.sync.aligned", since=ptx(8, 0), targets=("sm_90a",), leading=True, manual="wgmma.fence"),
    row(
        "wgmma.commit_group.sync.aligned",
        since=ptx(8, 0),
        targets=("sm_90a",),
        leading=True,
        manual="wgmma.commit_group",
    ),
    row(
        "wgmma.wait_group.sync.aligned n",
        operands={"n": "imm in 0..7"},
        access="r",
        since=ptx(8, 0),
        targets=("sm_90a",),
        leading=True,
        manual="wgmma.wait_group",
    ),
)
