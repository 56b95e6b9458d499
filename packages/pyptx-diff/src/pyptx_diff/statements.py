"""Shape (content without names) of a statement other than an instruction: one case per class of statement."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_diff.shapes import Shape, shape_of
from pyptx_ir.syntax.nodes import (
    Alias,
    BranchTargets,
    CallPrototype,
    CallTargets,
    Directive,
    Function,
    HeaderDirective,
    Label,
    Loc,
    Parameter,
    SectionData,
    Statement,
    Variable,
)
from pyptx_ir.syntax.spelling import spell

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.syntax.nodes import Attribute, Declarator
    from pyptx_ir.syntax.operands import Operand

_RANGE = re.compile(r"(.+)<([0-9]+)>")


def statement_shape(node: Statement, names: list[str]) -> Shape:
    """Return a statement's shape without names; append the names. Not for instructions, variables and functions."""
    match node:
        case Label(name):
            names.append(name)
            return "label"
        case BranchTargets(targets) | CallTargets(targets):
            names += (name for target in targets for name in _targets(target))
            return (node.__class__.__name__, len(names))
        case CallPrototype(parameters, returns, directives):
            listed = [[parameter_shape(one, names) for one in group] for group in (returns, parameters or ())]
            return ("callprototype", *map(tuple, listed), *(directive_shape(one, names) for one in directives))
        case Alias(name, aliasee):
            names += (name, aliasee)
            return "alias"
        case SectionData(kind, values):
            return ("data", kind, *(shape_of(one, names) for one in values))
        case Directive(name, arguments):
            return (name, *_arguments(arguments, names))
        case Loc(file, line, column, tail):
            if tail is not None:
                names.append(tail.function_label)
            inlined = None if tail is None else (tail.offset, tail.file, tail.line, tail.column)
            return ("loc", file, line, column, inlined)
        case _:
            return ("text", spell(node))


def _targets(target: str) -> Iterable[str]:
    found = _RANGE.fullmatch(target)
    return (target,) if found is None else (f"{found[1]}{number}" for number in range(int(found[2])))


def function_shape(node: Function, names: list[str]) -> Shape:
    """Return the part of a function's shape that does not depend on its name, parameters, directives and body."""
    return (node.kind, node.linking, node.body is None, *(_attribute(one, names) for one in node.attributes))


def parameter_shape(node: Parameter, names: list[str]) -> Shape:
    """Return a hashable value that is equal for parameters that differ only in names; append these names."""
    pointer = None if node.pointer is None else (node.pointer.space, node.pointer.alignment)
    return (
        *(node.space, node.type, node.vector, node.alignment, pointer),
        _dimensions(node.dimensions, names),
        *(_attribute(one, names) for one in node.attributes),
    )


def directive_shape(node: HeaderDirective, names: list[str]) -> Shape:
    """Return a hashable value that is equal for header directives that differ only in names; append these names."""
    return (node.name, *_arguments(node.arguments, names))


def variable_shape(node: Variable, one: Declarator, names: list[str]) -> Shape:
    """Return a hashable value that is equal for variables that differ only in names; append names in initializers."""
    return (
        *("variable", node.space, node.type, node.linking, node.alignment, node.vector, one.count),
        tuple([_attribute(each, names) for each in node.attributes]),
        _dimensions(one.dimensions, names),
        None if one.initializer is None else shape_of(one.initializer, names),
    )


def _attribute(attribute: Attribute, names: list[str]) -> Shape:
    return (attribute.name, *(shape_of(one, names) for one in attribute.arguments))


def _arguments(arguments: Iterable[Operand | str], names: list[str]) -> list[Shape]:
    return [("text", one) if isinstance(one, str) else shape_of(one, names) for one in arguments]


def _dimensions(dimensions: Iterable[Operand | None], names: list[str]) -> Shape:
    return tuple([None if one is None else shape_of(one, names) for one in dimensions])
