"""Rule that prints special registers as calls of `ptx.special`."""

from __future__ import annotations

from pyptx_ir.plugins.rows import SugarRule
from pyptx_transpile.rules.mangled_names import find

__all__ = ["SPECIAL"]

SPECIAL = SugarRule(
    name="special",
    summary="reads of special registers as calls of `ptx.special`",
    before="mov.u32 %r1, %tid.x;",
    after="ptx.inst.mov.u32(r[1], ptx.special.tid.x())",
    find=find,
)
