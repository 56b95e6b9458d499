"""All kinds of operands, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.kinds import addresses, names, scalars, vectors

if TYPE_CHECKING:
    from pyptx_ir.isa.kinds.kind import Kind

KINDS: dict[str, Kind] = {kind.name: kind for family in (scalars, vectors, addresses, names) for kind in family.KINDS}
