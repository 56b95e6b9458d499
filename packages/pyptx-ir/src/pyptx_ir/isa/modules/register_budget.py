"""Check for `setmaxnreg` that ptxas ignores. Advisory C7508 of ptxas 13; manual: "setmaxnreg"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.findings import Finding

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import Instruction


def setmaxnreg(walk: Walk, node: Instruction) -> None:  # noqa: ARG001 - every check takes a statement
    """Warn about `setmaxnreg` if the entry does not fix the initial number of registers per thread."""
    if walk.routine is None or walk.routine.node.kind != "entry":
        return
    given = {directive.name for directive in walk.routine.node.directives}
    if "maxnreg" in given or ("minnctapersm" in given and given & {"maxntid", "reqntid"}):
        return
    lacking = ".minnctapersm 1" if given & {"maxntid", "reqntid"} else ".maxntid N, 1, 1 and .minnctapersm 1"
    message = f"ptxas ignores setmaxnreg: '{walk.routine.node.name}' has no fixed register count per thread at entry"
    walk.warn_once(Finding("ignored-setmaxnreg", message, f"add {lacking} to the .entry"))
