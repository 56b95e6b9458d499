"""Operands of one instruction, compiled to reader and writer functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from pyptx_ir.isa.modules.constants import is_offset
from pyptx_ir.syntax.operand_names import names_of
from pyptx_ir.syntax.operands import (
    Address,
    Immediate,
    Index,
    Negated,
    Pair,
    Register,
    Sink,
    Symbol,
    Unary,
    Unified,
    Vector,
)
from pyptx_sim.extension.registry import step_of
from pyptx_sim.instructions.compiling.async_registers import checker_of
from pyptx_sim.instructions.compiling.bound import BoundInstruction
from pyptx_sim.instructions.compiling.carrying import Carried
from pyptx_sim.instructions.compiling.collectives import undefined_fragments
from pyptx_sim.instructions.compiling.registers import Reader, Writer, read_register, write_register
from pyptx_sim.instructions.memory.addresses import shared_target, target
from pyptx_sim.instructions.memory.atomics import update_of
from pyptx_sim.instructions.turns.actions import acting, ending, ending_once
from pyptx_sim.literals import literal_bits
from pyptx_sim.machine.specials import is_special, is_special_vector
from pyptx_sim.program.constants import Form, encode, evaluate
from pyptx_sim.program.flow import meets
from pyptx_sim.program.images import symbol_address
from pyptx_sim.program.scopes import (
    DYNAMIC_OFFSET,
    FunctionBinding,
    Placement,
    RegisterBinding,
    VectorBinding,
)
from pyptx_sim.types import byte_size, dtype_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyptx_ir.syntax.nodes import Guard
    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.extension.stall import Stall
    from pyptx_sim.extension.step import AsyncRegisters, RegisterChecker
    from pyptx_sim.instructions.compiling.collectives import UndefinedFragments
    from pyptx_sim.instructions.memory.addresses import Target
    from pyptx_sim.instructions.turns.turn import ExecutionContext
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.memory.atomics import Update
    from pyptx_sim.machine.scheduling.code import Action, Terminator
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array
    from pyptx_sim.program.scopes import Binding

J = TypeVar("J", bound="RegisterChecker")

# Suffix that selects a byte or half of a register in video instructions; their semantics read suffix and register.
_SELECTOR = re.compile(r"\.[bh]\d+$")


class Operands(BoundInstruction):
    """One instruction with the scope of its names: compiles its operands to reader and writer functions.

    Raises ProgramError, located at the instruction, for an undeclared name or an invalid operand.
    """

    __slots__ = ()

    def source(self, name: str, ptx_type: str) -> Reader:
        """Return the reader of an operand as `ptx_type`, for `ExecutionContext.read`; an address reads as a number."""
        operand = self.named(name)
        if not isinstance(operand, Address):
            return self.read(operand, ptx_type)
        read = self.read(operand.base, ptx_type)
        if operand.offset is None:
            return read
        offset = self._read_constant(operand.offset, ptx_type)
        return lambda wave, lanes: read(wave, lanes) + offset(wave, lanes)

    def destination(self, name: str, ptx_type: str) -> Writer:
        """Return the writer of an operand as `ptx_type`, for `ExecutionContext.write`."""
        return self.write(self.named(name), ptx_type)

    def place(self, operand: str | Operand, space: str = "") -> Target:
        """Return a `Target` for an address operand, or for the operand of this name, for `ExecutionContext.by_memory`.

        The address is in `space`, by default the opcode's (`"generic"` if it has none). An address in
        `"shared::cluster"` may be in any CTA, whatever the opcode specifies.
        """
        found = self.named(operand) if isinstance(operand, str) else operand
        return target(self, found, space or self.space)

    def barrier(self, name: str) -> Target:
        """Return a `Target` for the mbarrier at an address operand, for `ExecutionContext.arrive_on_completion`."""
        return self.shared_place(name)

    def shared_place(self, name: str) -> Target:
        """Return a `Target` for an operand that is in shared memory, even if the opcode does not specify a space."""
        return shared_target(self, self.named(name))

    def update(self, operation: str, element: str, space: str = "shared") -> Update:
        """Return the update function of an atomic operation on a type, for `Arena.update`; fail if there is none.

        The function may depend on the memory: `add.f32` flushes subnormal numbers in `"global"` memory.
        """
        found = update_of(operation, element, space)
        return self.fail(f"unknown atomic operation {operation}.{element}") if found is None else found

    def others(self, opcode: str) -> Iterator[Operands]:
        """Yield the program's instructions whose opcode starts with `opcode`, possibly including this instruction."""
        words = tuple(opcode.split("."))
        for site in self.program.sites:
            if site.instruction.opcode[: len(words)] == words:
                yield type(self)(self.program, site, checked=False)

    def alike(self, opcode: str) -> Action:
        """Compile this instruction with the semantics of `opcode`; operands and modifiers must have equal names."""
        step = step_of(tuple(opcode.split(".")))
        if step is None or step.compile is None:
            return self.fail(f"no plugin provides semantics of {opcode}")
        return step.compile(self)

    def nothing(self) -> Action:
        """Return the compiled form of an instruction without an effect."""
        return acting(lambda _turn: None)

    def action(self, run: Callable[[ExecutionContext], None]) -> Action:
        """Return a compiled instruction that calls `run`, for `InstructionSemantics.compile` to return."""
        return acting(run)

    def end(self, run: Callable[[ExecutionContext], Stall | None], following: int) -> Terminator:
        """Return a terminator (the compiled last instruction of a block) that calls `run`.

        `InstructionSemantics.end` returns it. `run` is called for the lanes of one warp at a time. If `run` returns a
        `Stall`, it is called again once the wait is over; the first call must not have had an effect. The instruction
        must be alone in its basic block: its `InstructionSemantics` has `blocks=True`.
        """
        return ending(run, following, together=meets(self.opcode))

    def end_once(self, run: Callable[[ExecutionContext], None], following: int) -> Terminator:
        """Return a terminator (the compiled last instruction of a block) that calls `run`; `run` stalls lanes itself.

        `InstructionSemantics.end` returns it. `run` is called once for all converged lanes. Lanes that `run` passes to
        `ExecutionContext.stall` continue after the instruction once another thread has resumed them.
        """
        return ending_once(run, following, together=meets(self.opcode))

    def number(self, name: str) -> int:
        """Return the value of the constant integer operand with this name in the instruction table."""
        return self.integer(self.named(name))

    @property
    def exact_target(self) -> str | None:
        """Target whose bit-exact results the run requests; None if results within the manual's error bounds suffice."""
        return self.program.target if self.exact else None

    def registers_in(self, *names: str) -> Mapping[int, str]:
        """Return the registers in the operands `names`, in order: PTX register names by slot in the register file."""
        parts = (part for name in names for part in self.elements(self.named(name)))
        found = (self.register(part) for part in parts)
        return {each.slot: each.name for each in found if each is not None}

    def register_checker(self, registers: AsyncRegisters[J]) -> Callable[[Wave], J]:
        """Return a function, for `ExecutionContext.part`, that makes a wave's `RegisterChecker` (`registers.check`)."""
        return checker_of(self, registers)

    # --- names ----------------------------------------------------------------------------------

    def find(self, name: str) -> Binding:
        """Return the register, variable, label or function that a PTX name denotes; fail if it is not declared."""
        found = self.scope.find(name)
        if found is None:
            self.fail(f"undeclared name {name}")
        return found

    def register(self, operand: Operand) -> RegisterBinding | None:
        """Return the register that an operand names; None if the operand is not a register."""
        if not isinstance(operand, Register | Symbol):
            return None
        found = self.scope.find(operand.name)
        if found is None and _SELECTOR.search(operand.name):
            found = self.scope.find(_SELECTOR.sub("", operand.name))
        return found if isinstance(found, RegisterBinding) else None

    def elements(self, operand: Operand) -> tuple[Operand, ...]:
        """Return the elements of a vector, pair or vector register; any other operand is its only element."""
        if isinstance(operand, Vector):
            return tuple(part for element in operand.elements for part in self.elements(element))
        if isinstance(operand, Pair):
            return (*self.elements(operand.first), *self.elements(operand.second))
        if isinstance(operand, Register | Symbol):
            found = self.scope.find(operand.name)
            if isinstance(found, VectorBinding):
                return tuple(Register(component.name) for component in found.components)
            if found is None and is_special_vector(operand.name):
                return (*(Register(f"{operand.name}.{axis}") for axis in "xyz"), Immediate("0"))
        return (operand,)

    def defined(self, parts: tuple[Operand, ...]) -> tuple[Operand, ...]:
        """Return the elements of a vector operand, with `_` (zero) for registers that no instruction ever writes.

        Compilers emit such registers as padding, or if a later instruction ignores the element. If no register of the
        vector is ever written, the elements are returned unchanged.
        """
        registers = [self.register(part) for part in parts]
        blank = [register is not None and register.slot not in self.program.written for register in registers]
        return parts if all(blank) else tuple(Sink() if b else part for part, b in zip(parts, blank, strict=True))

    def address_of(self, name: str, form: Form = "relative") -> int:
        """Return the address of a variable or function, relative to its space, or to the function's frame if local."""
        binding = self.find(name)
        if isinstance(binding, Placement) and binding.offset == DYNAMIC_OFFSET:
            binding = self.dynamic(binding)
        if isinstance(binding, FunctionBinding | Placement):
            functions = {function.name: function.index for function in self.program.functions.values()}
            return symbol_address(binding, functions, generic=form == "generic")
        return self.fail(f"{name} has no address")

    def dynamic(self, placement: Placement) -> Placement:
        """Return the placement of an `.extern .shared` array: the start of dynamic shared memory."""
        return Placement(placement.name, "shared", self.program.shared.dynamic, 0, placement.type)

    def constant(self, operand: Operand) -> int | float:
        """Return the value of a constant expression."""
        if isinstance(operand, Index) and isinstance(operand.base, Symbol):
            placement = self.find(operand.base.name)
            size = byte_size(placement.type) if isinstance(placement, Placement) else 1
            return self.address_of(operand.base.name) + size * self.integer(operand.index)
        self.check_expression(operand)
        return evaluate(operand, self.address_of)

    def integer(self, operand: Operand) -> int:
        """Return the value of a constant expression that must be an integer."""
        value = self.constant(operand)
        return value if isinstance(value, int) else self.fail(f"expected an integer, got {value}")

    def check_expression(self, operand: Operand) -> None:
        """Fail for operators on registers, or on addresses except `variable+n`. Manual: "Constant Expressions"."""
        names = names_of(operand)
        if any(isinstance(self.find(name), RegisterBinding | VectorBinding) for name in names):
            self.fail("invalid constant expression: operator on a register")
        if names and not isinstance(operand, Symbol) and not is_offset(operand):
            self.fail("invalid constant expression: an address may only be used as variable + constant")

    # --- readers --------------------------------------------------------------------------------

    def read(self, operand: Operand, ptx_type: str) -> Reader:
        """Return a function that reads a source operand as values of `ptx_type`."""
        if isinstance(operand, Negated):
            return _inverted(self.read(operand.operand, "pred"))
        if isinstance(operand, Unary) and operand.op == "-" and self.register(operand.operand) is not None:
            operand = operand.operand  # the semantics of video instructions negate the operand
        register = self.register(operand)
        if register is not None:
            return read_register(register, ptx_type, checked=self.checked)
        if isinstance(operand, Register):
            return self._read_special(operand.name, ptx_type)
        if isinstance(operand, Sink):
            return _constant(np.zeros((1, 1), dtype_of(ptx_type)))
        return self._read_constant(operand, ptx_type)

    def _read_special(self, name: str, ptx_type: str) -> Reader:
        if is_special(name):
            return _special(name, ptx_type)
        return self.fail(f"undeclared register {name}")

    def _read_constant(self, operand: Operand, ptx_type: str) -> Reader:
        exact = literal_bits(operand.text) if isinstance(operand, Immediate) else None
        dtype = dtype_of(ptx_type)
        if ptx_type == "pred":
            return _constant(np.full((1, 1), bool(self.constant(operand))))
        if exact is not None and exact[1] == dtype.itemsize:
            data = exact[0].to_bytes(exact[1], "little")
        else:
            data = encode(self.constant(operand), ptx_type)
        return _constant(np.frombuffer(data, dtype).reshape(1, 1))

    def guard(self) -> Reader | None:
        """Return a reader of the instruction's guard predicate; None if the instruction has no guard."""
        guard: Guard | None = self.instruction.guard
        if guard is None:
            return None
        read = self.read(Register(guard.register), "pred")
        return _inverted(read) if guard.negated else read

    def carried(self, operand: Operand, ptx_type: str) -> Carried | None:
        """Return access (`Carried`) to the undefined bits of a register operand of `ptx_type`; None for others."""
        if isinstance(operand, Negated):
            return self.carried(operand.operand, ptx_type)
        if isinstance(operand, Unary) and operand.op == "-":
            operand = operand.operand
        register = self.register(operand)
        return None if register is None else Carried(register, ptx_type, self.pc)

    def carried_in(self, name: str, ptx_type: str) -> tuple[Carried | None, ...]:
        """Return access (`Carried`) to the undefined bits of an operand's registers, for `undefined_in`."""
        return tuple(self.carried(element, ptx_type) for element in self.elements(self.named(name)))

    def fragments(self, *registers: Carried | None) -> UndefinedFragments:
        """Return a reader of the undefined bits of registers, for `ExecutionContext.undefined_fragments`."""
        return undefined_fragments(self, registers)

    def results(self) -> tuple[Carried, ...]:
        """Return access (`Carried`) to the undefined bits of the registers that the instruction writes."""
        form = self.form()
        registers = (self.register(part) for name in form.written for part in self.elements(form.operands[name]))
        return tuple(Carried(each, each.type, self.pc) for each in registers if each is not None)

    def unchecked(self) -> Operands:
        """Return a copy of this object whose readers do not report undefined values."""
        return Operands(self.program, self.site, checked=False, exact=self.exact, polls=self.polls)

    # --- writers --------------------------------------------------------------------------------

    def write(self, operand: Operand, ptx_type: str) -> Writer:
        """Return a function that writes values of `ptx_type` to a destination operand."""
        if isinstance(operand, Sink):
            return _drop
        register = self.register(operand)
        if register is None:
            self.fail(f"destination must be a register, got {operand!r}")
        return write_register(register, ptx_type, checked=self.checked)

    def address(self, operand: Operand) -> Address:
        """Return an operand as an address; a bare symbol or register `x` stands for `[x]`."""
        if isinstance(operand, Unified):
            return self.address(operand.address)
        return operand if isinstance(operand, Address) else Address(operand)


def _drop(wave: Wave, lanes: Lanes, value: Array) -> None:
    """Discard the values written to the destination `_`."""


def _inverted(read: Reader) -> Reader:
    return lambda wave, lanes: ~read(wave, lanes)


def _constant(value: Array) -> Reader:
    value.flags.writeable = False
    return lambda _wave, _lanes: value


def _special(name: str, ptx_type: str) -> Reader:
    dtype = dtype_of(ptx_type)
    return lambda wave, lanes: lanes.select(wave.specials.read(name, dtype))
