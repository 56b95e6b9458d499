"""One instruction as its row of the table reads it: its words by slot, its operands by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, TypeVar

from pyptx_sim.errors import ProgramError, UnknownForm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyptx_ir.isa.binding import Bound
    from pyptx_ir.syntax.nodes import Instruction
    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.program.program import Program, Site
    from pyptx_sim.program.scopes import Scope

__all__ = ["BoundInstruction"]

_T = TypeVar("_T")


class BoundInstruction:
    """One instruction in its place, with what its row says of it."""

    __slots__ = ("checked", "exact", "instruction", "pc", "polls", "program", "scope", "site")

    def __init__(
        self, program: Program, site: Site, *, checked: bool, exact: bool = False, polls: bool = False
    ) -> None:
        """Take the instruction at `site`; `exact` asks for results equal to the hardware's, bit for bit.

        `polls`: it is part of a polling loop.
        """
        self.program = program
        self.site = site
        self.instruction: Instruction = site.instruction
        self.scope: Scope = site.scope
        self.pc = site.pc
        self.checked = checked
        self.exact = exact
        self.polls = polls

    @property
    def opcode(self) -> tuple[str, ...]:
        """The opcode's words."""
        return self.instruction.opcode

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The operands as written."""
        return self.instruction.operands

    def form(self) -> Bound:
        """Return the instruction as its row of the table reads it; raise UnknownForm for what is a form of no row."""
        form = self.program.forms[self.pc]
        if form is None:
            raise UnknownForm(f"no row of the instruction table has this form of {'.'.join(self.opcode)}")
        return form

    @property
    def words(self) -> Mapping[str, str]:
        """The words of the opcode behind the first one, in order, by slots of the row; a literal one under itself."""
        return self.form().words

    def word(self, slot: str) -> str:
        """Return the word that fills a slot of the row, or an empty string; a literal word of the row is its own."""
        return self.form().words.get(slot, "")

    @property
    def space(self) -> str:
        """The state space that the instruction names, the first one, without its sub-qualifier; `generic` if none."""
        spaces = self.form().spaces
        return spaces[0].partition("::")[0] if spaces else "generic"

    def given(self, name: str) -> Operand | None:
        """Return the operand that the row calls `name`; None if the instruction lacks it."""
        return self.form().operands.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """What the row calls the operands, in order, without optional ones that lack."""
        return tuple(self.form().operands)

    def named(self, name: str) -> Operand:
        """Return the operand that the row calls `name`; fail if the instruction lacks it."""
        operand = self.given(name)
        if operand is None:
            self.fail(f"there is no operand {name}")
        return operand

    def types(self, name: str) -> tuple[str, ...]:
        """Return the types of the registers in an operand, of a vector one by one, as the row says them."""
        types = self.form().types[name]
        if types is None:
            self.fail(f"the instruction's row does not tell the type of {name}")
        return types

    def behind(self, slot: str) -> tuple[str, ...]:
        """Return the words of the opcode behind that of a slot of the row."""
        return self.opcode[self.opcode.index(self.words[slot]) + 1 :]

    def fail(self, message: str) -> NoReturn:
        """Raise a ProgramError located at this instruction."""
        error = ProgramError(message)
        error.locate(self.program.where(self.pc), self.program.line(self.pc))
        raise error

    def located(self, compile_it: Callable[[], _T]) -> _T:
        """Return what `compile_it` does, and locate a ProgramError at this instruction."""
        try:
            return compile_it()
        except ProgramError as error:
            error.locate(self.program.where(self.pc), self.program.line(self.pc))
            raise
