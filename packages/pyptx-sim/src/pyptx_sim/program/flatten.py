"""Lowering of one function to a flat list of instructions.

Names are bound to registers and variables; guards of control flow instructions are converted to branches.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from pyptx_ir.syntax.lexemes import integer
from pyptx_ir.syntax.nodes import (
    Block,
    BranchTargets,
    CallPrototype,
    CallTargets,
    Guard,
    Instruction,
    Label,
    Pragma,
    RegisterDeclaration,
    Variable,
)
from pyptx_ir.syntax.operands import Symbol
from pyptx_sim.errors import Declaring, ProgramError
from pyptx_sim.literals import parse_literal
from pyptx_sim.program.flow import ends_block, is_gate
from pyptx_sim.program.layout import (
    Shape,
    SharedRegion,
    SpaceAllocator,
    numbered,
    numbered_names,
    parameter_shape,
    variable_shape,
)
from pyptx_sim.program.params import params_in_memory
from pyptx_sim.program.program import ALL_BYTES, FunctionLayout, Site
from pyptx_sim.program.scopes import (
    LabelBinding,
    ParameterBinding,
    PrototypeBinding,
    RegisterBinding,
    Scope,
    TargetsBinding,
    UnsizedParameter,
    VectorBinding,
    vector_binding,
)
from pyptx_sim.types import is_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyptx_ir.syntax.nodes import Declarator, Function, Parameter, Statement
    from pyptx_sim.program.scopes import Binding, Placement

# Maximum number of registers of a program: the simulator has a list entry for each. Real programs declare thousands.
MOST_SLOTS: Final = 1 << 20
_RETURN = Instruction(opcode=("ret",))


@dataclass(slots=True)
class Numbers:
    """Register slots, labels and instructions that the functions of a program have used so far."""

    slots: int
    sites: list[Site] = field(default_factory=list[Site])
    label_pcs: dict[int, int] = field(default_factory=dict[int, int])

    def new_slots(self, count: int = 1) -> int:
        """Reserve `count` unused consecutive register slots; return the first."""
        first = self.slots
        if count > MOST_SLOTS - first:
            raise ProgramError(f"too many registers: limit {MOST_SLOTS}")
        self.slots += count
        return first

    def new_label(self) -> LabelBinding:
        """Return a new label whose pc is not yet known."""
        key = len(self.label_pcs)
        self.label_pcs[key] = -1
        return LabelBinding(key)


class Flattener:
    """Lowers one function: its parameters, declarations and instructions."""

    def __init__(self, function: Function, module: Scope, numbers: Numbers, shared: SharedRegion, ordinal: int) -> None:
        """Prepare to lower `function`; `ordinal`: number of its first instruction in reading order of the modules."""
        self._function = function
        self._numbers = numbers
        self._shared = shared
        self._frame = SpaceAllocator("local")
        self._ordinal = ordinal
        self._used_bytes = ALL_BYTES
        self._scope = Scope(module)
        self._in_memory = params_in_memory(function)
        self.static_variables: list[tuple[Variable, Scope]] = []

    def lower(self, index: int) -> FunctionLayout:
        """Append the function's instructions to the program, and return the function's layout."""
        function, numbers = self._function, self._numbers
        slot, pc = numbers.slots, len(numbers.sites)
        with Declaring(function):
            is_entry = function.kind == "entry"
            parameters = self._entry_parameters() if is_entry else self._formals(function.parameters or ())
            returns = self._formals(function.returns)
        if function.body is not None:
            self._block(function.body, self._scope)
            self._emit(_RETURN, self._scope, -1)
        return FunctionLayout(
            name=function.name,
            index=index,
            parameters=parameters,
            returns=returns,
            frame_size=self._frame.end,
            slots=range(slot, numbers.slots),
            body=range(pc, len(numbers.sites)),
        )

    # --- declarations ---------------------------------------------------------------------------

    def _entry_parameters(self) -> tuple[Binding, ...]:
        bank = SpaceAllocator("param")
        return tuple(self._bank_parameter(bank, parameter) for parameter in self._function.parameters or ())

    def _bank_parameter(self, bank: SpaceAllocator, parameter: Parameter) -> Placement:
        placement = bank.place(parameter.name, parameter_shape(parameter))
        self._scope.bind(parameter.name, placement)
        return placement

    def _formals(self, parameters: tuple[Parameter, ...]) -> tuple[Binding, ...]:
        return tuple(self._formal(parameter) for parameter in parameters)

    def _formal(self, parameter: Parameter) -> Binding:
        if parameter.space == "reg" and parameter.vector is not None:
            binding: Binding = self._vector_register(parameter.name, parameter.type, parameter.vector)
        elif parameter.space == "reg":
            binding = self._register(parameter.name, parameter.type)
        else:
            binding = self._param_variable(parameter.name, parameter_shape(parameter))
        if parameter.name not in {"", "_"}:
            self._scope.bind(parameter.name, binding)
        return binding

    def _param_variable(self, name: str, shape: Shape) -> Binding:
        """Place a scalar `.param` or an unsized array's address in a register, another array in the stack frame."""
        if shape.dimensions and not shape.size:
            return UnsizedParameter(self._register(name, "u64"))
        if shape.dimensions or name in self._in_memory:
            return self._frame.place(name, shape)
        return ParameterBinding(self._register(name, shape.type))

    def _register(self, name: str, register_type: str) -> RegisterBinding:
        return RegisterBinding(self._slots(name, register_type), register_type, name)

    def _vector_register(self, name: str, register_type: str, vector: str) -> VectorBinding:
        lanes = int(vector[1:])
        return vector_binding(name, register_type, self._slots(name, register_type, lanes), lanes)

    def _slots(self, name: str, register_type: str, count: int = 1) -> int:
        """Allocate `count` slots for a declared register and return the first slot."""
        if not is_type(register_type):
            raise ProgramError(f"unknown type .{register_type} of register {name}")
        return self._numbers.new_slots(count)

    def _registers(self, declaration: RegisterDeclaration, scope: Scope) -> None:
        for declared in declaration.names:
            name, count, vector = declared.name, declared.count, declaration.vector
            if count is not None:
                lanes = 0 if vector is None else int(vector[1:])
                first = self._slots(name, declaration.type, count * (lanes or 1))
                scope.bind_range(name, count, first, declaration.type, lanes)
            elif vector is not None:
                scope.bind(name, self._vector_register(name, declaration.type, vector))
            else:
                scope.bind(name, self._register(name, declaration.type))

    def _variables(self, variable: Variable, scope: Scope) -> None:
        if _is_static(variable):
            self.static_variables.append((variable, scope))
            return
        space = variable.space.partition("::")[0]
        for declarator in numbered(variable):
            scope.bind(declarator.name, self._variable(variable, declarator, space))

    def _variable(self, variable: Variable, declarator: Declarator, space: str) -> Binding:
        shape = variable_shape(variable, declarator)
        if space == "param":
            return self._param_variable(declarator.name, shape)
        if space == "local":
            return self._frame.place(declarator.name, shape)
        return self._shared.place(declarator.name, shape, dynamic=variable.linking == "extern")

    # --- statements -----------------------------------------------------------------------------

    def _block(self, block: Block, scope: Scope) -> None:
        self._declare(block, scope)
        for statement in block.body:
            match statement:
                case Instruction():
                    self._instruction(statement, scope)
                case Label():
                    self._place_label(scope.find(statement.name))
                case Block():
                    self._block(statement, Scope(scope))
                case Pragma(values=values):
                    with Declaring(statement):
                        self._used_bytes = _used_bytes(values)
                case _:
                    pass

    def _declare(self, block: Block, scope: Scope) -> None:
        label: str | None = None
        for statement in block.body:
            match statement:
                case Label():
                    scope.bind(statement.name, self._numbers.new_label())
                case RegisterDeclaration() | Variable() | BranchTargets() | CallTargets() | CallPrototype():
                    with Declaring(statement):
                        self._declare_one(statement, label, scope)
                case _:
                    pass
            label = statement.name if isinstance(statement, Label) else None

    def _declare_one(self, statement: Statement, label: str | None, scope: Scope) -> None:
        match statement:
            case RegisterDeclaration():
                self._registers(statement, scope)
            case Variable():
                self._variables(statement, scope)
            case _:
                self._declare_list(statement, label, scope)

    @staticmethod
    def _declare_list(statement: Statement, label: str | None, scope: Scope) -> None:
        """Bind `label`, which precedes a `.branchtargets`, `.calltargets` or `.callprototype`, to the declaration."""
        if label is None:
            return
        match statement:
            case BranchTargets(targets=names) | CallTargets(targets=names):
                scope.bind(label, TargetsBinding(tuple(each for name in names for each in _targets(name))))
            case CallPrototype():
                scope.bind(label, PrototypeBinding())
            case _:
                pass

    def _place_label(self, binding: Binding | None) -> None:
        if isinstance(binding, LabelBinding):
            self._numbers.label_pcs[binding.key] = len(self._numbers.sites)

    def _instruction(self, instruction: Instruction, scope: Scope) -> None:
        ordinal = self._ordinal
        self._ordinal += 1
        guard, opcode = instruction.guard, instruction.opcode
        plain = guard is None or opcode[0] == "bra" or not (ends_block(opcode) or is_gate(opcode))
        if plain or guard is None:
            self._emit(instruction, scope, ordinal)
            return
        self._guarded(instruction, guard, scope, ordinal)

    def _guarded(self, instruction: Instruction, guard: Guard, scope: Scope, ordinal: int) -> None:
        """Emit `@!p bra after; instruction; after:`, so that only branches need guards."""
        after = self._numbers.new_label()
        name = f"%after{after.key}"
        around = Scope(scope)
        around.bind(name, after)
        skip = Guard(guard.register, not guard.negated)
        self._emit(Instruction(opcode=("bra",), operands=(Symbol(name),), guard=skip), around, ordinal)
        self._emit(replace(instruction, guard=None, raw=None), scope, ordinal)
        self._place_label(after)

    def _emit(self, instruction: Instruction, scope: Scope, ordinal: int) -> None:
        sites = self._numbers.sites
        sites.append(Site(len(sites), instruction, scope, self._function.name, ordinal, self._used_bytes))
        self._used_bytes = ALL_BYTES


def _targets(name: str) -> Iterable[str]:
    """Return the labels of an entry of a `.branchtargets` list: `L<3>` is L0, L1 and L2."""
    stem, counted, count = name.partition("<")
    return numbered_names(stem, integer(count.rstrip(">"))) if counted else (name,)


def static_variables(function: Function) -> Iterator[Variable]:
    """Yield the variables of a function with the lifetime of the module, in the order of lowering."""
    blocks = [] if function.body is None else [function.body]
    while blocks:
        block = blocks.pop()
        yield from (each for each in block.body if isinstance(each, Variable) and _is_static(each))
        blocks += reversed([each for each in block.body if isinstance(each, Block)])


def _is_static(variable: Variable) -> bool:
    return variable.space.partition("::")[0] not in {"local", "param", "shared"}


def _used_bytes(pragmas: tuple[str, ...]) -> int:
    """Return the mask of bytes used after the next load, from its `used_bytes_mask` pragma; all bytes without one."""
    for words in (pragma.split() for pragma in pragmas):
        if len(words) == 2 and words[0] == "used_bytes_mask":
            return int(parse_literal(words[1]))
    return ALL_BYTES
