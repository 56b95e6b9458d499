"""Instruction table: tensormap.replace and tensormap.cp_fenceproxy."""

from __future__ import annotations

from pyptx_arch_hopper.table.bulk_copy import STORE, form
from pyptx_ir.isa.rows import ptx, summarised

# Targets of tensormap.replace; NEWER lacks Hopper (sm_90a), which does not support the newest fields.
EDITABLE = ("sm_90a", "sm_100f", "sm_110f", "sm_120f")
NEWER = EDITABLE[1:]
SPACES = ("global", "shared::cta")

# Fields of tensormap.replace: WORDS have one value, DIMENSIONS one value per dimension, each with the value's PTX type.
# CONSTANTS have an immediate: operand name, range, first PTX version, targets. Values that a later PTX version added to
# elemtype or swizzle_mode are a separate instruction-table row, whose operand is named after the values.
WORDS = ((("global_address",), "b64"), (("rank",), "b32"))
DIMENSIONS = ((("box_dim", "global_dim", "element_stride"), "b32"), (("global_stride",), "b64"))
CONSTANTS = (
    ("elemtype", "new_val", "0..12", ptx(8, 3), EDITABLE),
    ("elemtype", "packed_type", "13..15", ptx(8, 7), NEWER),
    ("interleave_layout", "new_val", "0..2", ptx(8, 3), EDITABLE),
    ("swizzle_mode", "new_val", "0..3", ptx(8, 3), EDITABLE),
    ("swizzle_mode", "swizzle_96B", "4", ptx(8, 8), ("sm_103a", "sm_107a")),
    ("swizzle_atomicity", "new_val", "0..3", ptx(8, 6), NEWER),
    ("fill_mode", "new_val", "0..1", ptx(8, 3), EDITABLE),
)

SUMMARIES = {
    "Data movement": {
        "tensormap.replace": "Replace one field of a tensor map in memory.",
    },
    "Asynchronous barriers": {
        "tensormap.cp_fenceproxy": "Copy a tensor map from shared to global memory, with a proxy release fence.",
    },
}

ROWS = summarised(
    SUMMARIES,
    *(
        form(
            f"tensormap.replace.tile.field{{.ss}}.b1024.{kind} [addr], {operands}",
            {"ordinal": "imm in 0..4", "new_val": "int32" if operands != "new_val" and kind == "b32" else kind},
            since=ptx(8, 3),
            targets=EDITABLE,
            access="x",
            manual="tensormap.replace",
            field=fields,
            ss=SPACES,
        )
        for operands, words in (("new_val", WORDS), ("ordinal, new_val", DIMENSIONS))
        for fields, kind in words
    ),
    *(
        form(
            f"tensormap.replace.tile.{field}{{.ss}}.b1024.b32 [addr], {name}",
            {name: f"imm in {limits}"},
            since=since,
            targets=targets,
            access="x",
            manual="tensormap.replace",
            ss=SPACES,
        )
        for field, name, limits, since, targets in CONSTANTS
    ),
    form(
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [dst], [src], size",
        {**STORE, "size": "imm in 128"},
        since=ptx(8, 3),
        access="w",
        manual="tensormap.cp_fenceproxy",
    ),
)
