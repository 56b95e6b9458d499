"""Manual: "Parallel Synchronization and Communication Instructions": vote, match, activemask, redux."""

from __future__ import annotations

from pyptx_ir.isa.rows import ptx, row, summarised

MASK = {"membermask": "int32"}
# vote and match do not accept the sink as the predicate result; setp does.
RESULT = {"p": "typed(pred)"}
VOTES = ("all", "any", "uni")
GONE = ("sm_70", ptx(6, 4))

SUMMARIES = {
    "Synchronization": {
        "vote": "Combine a predicate over the lanes of a warp, on targets before sm_70.",
        "vote.sync": "Combine a predicate over the lanes of a warp in a membermask.",
        "match.sync": "Find the lanes of a warp that have the same value.",
        "activemask": "Return the lanes of the warp that execute this instruction together.",
        "redux.sync": "Reduce a value over the lanes of a warp, and return the result to every lane.",
    },
}

ROWS = summarised(
    SUMMARIES,
    row(
        "vote.mode.pred p, a",
        mode=VOTES,
        operands={**RESULT, "a": "pred or !"},
        since=ptx(1, 2),
        before=GONE,
        manual="vote",
    ),
    row(
        "vote.ballot.b32 d, a",
        operands={"d": "int32", "a": "pred or !"},
        since=ptx(2, 0),
        before=GONE,
        manual="vote",
    ),
    row(
        "vote.sync.mode.pred p, a, membermask",
        mode=VOTES,
        operands={**RESULT, "a": "pred or !", **MASK},
        since=ptx(6, 0),
        manual="vote.sync",
    ),
    row(
        "vote.sync.ballot.b32 d, a, membermask",
        operands={"a": "pred or !", **MASK},
        since=ptx(6, 0),
        manual="vote.sync",
    ),
    row(
        "match.any.sync.type d, a, membermask",
        type=("b32", "b64"),
        operands={"d": "int32", **MASK},
        since=ptx(6, 0),
        targets=("sm_70",),
        manual="match.sync",
    ),
    row(
        "match.all.sync.type d{|p}, a, membermask",
        type=("b32", "b64"),
        operands={"d": "int32 or _", **MASK},
        since=ptx(6, 0),
        targets=("sm_70",),
        manual="match.sync",
    ),
    row("activemask.b32 d", since=ptx(6, 2), manual="activemask"),
    row(
        "redux.sync.op.type d, a, membermask",
        op=("add", "min", "max"),
        type=("u32", "s32"),
        operands={"d": "int32", "a": "int32", **MASK},
        since=ptx(7, 0),
        targets=("sm_80",),
        manual="redux.sync",
    ),
    row(
        "redux.sync.op.b32 d, a, membermask",
        op=("and", "or", "xor"),
        operands={"d": "int32", "a": "int32", **MASK},
        since=ptx(7, 0),
        targets=("sm_80",),
        manual="redux.sync",
    ),
    row(
        "redux.sync.op{.abs}{.NaN}.f32 d, a, membermask",
        op=("min", "max"),
        operands=MASK,
        since=ptx(8, 6),
        targets=("sm_100a", "sm_100f"),
        manual="redux.sync",
    ),
)
