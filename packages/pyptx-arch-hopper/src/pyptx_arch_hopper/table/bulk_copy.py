"""Manual: "Asynchronous copy: Bulk copy", applypriority.async.bulk, and the groups of bulk and tensor copies."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_ir.isa.rows import ptx, row, summarised

if TYPE_CHECKING:
    from pyptx_ir.isa.rows import InstructionRow

HOPPER = ("sm_90",)
RUBIN = ("sm_107f",)
# Targets of bulk copies with a memory-ordering modifier, including .weak.
ORDERED = ("sm_90a", "sm_100f", "sm_110f")
SLOTS: dict[str, tuple[str, ...]] = {
    "scope": ("cta", "cluster", "gpu", "sys"),
    "near": ("cta", "cluster"),
    "disabled": ("mbarrier::report::disabled",),
    "report": (
        "mbarrier::report::disabled",
        *(f"mbarrier::report::validity::per_16bytes::{pattern}" for pattern in ("80000000", "8000", "80", "8")),
        "mbarrier::report::validity::per_element::ff",
    ),
    "multicast": ("multicast::cluster", "multicast::cluster::16b"),
    "hint": ("L2::cache_hint",),
}
# ptxas rejects constant sizes beyond 2^20 - 16, a limit that the manual does not state.
OPERANDS = {
    "size": "int32 in 0..1048560 by 16",
    "mbar": "address(shared)",
    "cta_mask": "u16 with multicast",
    "cta_mask_32": "int32",
    "byte_mask": "u16 with cp_mask",
    "ignore_left": "int32 in 0..15",
    "ignore_right": "int32 in 0..15",
    "cache_policy": "u64 with L2::cache_hint",
    "n": "imm",
}
LOAD = {"dst": "address(shared)", "src": "address(global)"}
STORE = {"dst": "address(global)", "src": "address(shared)"}
SEND = {"dst": "address(shared)", "src": "address(shared)"}
# Memory-ordering variants of cp.async.bulk: modifiers before the state spaces, type suffix, and first PTX version.
ORDERS = (("", "", ptx(8, 0)), (".weak", "", ptx(9, 3)), (".relaxed.scope", ".b128", ptx(9, 3)))
# cp.reduce.async.bulk: operations, types in global memory, and the types of these that shared memory supports too.
REDUCTIONS = (
    (("and", "or", "xor"), ("b32", "b64"), ("b32",)),
    (("add",), ("u32", "s32", "u64", "f32", "f64"), ("u32", "s32", "u64")),
    (("min", "max"), ("u32", "s32", "u64", "s64", "f16", "bf16"), ("u32", "s32")),
    (("inc", "dec"), ("u32",), ("u32",)),
)


def form(
    line: str,
    kinds: dict[str, str] | None = None,
    *,
    since: tuple[int, int] = ptx(8, 0),
    targets: tuple[str, ...] = HOPPER,
    access: str = "",
    manual: str = "",
    **slots: tuple[str, ...],
) -> InstructionRow:
    """Return the instruction-table row of a syntax line with placeholders of `SLOTS` and operands of `OPERANDS`."""
    head, _, operands = line.partition(" ")
    named = {
        name: values for name, values in {**SLOTS, **slots}.items() if name in re.findall(r"\.(\w+)(?![\w:])", head)
    }
    name = manual or re.split(r"\.(?=global|shared|relaxed|release|sem|L2)|\{", head)[0]
    return row(
        line,
        operands={**OPERANDS, **(kinds or {})},
        access=access.ljust(operands.count(",") + bool(operands), "r"),
        since=since,
        targets=targets,
        leading=name.count("."),
        manual=name,
        slots=named,
    )


def ordered(
    name: str,
    words: str,
    operands: str,
    kinds: dict[str, str],
    *,
    since: tuple[int, int] = ptx(8, 0),
    scope: str = "scope",
    targets: tuple[str, ...] = HOPPER,
) -> tuple[InstructionRow, ...]:
    """Return a bulk copy's instruction-table rows: without memory ordering, .weak, and .relaxed at a scope."""
    return tuple(
        form(
            f"{name}{order.replace('scope', scope)}.{words}{kind} {operands}",
            kinds,
            since=max(since, first),
            targets=targets if targets != HOPPER else ORDERED if order else HOPPER,
            access="w",
            manual=name,
        )
        for order, kind, first in ORDERS
    )


