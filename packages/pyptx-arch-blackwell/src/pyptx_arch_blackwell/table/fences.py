"""Instruction table: "membar / fence", fences between the generic proxy and the fabric proxy."""

from __future__ import annotations

from pyptx_ir.isa.rows import ptx, row

ROWS = tuple(
    row(
        f"fence.proxy.{proxies}.alias.sem.sys",
        sem=("acquire", "release"),
        leading=True,
        since=ptx(9, 3),
        targets=("sm_100",),
        manual="fence",
        instruction="fence.proxy",
    )
    for proxies in ("generic::fabric", "fabric::generic", "fabric::fabric")
)
