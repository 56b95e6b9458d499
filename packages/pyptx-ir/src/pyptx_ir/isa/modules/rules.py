"""Every rule of `pyptx check`: which statements it looks at, and the function that does.

What a rule may report, and how bad it is, stands in `codes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyptx_ir.isa.modules import (
    calls,
    declarations,
    directives,
    flow,
    functions,
    header,
    instructions,
    parameters,
    register_budget,
)
from pyptx_ir.syntax.nodes import (
    AddressSize,
    Alias,
    BranchTargets,
    CallPrototype,
    CallTargets,
    Directive,
    File,
    Function,
    Instruction,
    Invalid,
    Label,
    Loc,
    Pragma,
    RegisterDeclaration,
    Section,
    Statement,
    Target,
    Variable,
    Version,
)

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Rule:
    """A check of one kind of statement, or of the instructions that begin with one of `opcodes`."""

    on: tuple[type[Statement], ...]
    check: Callable[[Any, Any], None]
    opcodes: tuple[str, ...] = ()


_WITH_DIRECTIVES = (
    AddressSize,
    Alias,
    BranchTargets,
    CallPrototype,
    CallTargets,
    Directive,
    File,
    Function,
    Loc,
    Pragma,
    RegisterDeclaration,
    Section,
    Variable,
)

# In the order in which they are applied to a statement: a name is looked up before it is declared.
RULES: tuple[Rule, ...] = (
    Rule((Version, Target, AddressSize), header.late),
    Rule(_WITH_DIRECTIVES, directives.directive),
    Rule((Function,), directives.header),
    Rule((Function,), functions.function),
    Rule((Alias,), functions.alias),
    Rule((RegisterDeclaration,), declarations.registers),
    Rule((Variable,), declarations.variable),
    Rule((Label,), declarations.label),
    Rule((BranchTargets, CallTargets, CallPrototype), declarations.targets),
    Rule((Invalid,), declarations.unreadable),
    Rule((Label, Loc, Invalid), flow.reached),
    Rule((Instruction,), flow.instruction),
    Rule((Instruction,), instructions.instruction),
    Rule((Instruction,), calls.call, opcodes=("call",)),
    Rule((Instruction,), parameters.access, opcodes=("ld", "st")),
    Rule((Instruction,), register_budget.setmaxnreg, opcodes=("setmaxnreg",)),
)
