"""Rule that omits names of labels that follow from their positions: `labels=` of the module has their scheme."""

from __future__ import annotations

from pyptx_ir.plugins.rows import SugarRule
from pyptx_transpile.rules.mangled_names import find

__all__ = ["LABEL"]

LABEL = SugarRule(
    name="label",
    summary="labels without explicit names, if the basic block's number determines the name",
    before="@%p1 bra $L__BB0_2;\n\tmov.b32 %r1, 7;\n$L__BB0_2:",
    after="with ptx.if_(~p[1]):\n    ptx.inst.mov.b32(r[1], 7)",
    find=find,
)
