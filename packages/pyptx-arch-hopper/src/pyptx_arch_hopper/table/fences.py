"""Manual: "membar / fence": fences of the async and tensormap proxies, and of mbarrier initialization."""

from __future__ import annotations

from pyptx_ir.isa.rows import InstructionRow, ptx, row
from pyptx_ir.isa.table.type_sets import SCOPES


def _fence(syntax: str, since: tuple[int, int], operands: str = "", **slots: tuple[str, ...]) -> InstructionRow:
    return row(
        f"{syntax} {operands}".rstrip(),
        operands={"addr": "address(constant)", "size": "imm in 128"},
        access="rr" if operands else "",
        leading=".proxy" in syntax,
        since=since,
        targets=("sm_90",),
        manual=syntax.partition(".")[0],
        instruction="fence.proxy" if syntax.startswith("fence.proxy") else "",
        slots=slots,
    )


ROWS = (
    _fence("fence.mbarrier_init.release.cluster", ptx(8, 0)),
    _fence("fence.proxy.async{.space}", ptx(8, 0), space=("global", "shared::cta", "shared::cluster")),
    _fence("membar.proxy.async", ptx(8, 0)),
    # Fences from the generic proxy to the tensormap proxy; an acquire fence names the 128 bytes of one tensor map.
    _fence("fence.proxy.tensormap::generic.release.scope", ptx(8, 3), scope=SCOPES),
    _fence("fence.proxy.tensormap::generic.acquire.scope", ptx(8, 3), "[addr], size", scope=SCOPES),
    # Fences between the generic proxy and the async proxy that apply to shared memory only.
    _fence("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster", ptx(8, 6)),
    _fence("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster", ptx(8, 6)),
    _fence(
        "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.scope",
        ptx(9, 4),
        scope=("cta", "cluster"),
    ),
)
