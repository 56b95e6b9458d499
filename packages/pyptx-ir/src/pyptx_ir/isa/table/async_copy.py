"""Manual: "Data Movement and Conversion Instructions: Asynchronous copy", non-bulk."""

from __future__ import annotations

from pyptx_ir.isa.rows import ptx, row

SHARED = ("shared", "shared::cta")
PREFETCH = ("L2::64B", "L2::128B", "L2::256B")
COPY = {"size": "imm", "source": "size_or_pred or !", "policy": "u64 with L2::cache_hint"}

ROWS = (
    *(
        row(
            f"cp.async.{cache}.ss.global{{.hint}}{{.prefetch}} [dst], [src], size{{, source}}{{, policy}}",
            ss=SHARED,
            hint=("L2::cache_hint",),
            prefetch=PREFETCH,
            operands=COPY,
            access="wrrrr",
            since=ptx(7, 0),
            targets=("sm_80",),
            leading=True,
            manual="cp.async",
        )
        for cache in ("ca", "cg")
    ),
    row("cp.async.commit_group", since=ptx(7, 0), targets=("sm_80",), leading=True, manual="cp.async.commit_group"),
    row(
        "cp.async.wait_group n",
        operands={"n": "imm"},
        access="r",
        since=ptx(7, 0),
        targets=("sm_80",),
        leading=True,
        manual="cp.async.wait_group",
    ),
    row("cp.async.wait_all", since=ptx(7, 0), targets=("sm_80",), leading=True, manual="cp.async.wait_group"),
    row(
        "cp.async.mbarrier.arrive{.noinc}{.ss}.b64 [addr]",
        ss=SHARED,
        access="x",
        since=ptx(7, 0),
        targets=("sm_80",),
        leading=True,
        manual="cp.async.mbarrier.arrive",
    ),
)

PARTIAL = (("cp", "bulk"), ("cp", "reduce"))
