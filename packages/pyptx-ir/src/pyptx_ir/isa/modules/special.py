"""Special registers that a version or a target lacks."""

from __future__ import annotations

import functools

from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.special_registers import special_register_rows
from pyptx_ir.isa.targets import includes


@functools.lru_cache(maxsize=256)
def early_registers(target: str | None, version: tuple[int, int]) -> dict[str, Finding]:
    """Return, for every special register that is not there yet, what to say about it."""
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
