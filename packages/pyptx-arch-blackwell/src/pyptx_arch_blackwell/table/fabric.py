"""Instruction table: "Fabric Instructions", between shared memory and memory of other devices on the fabric."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_ir.isa.rows import ptx, row, summarised

if TYPE_CHECKING:
    from pyptx_ir.isa.rows import InstructionRow

BLACKWELL = ("sm_100",)
RUBIN = ("sm_107f",)
# Targets of fabric reductions with .acc precision, and of fabric minimum and maximum of 8-bit types.
EIGHT_BITS = ("sm_100f", "sm_110f", "sm_120a", "sm_121a")
BYTES = "mbarrier::complete_tx::bytes.mbarrier::report::fabric"
SIXTEENS = "mbarrier::complete_tx::16B.mbarrier::report::fabric"
ORDER = ".relaxed.sys"
# Optional modifier of fabric instructions: the manual's syntax omits .relaxed.sys, but an example of the manual has it.
DEFAULT = "{.relaxed.sys}"
# Fabric instructions with .L2::cache_hint need a later PTX version than most fabric instructions without it.
HINTS = (("", "", ptx(9, 3)), (".L2::cache_hint", ", cache_policy", ptx(9, 4)))
COUNTED = (("", 2), (".counted::bytes", 3))
OPERANDS = {
    **dict.fromkeys(("dst", "src", "smem_dst", "smem_src", "mbar"), "address(shared)"),
    "size": "int32",
    "byte_mask": "u16",
    "cache_policy": "u64",
    "membermask": "imm in -1 4294967295",
    "n": "imm",
}
BITWISE = (("and", "or", "xor"), ("b32", "b64"))
REDUCTIONS = (
    BITWISE,
    (("min", "max"), ("u32", "s32", "u64", "s64", "f16", "bf16")),
    (("add",), ("u32", "u64", "f16", "bf16", "f32", "f64")),
)
ATOMICS = (
    BITWISE,
    (("exch", "cas"), ("b32", "b64", "b128")),
    (("min", "max"), ("u32", "u64", "f16x2", "bf16x2")),
    (("add",), ("u32", "u64", "f16x2", "bf16x2", "f32", "f64")),
)
# Reductions over several devices: operations, accumulation precision, types, and targets.
PULLED = (
    (("and", "or", "xor"), "", ("b32", "b64"), BLACKWELL),
    (("min", "max"), "", ("u32", "s32", "u64", "s64", "f16", "bf16"), BLACKWELL),
    (("min", "max"), "", ("e4m3", "e5m2"), EIGHT_BITS),
    (("add",), "", ("u32", "u64", "f16", "bf16", "f32"), BLACKWELL),
    (("add",), ".acc::f16", ("e4m3", "e5m2"), EIGHT_BITS),
    (("add",), ".acc::f32", ("f16", "bf16"), EIGHT_BITS),
)
# Fabric instructions: tensor ranks, and the tensor map fields that may be overridden besides the address.
OVERRIDES = (
    (("1d", "2d", "3d", "4d", "5d"), ".override::global_address"),
    (("1d",), ".override::global_address.override::global_dim"),
    (("2d", "3d", "4d", "5d"), ".override::global_address.override::global_dim_stride"),
)


def _form(
    line: str,
    *,
    since: tuple[int, int] = ptx(9, 3),
    targets: tuple[str, ...] = BLACKWELL,
    handle: str = "",
    **slots: tuple[str, ...],
) -> InstructionRow:
    """Return a row of the instruction table; the instruction's name ends before the first modifier."""
    head, _, operands = line.partition(" ")
    name = re.split(r"\.(?=shared|sync|op_|commit|multimem|dim)|\{", head)[0]
    ranks = slots.get("dim", ())
    return row(
        line,
        operands={**OPERANDS, "handle": f"handle({handle})", "box": "box(dim)"},
        access="".join("w" if "dst" in name else "r" for name in operands.split(", ") if name),
        since=since,
        targets=targets,
        leading=name.count("."),
        manual=name.removesuffix(".async"),
        instruction=".".join(name.split(".")[:2]),
        lengths={"dim": tuple(int(rank[0]) for rank in ranks)} if ranks else {},
        slots=slots,
    )


