"""Labels whose names follow from their positions: the module states the scheme, and the file does not name them."""

from __future__ import annotations

from pyptx_ir.plugins.rows import SugarRule
from pyptx_transpile.rules.mangled_names import find

__all__ = ["LABEL"]

LABEL = SugarRule(
    name="label",
    summary="labels without names, if the block number determines the name",
    before="@%p1 bra $L__BB0_2;\n\tmov.b32 %r1, 7;\n$L__BB0_2:",
    after="with ptx.if_(~p[1]):\n    ptx.inst.mov.b32(r[1], 7)",
    find=find,
)
