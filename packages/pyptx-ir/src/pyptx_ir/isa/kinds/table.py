"""All kinds of operands, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.kinds import (
    addresses,
    copies,
    fragments,
    names,
    scalars,
    synchronization,
    tensor_memory,
    vectors,
    video,
)

if TYPE_CHECKING:
    from pyptx_ir.isa.kinds.kind import Kind

FAMILIES = (
    scalars,
    vectors,
    addresses,
    names,
    copies,
    synchronization,
    tensor_memory,
    fragments,
    video,
)

KINDS: dict[str, Kind] = {kind.name: kind for family in FAMILIES for kind in family.KINDS}