def _puts() -> tuple[InstructionRow, ...]:
    """Return the instruction-table rows of try_put and try_red, with and without a counter at the destination."""
    found: list[InstructionRow] = []
    for hint, policy, since in HINTS:
        for counted, count in COUNTED:
            words = f"async{{.multimem}}.shared::cta.{SIXTEENS}{counted}{hint}"
            operands = f"[handle], [src], size, [mbar]{policy}"
            found.append(_form(f"fabric.try_put.{words}{DEFAULT}.b128 {operands}", since=since, handle=str(count)))
            found += [
                _form(
                    f"fabric.try_red.{words}{DEFAULT}.op.type {operands}",
                    since=since,
                    handle=str(count),
                    op=ops,
                    type=types,
                )
                for ops, types in REDUCTIONS
            ]
        line = f"fabric.try_put.async{{.multimem}}.shared::cta.{SIXTEENS}{hint}.cp_mask{DEFAULT}.b128"
        found.append(_form(f"{line} [handle], [src], size, [mbar], byte_mask{policy}", since=since, handle="2"))
    return tuple(found)


def _tensors() -> tuple[InstructionRow, ...]:
    """Return the instruction-table rows with a tensor map whose address a logical endpoint and an offset override."""
    found: list[InstructionRow] = []
    for ranks, override in OVERRIDES:
        for hint, policy, _ in HINTS:
            rest = f"{hint}{override}{ORDER}"
            found.append(
                _form(
                    f"fabric.try_get.async.tensor.dim.shared::cta{{.tile}}.{BYTES}{rest}.b128"
                    f" [dst], [box], [mbar]{policy}",
                    since=ptx(9, 4),
                    targets=RUBIN,
                    dim=ranks,
                )
            )
            for counted, _ in COUNTED:
                words = f"async.tensor{{.multimem}}.dim.shared::cta{{.tile}}.{SIXTEENS}{counted}{rest}"
                operands = f"[box], [src], size, [mbar]{policy}"
                found.append(
                    _form(f"fabric.try_put.{words}.b128 {operands}", since=ptx(9, 4), targets=RUBIN, dim=ranks)
                )
                found.append(
                    _form(
                        f"fabric.try_red.{words}.op {operands}",
                        since=ptx(9, 4),
                        targets=RUBIN,
                        op=("and", "xor", "or", "add", "min", "max"),
                        dim=ranks,
                    )
                )
    return tuple(found)


SUMMARIES = {
    "Fabric": {
        "fabric.try_get": "Try to copy data from the memory of another node of the fabric.",
        "fabric.try_put": "Try to copy data to the memory of another node of the fabric.",
        "fabric.try_red": "Try to perform a reduction on the memory of another node of the fabric.",
        "fabric.try_pullred": "Try to fetch data from several nodes of the fabric and to reduce the data.",
        "fabric.try_atom": "Try an atomic operation on the memory of another node of the fabric.",
        "fabric.submit": "Commit the thread's earlier fabric operations.",
        "fabric.wait": "Wait for the thread's fabric operations.",
    },
}

ROWS = summarised(
    SUMMARIES,
    *(
        _form(
            f"fabric.try_get.async.shared::cta.{BYTES}{hint}{DEFAULT}.b128 [dst], [handle], size, [mbar]{policy}",
            since=since,
            handle="2",
        )
        for hint, policy, since in HINTS
    ),
    *_puts(),
    *(
        _form(
            f"fabric.try_pullred.async.multimem.shared::cta.{BYTES}{DEFAULT}.op{accumulate}.type.sync"
            " [dst], [handle], size, [mbar], membermask",
            targets=targets,
            handle="2",
            op=ops,
            type=types,
        )
        for ops, accumulate, types, targets in PULLED
    ),
    *(
        _form(
            f"fabric.try_atom.async.shared::cta.{SIXTEENS}{hint}{ORDER}.op.type"
            f" [handle], [smem_dst], [smem_src], [mbar]{policy}",
            since=ptx(9, 4),
            handle="2",
            op=ops,
            type=types,
        )
        for hint, policy, _ in HINTS
        for ops, types in ATOMICS
    ),
    *_tensors(),
    _form("fabric.submit{.op_restrict::fetching}"),
    _form("fabric.submit.commit_group", since=ptx(9, 5)),
    _form("fabric.wait.sync_restrict::reads"),
    _form("fabric.wait.sync_restrict::read n", since=ptx(9, 5)),
)
