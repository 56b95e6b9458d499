"""Instruction table: st.bulk."""

from __future__ import annotations

from pyptx_ir.isa.rows import ptx, row, summarised

# Size operand of st.bulk: a 64-bit register or, since PTX 9.0, a 32-bit register.
SIZES = (("size", "u64 in 0..16777216 by 8", ptx(8, 6)), ("size_32", "int32 in 0..16777216 by 8", ptx(9, 0)))

SUMMARIES = {
    "Data movement": {
        "st.bulk": "Fill a region of shared memory with zeros.",
    },
}

ROWS = summarised(
    SUMMARIES,
    *(
        row(
            f"st.bulk{{.weak}}{{.shared::cta}} [a], {name}, initval",
            operands={name: kind, "initval": "imm in 0"},
            access="wrr",
            since=since,
            targets=("sm_100",),
            leading=True,
            manual="st.bulk",
        )
        for name, kind, since in SIZES
    ),
)
