"""Every rule of `pyptx check`: which statements it looks at, and the function that does.

What a rule may report, and how bad it is, stands in `codes`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
    from collections.abc import Callable, Iterable, Mapping


@dataclass(frozen=True, slots=True)
class Rule:
    """A check: of some kinds of statements, or of the instructions that begin with one of `opcodes` and are sound.

    `codes` are all that it may report.
    """

    codes: frozenset[str]
    on: tuple[type[Statement], ...]
    check: Callable[[Any, Any], None]
    opcodes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Checks:
    """What is asked of a statement by its kind, and of a sound instruction by its first word; rules in their order."""

    by_kind: Mapping[type[Statement], tuple[Callable[[Any, Any], None], ...]]
    by_opcode: Mapping[str, tuple[Callable[[Any, Any], None], ...]]


def checks_of(rules: Iterable[Rule]) -> Checks:
    """Return the checks of some rules."""
    by_kind: defaultdict[type[Statement], list[Callable[[Any, Any], None]]] = defaultdict(list)
    by_opcode: defaultdict[str, list[Callable[[Any, Any], None]]] = defaultdict(list)
    for rule in rules:
        for opcode in rule.opcodes:
            by_opcode[opcode].append(rule.check)
        for kind in () if rule.opcodes else rule.on:
            by_kind[kind].append(rule.check)
    return Checks(
        {kind: tuple(checks) for kind, checks in by_kind.items()},
        {opcode: tuple(checks) for opcode, checks in by_opcode.items()},
    )


def _rule(codes: str, on: tuple[type[Statement], ...], check: Callable[[Any, Any], None], *opcodes: str) -> Rule:
    return Rule(frozenset(codes.split()), on, check, opcodes)


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

# In the order in which they are applied to a statement: a name is looked up before it is declared. What looks at a
# module as a whole, its header, its limits and its granularity, is called by `check`.
RULES: tuple[Rule, ...] = (
    _rule("misplaced-directive", (Version, Target, AddressSize), header.late),
    _rule("outside-function", (Label, Block, Loc), placement.in_function),
    _rule("misplaced-directive redefined-file", (File, Section), placement.at_top),
    _rule("section-data redefined-label", (Section,), sections.data),
    _rule("misplaced-directive", (Directive,), placement.between),
    _rule("directive-argument", (Pragma,), placement.pragma),
    _rule("empty-statement", (Empty,), placement.empty),
    _rule(_EARLY, _WITH_DIRECTIVES, directives.directive),
    _rule(
        "misplaced-directive directive-argument directive-conflict ignored-directive", (Function,), directives.header
    ),
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
    _rule("parameter-write parameter-bounds parameter-alignment", (Instruction,), parameters.access, "ld", "st"),
    _rule("operand-kind", (Instruction,), texture_modes.fetch, "tex", "tld4"),
    _rule("operand-kind", (Instruction,), texture_modes.query, "txq"),
    _rule("", (Instruction,), cta_groups.note, "tcgen05"),
    _rule("ignored-setmaxnreg", (Instruction,), register_budget.setmaxnreg, "setmaxnreg"),
)
CHECKS = checks_of(RULES)
