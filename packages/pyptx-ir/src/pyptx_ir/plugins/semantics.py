"""Semantics of instructions from plugins, for the simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.isa.binding import Bound


@value
class Semantics(Value):
    """Semantics of one instruction in the simulator.

    `opcode` is the opcode prefix of the row (`"add"`, `"shfl.sync"`, `"acme.frob"`); the longest match wins. If several
    sections of the manual describe forms of one opcode, `manual` selects a section, as named in the rows of the
    instruction table (`"add (half precision)"`). An empty `manual` covers all forms that no other semantics row covers.

    For lane-wise instructions use `compute`: a pure function that takes an array per register read. It returns an array
    per register written, as a tuple if there are several. The instruction's row defines these registers and their types
    (32-bit integers of any type are unsigned). A keyword-only parameter gets the modifier in the slot of its name, an
    empty string if the instruction has none.

    `bind` replaces `compute` if the function depends on more than registers and modifiers. `bind(form)` gets the
    instruction as matched by its row, with modifiers and operands, and returns the simulator's operation; see
    `pyptx_sim`.
    """

    opcode: str
    bind: Callable[[Bound], object] | None = None
    compute: Callable[..., object] | None = None
    manual: str = ""

    def __post_init__(self) -> None:
        """Raise TypeError unless exactly one of `bind` and `compute` is given."""
        if (self.bind is None) == (self.compute is None):
            raise TypeError(f"semantics of {self.opcode} take either bind= or compute=")

    @property
    def name(self) -> str:
        """Opcode prefix, and the manual section if it is given."""
        return f"{self.opcode}, {self.manual}" if self.manual else self.opcode
