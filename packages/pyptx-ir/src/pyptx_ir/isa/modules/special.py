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
    for row in special_register_rows().values():
        if version < row.since:
            need = f"{row.since[0]}.{row.since[1]}"
            message = f"{row.name} needs PTX {need}; this module is version {version[0]}.{version[1]}"
            found[row.name] = found[_whole(row.name)] = Finding("version", message, f"write .version {need}")
        elif row.target and target is not None and not includes(target, row.target):
            message = f"{row.name} needs {row.target} or later; the target is {target}"
            finding = Finding("target", message, f"write .target {row.target}")
            found[row.name] = found[_whole(row.name)] = finding
    return found


def _whole(name: str) -> str:
    """Return the vector of which this is a component: `%clusterid` of `%clusterid.x`."""
    return name.partition(".")[0]
