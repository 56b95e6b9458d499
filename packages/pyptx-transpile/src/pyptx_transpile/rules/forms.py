"""Rule that names long opcodes which a module uses several times; the names are defined at the head of the file."""

from __future__ import annotations

from pyptx_ir.plugins.rows import SugarRule
from pyptx_transpile.rules.mangled_names import find

__all__ = ["FORM"]

FORM = SugarRule(
    name="form",
    summary="names for long forms of instructions",
    before="\n\t".join(
        ["mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd1, %fd2}, {%fd3}, {%fd4}, {%fd1, %fd2};"] * 2
    ),
    after="mma_m8n8k4_f64 = ptx.inst.mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
    find=find,
)
