"""Manual: "Parallel Synchronization and Communication Instructions": bar, barrier, bar.warp.sync."""

from __future__ import annotations

from pyptx_ir.isa.rows import InstructionRow, ptx, row, summarised

# A CTA has 16 barriers and at most 1024 threads, which arrive in whole warps.
NUMBER = {"a": "int32 in 0..15"}
ALL = {**NUMBER, "b": "int32 in 0..1024 by 32"}
SOME = {**NUMBER, "b": "int32 in 32..1024 by 32"}
PREDICATE = {"c": "pred or !"}


def _barrier(
    name: str, aligned: str, since: tuple[int, int], *, more_since: tuple[int, int]
) -> tuple[InstructionRow, ...]:
    """Return the forms of bar or barrier; `more_since` is the PTX version of the forms other than `sync`."""
    manual, *scope = name.split(".")
    words = len(scope) + 1
    return (
        row(
            f"{name}.sync{aligned} a{{, b}}",
            operands=ALL,
            access="rr",
            leading=len(scope),
            since=since,
            manual=manual,
        ),
        row(
            f"{name}.arrive{aligned} a, b",
            operands=SOME,
            access="rr",
            leading=words,
            since=more_since,
            manual=manual,
        ),
        row(
            f"{name}.red.popc{aligned}.u32 d, a{{, b}}, c",
            operands={**ALL, **PREDICATE, "d": "int32"},
            leading=words,
            since=more_since,
            manual=manual,
        ),
        row(
            f"{name}.red.op{aligned}.pred p, a{{, b}}, c",
            op=("and", "or"),
            operands={**ALL, **PREDICATE, "p": "typed(pred)"},
            leading=words,
            since=more_since,
            manual=manual,
        ),
    )


SUMMARIES = {
    "Synchronization": {
        "bar": "Synchronize the threads of a CTA at one of 16 barriers, or combine a predicate over these threads.",
        "barrier": "Synchronize the threads of a CTA at one of 16 barriers; without .aligned, threads may be diverged.",
        "bar.warp.sync": "Synchronize the lanes of the warp in a membermask.",
    },
}

ROWS = summarised(
    SUMMARIES,
    *_barrier("bar", "", ptx(1, 0), more_since=ptx(2, 0)),
    *_barrier("bar.cta", "", ptx(7, 8), more_since=ptx(7, 8)),
    *_barrier("barrier", "{.aligned}", ptx(6, 0), more_since=ptx(6, 0)),
    *_barrier("barrier.cta", "{.aligned}", ptx(7, 8), more_since=ptx(7, 8)),
    row(
        "bar.warp.sync membermask",
        operands={"membermask": "int32"},
        access="r",
        leading=True,
        since=ptx(6, 0),
        manual="bar.warp.sync",
    ),
)
