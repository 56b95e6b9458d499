"""Manual: "Data Movement and Conversion Instructions: Asynchronous copy", non-bulk; and cp.async.mbarrier.arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.rows import ptx, row, summarised

if TYPE_CHECKING:
    from pyptx_ir.isa.rows import InstructionRow

SHARED = ("shared", "shared::cta")
PREFETCH = ("L2::64B", "L2::128B", "L2::256B")
SIZES = (("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16))


def _copy(cache: str, size: int, source: str, kind: str, since: tuple[int, int]) -> InstructionRow:
    """Return the form of cp.async that copies `size` bytes; its last operand is the number of source bytes to read."""
    return row(
        f"cp.async.{cache}.ss.global{{.hint}}{{.prefetch}} [dst], [src], {size}{{, {source}}}{{, cache_policy}}",
        ss=SHARED,
        hint=("L2::cache_hint",),
        prefetch=PREFETCH,
        operands={
            "dst": "address(shared)",
            "src": "address(global)",
            str(size): f"imm in {size}",
            source: kind,
            "cache_policy": "u64 with L2::cache_hint",
        },
        access="wrrrr",
        since=since,
        targets=("sm_80",),
        leading=True,
        manual="cp.async",
    )


SUMMARIES = {
    "Asynchronous copies": {
        "cp.async": "Copy 4, 8 or 16 bytes from global to shared memory, asynchronously.",
        "cp.async.commit_group": "Commit the thread's uncommitted cp.async copies as a new cp.async group.",
        "cp.async.wait_group": "Wait until at most n of the thread's latest cp.async groups are pending.",
        "cp.async.wait_all": "Wait for all of the thread's cp.async copies.",
        "cp.async.mbarrier.arrive": "Arrive at an mbarrier when the thread's earlier cp.async copies complete.",
    },
}

ROWS = summarised(
    SUMMARIES,
    *(_copy(cache, size, "src_size", f"int32 in 0..{size}", ptx(7, 0)) for cache, size in SIZES),
    *(_copy(cache, size, "ignore_src", "predicate or !", ptx(7, 5)) for cache, size in SIZES),
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
    row(
        "cp.async.wait_all",
        since=ptx(7, 0),
        targets=("sm_80",),
        leading=True,
        manual="cp.async.wait_group",
        instruction="cp.async.wait_all",
    ),
    row(
        "cp.async.mbarrier.arrive{.noinc}{.ss}.b64 [addr]",
        ss=SHARED,
        access="x",
        since=ptx(7, 0),
        targets=("sm_80",),
        leading=3,
        manual="cp.async.mbarrier.arrive",
    ),
)
