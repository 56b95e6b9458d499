"""One instruction, bound to its row of the instruction table: modifiers by slot, operands by name."""

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
    """One instruction with its pc and its binding to a row of the instruction table."""

    __slots__ = ("checked", "exact", "instruction", "pc", "polls", "program", "scope", "site")

    def __init__(
        self, program: Program, site: Site, *, checked: bool, exact: bool = False, polls: bool = False
    ) -> None:
        """Bind the instruction of `site` (an instruction with its pc).

        `exact` requests results that are bit-exact with the hardware. `polls`: the instruction is in a polling loop.
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
        """Opcode and modifiers of the instruction, such as `("ld", "global", "u32")`."""
        return self.instruction.opcode

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Operands as written in the PTX text."""
        return self.instruction.operands

    def form(self) -> Bound:
        """Return the instruction's binding to a row of the instruction table; raise UnknownForm if no row matches."""
        form = self.program.forms[self.pc]
        if form is None:
            raise UnknownForm(f"unknown form of {'.'.join(self.opcode)}")
        return form

    @property
    def words(self) -> Mapping[str, str]:
        """Modifiers of the opcode in order, by slot: placeholder in the table row (`sem`), or a literal modifier."""
        return self.form().words

    def word(self, slot: str) -> str:
        """Return the opcode's modifier for `slot`, or an empty string if the opcode has none.

        A slot is a placeholder in the instruction table's row, such as `sem`, or a literal modifier of the row.
        """
        return self.form().words.get(slot, "")

    @property
    def space(self) -> str:
        """First state space in the opcode, without sub-qualifier (`shared` for `.shared::cta`); else `generic`."""
        spaces = self.form().spaces
        return spaces[0].partition("::")[0] if spaces else "generic"

    def given(self, name: str) -> Operand | None:
        """Return the operand with this name in the instruction table; None if the instruction lacks this operand."""
        return self.form().operands.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the operands in the instruction table, in order, without absent optional operands."""
        return tuple(self.form().operands)

    def named(self, name: str) -> Operand:
        """Return the operand with this name in the instruction table; fail if the instruction lacks this operand."""
        operand = self.given(name)
        if operand is None:
            self.fail(f"missing operand {name}")
        return operand

    def types(self, name: str) -> tuple[str, ...]:
        """Return the types of an operand's registers in the instruction table, one per vector element."""
        types = self.form().types[name]
        if types is None:
            self.fail(f"operand {name} has no type in the instruction table")
        return types

    def behind(self, slot: str) -> tuple[str, ...]:
        """Return the modifiers of the opcode that follow the modifier in `slot`."""
        return self.opcode[self.opcode.index(self.words[slot]) + 1 :]

    def fail(self, message: str) -> NoReturn:
        """Raise a ProgramError located at this instruction."""
        error = ProgramError(message)
        error.locate(self.program.where(self.pc), self.program.line(self.pc), self.pc)
        raise error

    def located(self, compile_it: Callable[[], _T]) -> _T:
        """Return the result of `compile_it`; locate a ProgramError at this instruction."""
        try:
            return compile_it()
        except ProgramError as error:
            error.locate(self.program.where(self.pc), self.program.line(self.pc), self.pc)
            raise
