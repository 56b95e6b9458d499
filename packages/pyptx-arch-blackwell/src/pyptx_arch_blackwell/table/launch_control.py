"""Instruction table: "clusterlaunchcontrol", with which a running cluster cancels the launch of another cluster."""

from __future__ import annotations

from pyptx_ir.isa.rows import InstructionRow, ptx, row, summarised

FAMILIES = ("sm_100a", "sm_100f", "sm_110a", "sm_110f", "sm_120a", "sm_120f")


def _try_cancel(multicast: str, targets: tuple[str, ...]) -> InstructionRow:
    return row(
        "clusterlaunchcontrol.try_cancel.async{.shared::cta}.mbarrier::complete_tx::bytes"
        f"{multicast}.b128 [addr], [mbar]",
        access="wx",
        leading=2,
        since=ptx(8, 6),
        targets=targets,
        manual="clusterlaunchcontrol.try_cancel",
    )


def _query_cancel(query: str, operands: str, kinds: dict[str, str], **slots: tuple[str, ...]) -> InstructionRow:
    return row(
        f"clusterlaunchcontrol.query_cancel.{query}.b128 {operands}, response",
        operands={"response": "b128", **kinds},
        leading=True,
        since=ptx(8, 6),
        targets=("sm_100",),
        manual="clusterlaunchcontrol.query_cancel",
        slots=slots,
    )


SUMMARIES = {
    "Synchronization": {
        "clusterlaunchcontrol.try_cancel": "Request cancellation of a pending cluster to take over the cluster's work.",
        "clusterlaunchcontrol.query_cancel": "Read from a try_cancel response whether and which cluster was canceled.",
    },
}

ROWS = summarised(
    SUMMARIES,
    _try_cancel("", ("sm_100",)),
    _try_cancel(".multicast::cluster::all", FAMILIES),
    _query_cancel("is_canceled.pred", "p", {"p": "typed(pred)"}),
    _query_cancel("get_first_ctaid.v4.b32", "d", {"d": "4*b32"}),
    _query_cancel("dimension.b32", "d", {"d": "b32"}, dimension=tuple(f"get_first_ctaid::{axis}" for axis in "xyz")),
)
