"""Check the size of static shared memory and of constant memory. Measured on ptxas 13.0 and 13.5, for each target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.plugins.targets import find_target

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.walk import Routine, Walk


_MOST_CONSTANT = 65536  # bytes of constant memory on every target; ptxas 13.5 also counts unused variables


def constant_limit(walk: Walk) -> None:
    """Reject a module whose `.const` variables exceed constant memory."""
    if walk.constant > _MOST_CONSTANT:
        message = f".const variables take {walk.constant} bytes; the limit is {_MOST_CONSTANT}"
        help = "move large tables to .global memory"
        walk.report(Finding("constant-memory", message, help, at=walk.constant_at))


def shared_limits(walk: Walk) -> None:
    """Reject every entry whose static shared memory exceeds the target's limit, including module variables it uses."""
    if walk.target is None:
        return
    row = find_target(walk.target)
    # ptxas allows the opt-in limit of dynamic shared memory for static shared memory only on targets with suffix `a`.
    limit = row.shared_optin if row.kind == "arch" else row.shared_static
    own = sum(routine.own_shared for routine in walk.routines)
    everywhere = sum(storage.size or 0 for storage in walk.module_scope.storage.values() if storage.space == "shared")
    if own + everywhere <= limit:
        return  # the shared memory of all functions together is within the limit of one entry
    for entry in walk.entries():
        _entry(walk, entry, limit)


def _entry(walk: Walk, entry: Routine, limit: int) -> None:
    reached = walk.called_by(entry)
    used = set[str]().union(*(routine.shared for routine in reached))
    sizes = [walk.module_scope.storage[name].size or 0 for name in used if name in walk.module_scope.storage]
    total = sum(sizes) + sum(routine.own_shared for routine in reached)
    if total <= limit:
        return
    message = f"'{entry.node.name}' has {total} bytes of static shared memory; {walk.target} allows {limit}"
    help = "declare the memory `.extern .shared .align 16 .b8 name[];` and pass its size at launch"
    walk.report(Finding("shared-memory", message, help, word=entry.node.name, at=entry.at))
