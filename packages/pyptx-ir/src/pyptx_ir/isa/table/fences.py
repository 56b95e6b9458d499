"""Manual: "Parallel Synchronization and Communication Instructions": membar, fence.

The Hopper package has the rows of the async proxy fences, the Blackwell package those of the fabric proxy fences.
"""

from __future__ import annotations

from pyptx_ir.isa.rows import ptx, row, summarised
from pyptx_ir.isa.table.type_sets import SCOPES

SUMMARIES = {
    "Synchronization": {
        "membar": "Order this thread's memory accesses for other threads in a scope.",
        "fence": "Order memory accesses, with a given strength and scope.",
        "fence.proxy": "Order accesses to memory through different proxies: generic, async, tensor map, alias.",
    },
}

ROWS = summarised(
    SUMMARIES,
    row("membar.level", level=("cta", "gl"), since=ptx(1, 4), manual="membar"),
    row("membar.level", level=("sys",), since=ptx(2, 0), manual="membar"),
    row("fence{.sem}.scope", sem=("sc", "acq_rel"), scope=SCOPES, since=ptx(6, 0), targets=("sm_70",), manual="fence"),
    row(
        "fence.sem.scope", sem=("acquire", "release"), scope=SCOPES, since=ptx(8, 6), targets=("sm_90",), manual="fence"
    ),
    row(
        "fence.sem.sync_restrict::shared::cluster.scope",
        sem=("acquire",),
        scope=("cluster",),
        since=ptx(8, 6),
        targets=("sm_90",),
        manual="fence",
    ),
    row(
        "fence.sem.sync_restrict::shared::cta.scope",
        sem=("release",),
        scope=("cluster",),
        since=ptx(8, 6),
        targets=("sm_90",),
        manual="fence",
    ),
    row(
        "fence.alias.sync_restrict::read.sem.scope",
        sem=("release",),
        scope=("sys",),
        since=ptx(9, 5),
        targets=("sm_90",),
        manual="fence",
    ),
    row(
        "fence.proxy.alias",
        leading=True,
        since=ptx(7, 5),
        targets=("sm_70",),
        manual="fence",
        instruction="fence.proxy",
    ),
    row(
        "fence.proxy.alias.sem.sys",
        sem=("acquire", "release"),
        leading=True,
        since=ptx(9, 4),
        targets=("sm_90",),
        manual="fence",
        instruction="fence.proxy",
    ),
    row("membar.proxy.alias", leading=True, since=ptx(7, 5), targets=("sm_60",), manual="membar"),
)
