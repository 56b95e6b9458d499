"""Operand kinds of NVIDIA's instructions."""

from __future__ import annotations

from typing import Final

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


KINDS: Final = tuple(kind for family in FAMILIES for kind in family.KINDS)
