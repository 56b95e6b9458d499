"""Special registers that a version or target lacks, and the names reserved because of them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.modules.scopes import is_special
from pyptx_ir.isa.special_registers import special_register_rows
from pyptx_ir.isa.targets import includes

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.walk import Walk


@functools.lru_cache(maxsize=256)
def early_registers(target: str | None, version: tuple[int, int]) -> dict[str, Finding]:
    """Return, by name, the finding for each special register that this target or version lacks."""
    found: dict[str, Finding] = {}
    for name, row in special_register_rows().items():
        if version < row.since:
            need = f"{row.since[0]}.{row.since[1]}"
            message = f"{name} needs PTX {need}; this module is version {version[0]}.{version[1]}"
            found[name] = Finding("version", message, f"write .version {need}")
        elif row.target and target is not None and not includes(target, row.target):
            message = f"{name} needs {row.target} or later; the target is {target}"
            found[name] = Finding("target", message, f"write .target {row.target}")
    return found


def reserved(walk: Walk, code: str, name: str) -> None:
    """Reject the names that ptxas reserves: `WARP_SZ` everywhere, and at module level those of special registers.

    Inside a function a declaration hides the special register with its name.
    """
    if name == "WARP_SZ":
        message = "'WARP_SZ' is reserved: it is a constant of PTX"
    elif name.startswith("%") and walk.routine is None and is_special(name):
        message = f"'{name}' is reserved: it is a special register"
    else:
        return
    walk.report(Finding(code, message, "choose another name", word=name))
