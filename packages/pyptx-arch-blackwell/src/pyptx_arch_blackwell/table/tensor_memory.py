"""Manual: "Tensor Memory", and the tcgen05 instructions that allocate, load, store and copy it."""

from __future__ import annotations

from pyptx_ir.isa.rows import ptx, row

TARGETS = ("sm_100a", "sm_100f", "sm_110a", "sm_110f")

ROWS = (
    row(
        "tcgen05.operation.sync.aligned",
        slots={"operation": ("wait::ld", "wait::st")},
        since=ptx(8, 6),
        targets=TARGETS,
        leading=True,
        manual="tcgen05.wait",
    ),
)
