"""Instruction table: st.async and red.async, asynchronous stores and reductions."""

from __future__ import annotations

from pyptx_arch_hopper.table.bulk_copy import form
from pyptx_ir.isa.rows import ptx, summarised

BLACKWELL = ("sm_100",)
WORDS = ("b32", "u32", "s32", "f32")
LONG_WORDS = ("b64", "u64", "s64", "f64")
TYPES = tuple(f"{kind}{bits}" for kind in "bus" for bits in (8, 16, 32, 64))

# st.async and red.async without a state space: destination and mbarrier are generic addresses.
REMOTE = {"mbar": "address"}
WIDE_SCOPES = ("gpu", "sys")
# Operations of red.async on shared memory of the cluster, and their types.
REDUCTIONS = (
    (("inc", "dec"), ("u32",)),
    (("min", "max"), ("u32", "s32")),
    (("and", "or", "xor"), ("b32",)),
    (("add",), ("u32", "s32", "u64")),
)

SUMMARIES = {
    "Data movement": {
        "st.async": "Store asynchronously to shared memory of the cluster; an mbarrier tracks the stored bytes.",
    },
    "Atomics": {
        "red.async": "Perform a reduction on shared memory of the cluster, asynchronously.",
    },
}

ROWS = summarised(
    SUMMARIES,
    *(
        form(
            f"st.async{{.weak}}{{.shared::cluster}}.mbarrier::complete_tx::bytes{vector}.type [a], b, [mbar]",
            {**REMOTE, "b": kind},
            since=since,
            access="w",
            manual="st.async",
            vec=vectors,
            type=types,
        )
        for vector, vectors, types, kind, since in (
            ("{.vec}", ("v2", "v4"), WORDS, "vec(type)", ptx(8, 1)),
            ("{.vec}", ("v2",), LONG_WORDS, "vec(type)", ptx(8, 1)),
            ("", (), ("b128",), "type", ptx(9, 2)),
        )
    ),
    *(
        form(
            f"{name}.async{mmio}.sem.scope{{.global}}{'.op' if ops else ''}.type [a], b",
            since=ptx(8, 7),
            targets=BLACKWELL,
            access=access,
            manual=f"{name}.async",
            sem=("release",),
            scope=scopes,
            op=ops,
            type=types,
        )
        for name, ops, types, access in (
            ("st", (), (*TYPES, "f32", "f64"), "w"),
            ("red", ("add",), ("u32", "s32", "u64", "s64"), "x"),
        )
        for mmio, scopes in (("", WIDE_SCOPES), (".mmio", WIDE_SCOPES[-1:]))
    ),
    *(
        form(
            "red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.op.type [a], b, [mbar]",
            REMOTE,
            since=ptx(8, 1),
            access="x",
            manual="red.async",
            op=ops,
            type=types,
        )
        for ops, types in REDUCTIONS
    ),
)
