"""Operands of asynchronous copies. Manual: "Asynchronous copy", "Tensor copy"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.kinds.kind import OPERAND_KIND, OPERAND_TYPE, Kind, Misfit, Use

if TYPE_CHECKING:
    from pyptx_ir.isa.shapes import Shape


def _unfit_predicate(_argument: str, shape: Shape, _use: Use) -> Misfit | None:
    if shape[0] == "register" and shape[1] in ("pred", ""):
        return None
    return Misfit("a .pred register", OPERAND_TYPE if shape[0] == "register" else OPERAND_KIND)


KINDS = (
    # cp.async: ptxas takes a constant in this place for a size.
    Kind("predicate", "a predicate, not a constant", _unfit_predicate, lambda _a, _u, index: (f"%pred_{index}",)),
)
