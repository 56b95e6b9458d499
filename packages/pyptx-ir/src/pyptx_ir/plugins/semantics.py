"""What plugins say that instructions compute, for the simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.isa.binding import Bound


@value
class Semantics(Value):
    """The simulator's meaning of one instruction.

    `opcode` is the leading words that the row answers for (`"add"`, `"shfl.sync"`, `"acme.frob"`); the longest match
    wins. Where the forms of one opcode stand in several sections of the manual, `manual` is the section whose forms it
    means, as their rows of the instruction table name it (`"add (half precision)"`); of an empty one, it is all that no
    other row of semantics names.

    Of what computes lane by lane, `compute` is all that there is to say: a pure function of arrays, one for each
    register that is read, which returns an array for each that is written, as a tuple if there are several. Which those
    are, and of which types, the instruction's row says (a 32-bit integer of any type is unsigned). A keyword-only
    parameter gets the word in the slot of its name, an empty one where the instruction has none.

    `bind` stands for `compute` where the function depends on more: `bind(form)` gets the instruction as its row reads
    it, with its words and operands, and returns the simulator's operation; see `pyptx_sim`.
    """

    opcode: str
    bind: Callable[[Bound], object] | None = None
    compute: Callable[..., object] | None = None
    manual: str = ""

    def __post_init__(self) -> None:
        """Raise TypeError unless there is one of the two."""
        if (self.bind is None) == (self.compute is None):
            raise TypeError(f"semantics of {self.opcode} take either bind= or compute=, and not both")

    @property
    def name(self) -> str:
        """What it answers for: the opcode, and the section if it names one."""
        return f"{self.opcode}, {self.manual}" if self.manual else self.opcode
