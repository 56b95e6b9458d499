"""Compatibility of targets: which code runs on which device.

Plain targets are ordered by number (a later device runs what an earlier one runs); `sm_XYf` also covers later members
of its family; `sm_XYa` covers only itself. Manual: "PTX Module Directives: .target", table "Architecture Families".
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from pyptx_ir.plugins.targets import find_target

if TYPE_CHECKING:
    from pyptx_ir.isa.target_rows import TargetRow

# Default PTX versions, by major compute capability and for all other devices. They are later than a target's `since`,
# so that more instructions (256-bit loads, …) are available.
_HABITUAL: dict[int, tuple[int, int]] = {10: (8, 8), 12: (8, 7)}
_HABITUAL_OTHERWISE = (8, 5)


def default_version(target: str | TargetRow) -> tuple[int, int]:
    """Return the default `.version` of modules for `target`, a version that supports the target."""
    row = find_target(target) if isinstance(target, str) else target
    return max(row.since, _HABITUAL.get(row.number // 10, _HABITUAL_OTHERWISE))


def includes(have: str | TargetRow, need: str | TargetRow) -> bool:
    """Return whether code that needs the target `need` is legal on the target `have`."""
    having, needed = _today(have), _today(need)
    if having.name == needed.name or needed.name in having.extends:
        return True
    if _is_nvidia(having) and _is_nvidia(needed) and _carries(having, needed):
        return True
    return any(includes(parent, needed) for parent in having.extends)


def _today(target: str | TargetRow) -> TargetRow:
    """Return a renamed target under its current name; any other target unchanged."""
    row = find_target(target) if isinstance(target, str) else target
    return find_target(row.renamed) if row.renamed else row


@functools.cache
def _nvidia() -> frozenset[str]:
    """Return the names of NVIDIA's own targets."""
    from pyptx_ir.isa.target_rows import TARGETS

    return frozenset(target.name for target in TARGETS)


def _is_nvidia(row: TargetRow) -> bool:
    return row.name in _nvidia()


def _carries(have: TargetRow, need: TargetRow) -> bool:
    if need.kind == "plain":
        return have.number >= need.number
    if need.kind == "family":
        return have.kind != "plain" and have.family == need.family and have.number >= need.number
    return False