def reductions(name: str, hint: str, since: tuple[int, int]) -> tuple[InstructionRow, ...]:
    """Return the instruction-table rows of reductions from shared into global memory.

    With `hint`, a cache policy is the last operand.
    """
    words, operand = (f"{{.{hint}}}", "{, cache_policy}") if hint else ("", "")
    ops = [(ops, types, since) for ops, types, _ in REDUCTIONS]
    without_flush = [(("add",), ("f16", "bf16"), since), (("add",), ("f32",), ptx(9, 4))]
    return tuple(
        form(
            f"{name}{order}.global.shared::cta.bulk_group{words}.op{noftz}.type [dst], [src], size{operand}",
            STORE,
            since=max(first, ptx(9, 3)) if order else first,
            access="x",
            manual=name,
            op=op,
            type=types,
        )
        for order in ("", ".relaxed.scope")
        for noftz, forms in (("", ops), (".noftz", without_flush))
        for op, types, first in forms
    )


COPY = "cp.async.bulk"
SUMMARIES = {
    "Data movement": {
        "applypriority.async.bulk": "Change the eviction priority of a large region of memory, asynchronously.",
    },
    "Asynchronous copies": {
        "cp.async.bulk": "Copy contiguous memory between state spaces, asynchronously.",
        "cp.reduce.async.bulk": "Reduce contiguous memory element-wise into other contiguous memory, asynchronously.",
        "cp.async.bulk.prefetch": "Prefetch contiguous global memory into the L2 cache.",
        "cp.async.bulk.commit_group": "Commit the thread's uncommitted bulk copies as a new bulk async-group.",
        "cp.async.bulk.wait_group": "Wait until at most n of the thread's latest bulk async-groups are pending.",
    },
}

ROWS = summarised(
    SUMMARIES,
    *ordered(
        COPY,
        "shared::cta.global.mbarrier::complete_tx::bytes{.report}{.hint}",
        "[dst], [src], size, [mbar]{, cache_policy}",
        LOAD,
        since=ptx(8, 6),
    ),
    *ordered(
        COPY,
        "shared::cta.global.mbarrier::complete_tx::bytes{.disabled}{.hint}.ignore_oob",
        "[dst], [src], size, ignore_left, ignore_right, [mbar]{, cache_policy}",
        LOAD,
        since=ptx(9, 2),
    ),
    *ordered(
        COPY,
        "shared::cluster.global.mbarrier::complete_tx::bytes{.report}{.multicast}{.hint}",
        "[dst], [src], size, [mbar]{, cta_mask}{, cache_policy}",
        LOAD,
    ),
    *ordered(
        COPY,
        "shared::cluster.global.mbarrier::complete_tx::bytes{.report}.multicast::cluster::32b{.hint}",
        "[dst], [src], size, [mbar], cta_mask_32{, cache_policy}",
        LOAD,
        since=ptx(9, 4),
        targets=RUBIN,
    ),
    *ordered(
        COPY,
        "shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
        "[dst], [src], size, [mbar]",
        SEND,
        scope="near",
    ),
    *ordered(
        COPY,
        "global.shared::cta.bulk_group{.hint}{.cp_mask}",
        "[dst], [src], size{, cache_policy}{, byte_mask}",
        STORE,
    ),
    *reductions("cp.reduce.async.bulk", "hint", ptx(8, 0)),
    *(
        form(
            f"cp.reduce.async.bulk{order}.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.op.type"
            " [dst], [src], size, [mbar]",
            SEND,
            since=since,
            access="x",
            manual="cp.reduce.async.bulk",
            op=ops,
            type=types,
        )
        for order, since in (("", ptx(8, 0)), (".relaxed.near", ptx(9, 3)))
        for ops, _, types in REDUCTIONS
    ),
    form("cp.async.bulk.prefetch.L2.global{.hint} [src], size{, cache_policy}", LOAD),
    form("cp.async.bulk.prefetch.L2.global.L2::evict_last [src], size", LOAD, since=ptx(9, 4), targets=RUBIN),
    form(
        "applypriority.async.bulk{.global}.bulk_group.L2::evict_normal [a], size",
        {"a": "address(global sized)"},
        since=ptx(9, 4),
        targets=RUBIN,
    ),
    form("cp.async.bulk.commit_group"),
    form("cp.async.bulk.wait_group{.read} n"),
    form("cp.async.bulk.wait_group.sync_restrict::proxy::async n", since=ptx(9, 5), manual="cp.async.bulk.wait_group"),
)
