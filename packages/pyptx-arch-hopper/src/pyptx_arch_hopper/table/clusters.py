"""Instruction table: "barrier.cluster", "mapa", "getctarank", for cluster barriers, and distributed shared memory."""

from __future__ import annotations

from pyptx_ir.isa.rows import InstructionRow, ptx, row, summarised

TARGETS = ("sm_90",)
LOCATIONS = {"a": "shared_location(type)"}


def _barrier(opcode: str, since: tuple[int, int], **slots: tuple[str, ...]) -> InstructionRow:
    return row(
        f"barrier.cluster.{opcode}{{.aligned}}",
        leading=2,
        since=since,
        targets=TARGETS,
        manual="barrier.cluster",
        slots=slots,
    )


SUMMARIES = {
    "Data movement": {
        "mapa": "Map a shared memory address to the corresponding address in another CTA of the cluster.",
        "getctarank": "Return the cluster rank of the CTA whose shared memory contains an address.",
    },
    "Synchronization": {
        "barrier.cluster": "Arrive at the cluster barrier, or wait until all threads of the cluster have arrived.",
    },
}

ROWS = summarised(
    SUMMARIES,
    _barrier("arrive", ptx(7, 8)),
    _barrier("arrive.sem", ptx(8, 0), sem=("release", "relaxed")),
    _barrier("wait", ptx(7, 8)),
    _barrier("wait.acquire", ptx(8, 0)),
    row(
        "mapa{.shared::cluster}.type d, a, b",
        type=("u32", "u64"),
        operands={**LOCATIONS, "b": "int32"},
        since=ptx(7, 8),
        targets=TARGETS,
        manual="mapa",
    ),
    row(
        "getctarank{.shared::cluster}.type d, a",
        type=("u32", "u64"),
        operands={**LOCATIONS, "d": "int32"},
        since=ptx(7, 8),
        targets=TARGETS,
        manual="getctarank",
    ),
)
