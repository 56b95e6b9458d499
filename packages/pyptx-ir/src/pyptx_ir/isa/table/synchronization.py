"""Manual: "Parallel Synchronization and Communication Instructions", less mbarrier."""

from __future__ import annotations

from pyptx_ir.isa.rows import InstructionRow, ptx, row
from pyptx_ir.isa.table.type_sets import SCOPES

SPACES = ("global", "shared", "shared::cta", "shared::cluster")
ORDERS = {"atom": ("relaxed", "acquire", "release", "acq_rel"), "red": ("relaxed", "release")}
SIGN = {"c": "pred or !"}
MASK = {"membermask": "int32"}
BARRIER = {"a": "int32", "b": "int32"}
VOTES = ("all", "any", "uni")

ATOMIC = {"d": "type or _", "b": "type", "policy": "u64 with L2::cache_hint"}
HINT: dict[str, tuple[str, ...]] = {"hint": ("L2::cache_hint",)}

# Operation, types, PTX version, targets, as atom and red have them.
OPERATIONS = (
    (("and", "or", "xor"), ("b32", "b64"), ptx(1, 1), ()),
    (("add",), ("u32", "s32", "u64", "f32"), ptx(1, 1), ()),
    (("add",), ("f64",), ptx(5, 0), ("sm_60",)),
    (("inc", "dec"), ("u32",), ptx(1, 1), ()),
    (("min", "max"), ("u32", "s32", "u64", "s64"), ptx(1, 1), ()),
    (("add.noftz",), ("f16x2",), ptx(6, 2), ("sm_60",)),
    (("add.noftz",), ("f16",), ptx(6, 3), ("sm_70",)),
    (("add.noftz",), ("bf16", "bf16x2"), ptx(7, 8), ("sm_90",)),
)
# Operation, vector lengths, types: global memory only.
VECTORS = (
    ("add", ("v2", "v4"), ("f32",)),
    ("op.noftz", ("v2", "v4", "v8"), ("f16", "bf16")),
    ("op.noftz", ("v2", "v4"), ("f16x2", "bf16x2")),
)


def _atomic(name: str) -> tuple[InstructionRow, ...]:
    """Return the forms of atom or red on one value."""
    result, access = ("d, ", "wxr") if name == "atom" else ("", "xr")
    operations = list(OPERATIONS)
    if name == "atom":
        operations += [(("exch",), ("b32", "b64"), ptx(1, 1), ()), (("exch",), ("b128",), ptx(8, 3), ("sm_90",))]
    # A cache policy goes with global (and generic) addresses.
    places: tuple[tuple[str, dict[str, tuple[str, ...]], str], ...] = (
        ("{.space}", {"space": SPACES}, ""),
        ("{.global}.hint", HINT, ", policy"),
    )
    return tuple(
        row(
            f"{name}{{.sem}}{{.scope}}{place}.{'op' if '.' not in names[0] else names[0]}.type {result}[a], b{policy}",
            sem=ORDERS[name],
            scope=SCOPES,
            type=types,
            operands=ATOMIC,
            access=access + ("r" if policy else ""),
            since=since,
            targets=targets,
            manual=name,
            slots={**more, **({"op": names} if "." not in names[0] else {})},
        )
        for names, types, since, targets in operations
        for place, more, policy in places
    )


def _atomic_vector(name: str) -> tuple[InstructionRow, ...]:
    """Return the forms of atom or red on several values side by side."""
    result, access = ("d, ", "wxrr") if name == "atom" else ("", "xrr")
    return tuple(
        row(
            f"{name}{{.sem}}{{.scope}}{{.global}}.{operation}{{.hint}}.vec.type {result}[a], b{{, policy}}",
            sem=ORDERS[name],
            scope=SCOPES,
            vec=lengths,
            type=types,
            operands={**ATOMIC, "d": "vec(type) or _", "b": "vec(type)"},
            access=access,
            since=ptx(8, 1),
            targets=("sm_90",),
            manual=name,
            slots={**HINT, **({"op": ("add", "min", "max")} if operation != "add" else {})},
        )
        for operation, lengths, types in VECTORS
    )


