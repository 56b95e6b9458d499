"""All kinds of operands, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_ir.isa.kinds import (
    addresses,
    copies,
    fragments,
    names,
    scalars,
    synchronization,
    tensor_memory,
    textures,
    variables,
    vectors,
    video,
)
from pyptx_ir.isa.kinds.kind import Kinds

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
    textures,
    variables,
)


def _by_name(kinds: list[Kind]) -> Kinds:
    found = Kinds({kind.name: kind for kind in kinds})
    if len(found) < len(kinds):
        raise ValueError("two kinds of operands have one name")
    return found


KINDS: Final = _by_name([kind for family in FAMILIES for kind in family.KINDS])
