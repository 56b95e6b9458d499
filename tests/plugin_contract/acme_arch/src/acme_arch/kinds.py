"""The operand kind of acme_1: an address in a CTA's vault."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.kinds.kind import Kind, Mismatch

if TYPE_CHECKING:
    from pyptx_ir.isa.kinds.kind import Use
    from pyptx_ir.isa.shapes import Shape


def _mismatch(_argument: str, shape: Shape, _use: Use) -> Mismatch | None:
    """Return a mismatch unless the operand is an address in a 32-bit register."""
    if shape[0] == "address" and shape[1] in ("b32", "u32", "s32", ""):
        return None
    return Mismatch("an address in the vault, in a 32-bit register")


VAULT = Kind("vault", "an address in the vault", _mismatch, lambda _argument, _use, index: (f"[%u32_{index}]",))