def _compare_and_swap() -> tuple[InstructionRow, ...]:
    lines = (
        (("b32", "b64"), ptx(1, 1), ()),
        (("b16",), ptx(6, 3), ("sm_70",)),
        (("b128",), ptx(8, 3), ("sm_90",)),
    )
    return tuple(
        row(
            "atom{.sem}{.scope}{.space}.cas.type d, [a], b, c",
            sem=ORDERS["atom"],
            scope=SCOPES,
            space=SPACES,
            type=types,
            operands={"d": "type or _"},
            access="wxrr",
            since=since,
            targets=targets,
            manual="atom",
        )
        for types, since, targets in lines
    )


def _barrier(name: str, aligned: str, since: tuple[int, int]) -> tuple[InstructionRow, ...]:
    """Return the forms of bar or barrier."""
    leading = "." in name or not aligned
    return (
        row(f"{name}.sync{aligned} a{{, b}}", operands=BARRIER, access="rr", leading=leading, since=since, manual=name),
        row(f"{name}.arrive{aligned} a, b", operands=BARRIER, access="rr", leading=leading, since=since, manual=name),
        row(
            f"{name}.red.popc{aligned}.u32 d, a{{, b}}, c",
            operands={**BARRIER, **SIGN, "d": "int32"},
            leading=leading,
            since=since,
            manual=name,
        ),
        row(
            f"{name}.red.op{aligned}.pred p, a{{, b}}, c",
            op=("and", "or"),
            operands={**BARRIER, **SIGN},
            leading=leading,
            since=since,
            manual=name,
        ),
    )


ROWS = (
    *_barrier("bar", "", ptx(1, 0)),
    *_barrier("bar.cta", "", ptx(7, 8)),
    *_barrier("barrier", "{.aligned}", ptx(6, 0)),
    *_barrier("barrier.cta", "{.aligned}", ptx(7, 8)),
    row("bar.warp.sync membermask", operands=MASK, access="r", leading=True, since=ptx(6, 0), manual="bar.warp.sync"),
    row(
        "barrier.cluster.arrive{.aligned}", leading=True, since=ptx(7, 8), targets=("sm_90",), manual="barrier.cluster"
    ),
    row(
        "barrier.cluster.arrive.sem{.aligned}",
        sem=("release", "relaxed"),
        leading=True,
        since=ptx(8, 0),
        targets=("sm_90",),
        manual="barrier.cluster",
    ),
    row("barrier.cluster.wait{.aligned}", leading=True, since=ptx(7, 8), targets=("sm_90",), manual="barrier.cluster"),
    row(
        "barrier.cluster.wait.acquire{.aligned}",
        leading=True,
        since=ptx(8, 0),
        targets=("sm_90",),
        manual="barrier.cluster",
    ),
    row("membar.level", level=("cta", "gl", "sys"), since=ptx(1, 4), manual="membar"),
    row("fence{.sem}.scope", sem=("sc", "acq_rel"), scope=SCOPES, since=ptx(6, 0), targets=("sm_70",), manual="fence"),
    row(
        "fence.sem.scope", sem=("acquire", "release"), scope=SCOPES, since=ptx(8, 6), targets=("sm_90",), manual="fence"
    ),
    *_atomic("atom"),
    *_atomic_vector("atom"),
    *_compare_and_swap(),
    *_atomic("red"),
    *_atomic_vector("red"),
    row("vote.mode.pred p, a", mode=VOTES, operands={"a": "pred or !"}, before=("sm_70", ptx(6, 4)), manual="vote"),
    row("vote.ballot.b32 d, a", operands={"d": "b32", "a": "pred or !"}, before=("sm_70", ptx(6, 4)), manual="vote"),
    row(
        "vote.sync.mode.pred p, a, membermask",
        mode=VOTES,
        operands={"a": "pred or !", **MASK},
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
    row(
        "griddepcontrol.action",
        action=("launch_dependents", "wait"),
        since=ptx(7, 8),
        targets=("sm_90",),
        manual="griddepcontrol",
    ),
    row(
        "elect.sync d|p, membermask",
        operands={"d": "int32 or _", **MASK},
        since=ptx(8, 0),
        targets=("sm_90",),
        manual="elect.sync",
    ),
)

PARTIAL = (
    ("red", "async"),
    ("membar", "proxy"),
    ("fence", "proxy"),
    ("fence", "mbarrier_init"),
    *(("fence", word) for word in ("sync_restrict::shared::cta", "sync_restrict::shared::cluster")),
)
