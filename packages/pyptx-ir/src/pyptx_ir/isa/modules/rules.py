"""Built-in rules of `pyptx check`: the statements that each checks, and its function.

`codes` defines the codes and their severity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.check_rows import CheckRule
from pyptx_ir.isa.modules import (
    branches,
    calls,
    cta_groups,
    declarations,
    declared_types,
    directives,
    flow,
    functions,
    header,
    initializers,
    instructions,
    memory_limits,
    narrow_addresses,
    parameters,
    placement,
    prototypes,
    register_budget,
    sections,
    texture_modes,
)
from pyptx_ir.syntax.nodes import (
    AddressSize,
    Alias,
    Block,
    BranchTargets,
    CallPrototype,
    CallTargets,
    Directive,
    Empty,
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


def _rule(codes: str, on: tuple[type[Statement], ...], check: Callable[..., None], *opcodes: str) -> CheckRule:
    name = f"{check.__module__.rpartition('.')[2]}.{check.__name__}"
    return CheckRule(name, frozenset(codes.split()), check, on, opcodes)


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

_EARLY = "version target removed"
_TABLE = (
    "unknown-instruction modifier missing-modifier operand-count operand-kind operand-type vector-length "
    f"immediate-range address-space {_EARLY}"
)
_FORM = "modifier operand-count operand-kind"
_UNDEFINED = "undefined-register undefined-variable undefined-label undefined-function"
_LISTS = (BranchTargets, CallTargets, CallPrototype)

_MODULE = ()

# Rules of the checker in the order in which they are applied to a statement: names are looked up before the statement
# declares its names. `check` reads the module header, on which the other rules depend.
RULES: tuple[CheckRule, ...] = (
    _rule("misplaced-directive", (Version, Target, AddressSize), header.late),
    _rule("outside-function", (Label, Block, Loc), placement.in_function),
    _rule("misplaced-directive redefined-file", (File, Section), placement.at_top),
    _rule("section-data redefined-label", (Section,), sections.data),
    _rule("misplaced-directive removed", (Directive,), placement.between),
    _rule("directive-argument", (File, Pragma, Function), placement.only_ascii),
    _rule("directive-argument", (Pragma,), placement.pragma),
    _rule("directive-argument", (Pragma,), placement.pragma_value),
    _rule("misplaced-directive", (Function,), placement.pragma_of_header),
    _rule("declaration", (Function, Variable), placement.late_attribute),
    _rule("empty-statement", (Empty,), placement.empty),
    _rule(_EARLY, _WITH_DIRECTIVES, directives.directive),
    _rule(
        "misplaced-directive directive-argument directive-conflict ignored-directive", (Function,), directives.header
    ),
    _rule("misplaced-directive directive-argument directive-conflict", (CallPrototype,), directives.of_prototype),
    _rule("directive-argument", (Function, Variable), directives.attributes),
    _rule("directive-argument", (Loc, File), directives.positions),
    _rule("redefined-function redefined-variable parameter-space", (Function,), functions.function),
    _rule("undefined-function redefined-function", (Alias,), functions.alias),
    _rule("initializer undefined-variable", (Variable,), initializers.initializer),
    _rule("redefined-register misplaced-directive", (RegisterDeclaration,), declarations.registers),
    _rule("redefined-variable misplaced-directive", (Variable,), declarations.variable),
    _rule("declaration", (Function,), declared_types.parameters),
    _rule("declaration", (CallPrototype,), prototypes.prototype),
    _rule("declaration", (RegisterDeclaration,), declared_types.registers),
    _rule("declaration", (Variable,), declared_types.variable),
    _rule("directive-conflict", (Function, Variable), texture_modes.declared),
    _rule("redefined-label", (Label,), declarations.label),
    _rule("undefined-label undefined-function", _LISTS, declarations.targets),
    _rule("", (Invalid,), declarations.unreadable),
    _rule("", (Label, Loc, Invalid), flow.reached),
    _rule("unreachable", (Instruction,), flow.instruction),
    _rule(f"outside-function guard {_UNDEFINED} {_TABLE}", (Instruction,), instructions.instruction),
    _rule(f"{_FORM} call-target call-arguments call-argument", (Instruction,), calls.call, "call"),
    _rule(f"{_FORM} operand-type", (Instruction,), branches.indexed, "brx"),
    _rule("operand-type", (Instruction,), narrow_addresses.address, "mov", "cvta"),
    _rule("parameter-write parameter-bounds parameter-alignment", (Instruction,), parameters.access, "ld", "st"),
    _rule("operand-kind", (Instruction,), texture_modes.fetch, "tex", "tld4"),
    _rule("operand-kind", (Instruction,), texture_modes.query, "txq"),
    _rule("", (Instruction,), cta_groups.note, "tcgen05"),
    _rule("ignored-setmaxnreg", (Instruction,), register_budget.setmaxnreg, "setmaxnreg"),
    _rule("undefined-function", _MODULE, functions.undefined),
    _rule("call-argument", _MODULE, calls.narrow),
    _rule("shared-memory", _MODULE, memory_limits.shared_limits),
    _rule("constant-memory", _MODULE, memory_limits.constant_limit),
    _rule("cta-group", _MODULE, cta_groups.one_granularity),
)
