"""Printing of PTX declarations as Python calls: variables, parameters, functions and registers."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from pyptx_dsl.modules.compression import compress
from pyptx_dsl.types import BY_NAME
from pyptx_ir.syntax import nodes, spell
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.printing.layout import Expression, Group, Text, call, keyword, listed
from pyptx_transpile.printing.values import WHOLE, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Maximum elements of an initializer that is printed as a list, and of one that is printed as text.
_LONGEST_LIST, _LONGEST = 16, 256
_COLUMNS = 100
# Maximum characters of a parameter list printed without compression; minimum consecutive equal parameter types printed
# as `[type] * count`.
_LONG, _ALIKE = 60, 3
_LINES = re.compile(r".{1,99}(?:, |\Z)|.+?(?:, |\Z)", re.DOTALL)


def constant(operand: tree.Operand | str | None) -> Expression:
    """Return the Python expression for a constant in a declaration; an array dimension without size is 0."""
    match operand:
        case None:
            return "0"
        case str():
            return quoted(f'"{operand}"')
        case tree.Immediate(text) if WHOLE.match(text):
            return text
        case tree.Vector(elements) if elements and all(_is_field(each) for each in elements):
            return Group("{", tuple(map(_field, elements)), "}")
        case tree.Vector(elements):
            return listed([constant(each) for each in elements])
        case _:
            return quoted(spell(operand))


def _is_field(operand: tree.Operand) -> bool:
    return isinstance(operand, tree.Binary) and operand.op == "="


def _field(operand: tree.Operand) -> Expression:
    if not isinstance(operand, tree.Binary):
        raise TypeError(f"{operand!r} is not a field of an opaque type")
    return keyword(quoted(spell(operand.left)), constant(operand.right), sign=": ")


def kind(name: str) -> str:
    """Return the Python expression for a PTX type: its name in `pyptx.types`, else a string."""
    return name if name in BY_NAME else quoted(name)


def texts(values: Iterable[str]) -> list[Expression]:
    """Return strings as quoted Python arguments."""
    return [quoted(value) for value in values]


def variable(node: nodes.Variable, *, of_module: bool) -> list[Expression]:
    """Return the arguments of `module.var` or `ptx.var` for a variable declaration."""
    first, *others = node.declarators
    name, dtype = quoted(first.name), kind(node.type)
    arguments: list[Expression] = [quoted(node.space), *((name, dtype) if of_module else (dtype, name))]
    if first.dimensions:
        arguments.append(size(first) if of_module else keyword("size", size(first)))
    if first.initializer is not None:
        arguments.append(keyword("init", initializer(first.initializer)))
    arguments += _given(
        align=node.alignment, linking=node.linking, count=first.count, vector=node.vector and int(node.vector[1:])
    )
    arguments += attributes(node.attributes)
    if others:
        owner = "module" if of_module else "ptx"
        arguments.append(keyword("also", listed([_declarator(each, owner) for each in others])))
    return arguments


def _declarator(node: nodes.Declarator, owner: str) -> Group:
    arguments: list[Expression] = [quoted(node.name)]
    if node.dimensions:
        arguments.append(size(node))
    if node.initializer is not None:
        arguments.append(keyword("init", initializer(node.initializer)))
    return call(f"{owner}.declarator", [*arguments, *_given(count=node.count)])


def initializer(operand: tree.Operand) -> Expression:
    """Return the Python expression for an initializer: a list, or its PTX text if long, compressed if longer."""
    count = _count(operand)
    if count > _LONGEST:
        return compressed_text(spell(operand))
    if count <= _LONGEST_LIST:
        return constant(operand)
    whole = quoted(spell(operand))
    return Text("", whole, tuple(_pieces(spell(operand))))


def _count(operand: tree.Operand) -> int:
    return sum(map(_count, operand.elements)) if isinstance(operand, tree.Vector) else 1


def _pieces(text: str) -> Iterator[str]:
    """Yield string literals that together are the text of an initializer list; each ends after a comma."""
    yield from (quoted(line) for line in _LINES.findall(text))


def compressed_text(text: str) -> Expression:
    """Return the Python call that decompresses a long text."""
    packed = compress(text)
    pieces = tuple([f'"{packed[at : at + _COLUMNS]}"' for at in range(0, len(packed), _COLUMNS)])
    if len(pieces) == 1:
        return call("pyptx.decompress", pieces)
    return Text("pyptx.decompress", f'("{packed}")', pieces)


def size(node: nodes.Declarator | nodes.Parameter) -> Expression:
    """Return the dimensions of an array as a Python expression."""
    dimensions = [constant(each) for each in node.dimensions]
    if len(dimensions) == 1:
        return dimensions[0]
    return Group("(", tuple(dimensions), ")")


def function(node: nodes.Function) -> list[Expression]:
    """Return the arguments of `module.declare` after the function's name."""
    arguments = parameters(node, "module.param", returns=node.kind == "func" or node.body is None)
    return [*arguments, *_given(linking=node.linking), *attributes(node.attributes)]


def parameters(node: nodes.Function | nodes.CallPrototype, maker: str, *, returns: bool = True) -> list[Expression]:
    """Return the parameters, return parameters and directives of a function header."""
    arguments: list[Expression] = []
    name = node.name if isinstance(node, nodes.Function) else ""
    if node.parameters is None:
        arguments.append("None")
    elif node.parameters or (returns and node.returns):
        arguments.append(_listed(node.parameters, maker, f"{name}_param_"))
    if returns and node.returns:
        arguments.append(_listed(node.returns, maker, "func_retval" if name else ""))
    return [*arguments, *_directives(node.directives)]


def _listed(given: tuple[nodes.Parameter, ...], maker: str, stem: str) -> Group:
    """Return the Python list of a function's parameters. Names that consist of `stem` and the index are omitted.

    In a long list, equal parameters are printed as a product: `[*[u64] * 12, u32]`.
    """
    rows = [parameter(each, maker, usual=each.name == f"{stem}{number}") for number, each in enumerate(given)]
    if len(", ".join(map(str, rows))) <= _LONG:
        return listed(rows)
    runs = [list(run) for _, run in groupby(rows, key=str)]
    if len(runs) == 1:
        return Group("[", (rows[0],), f"] * {len(rows)}")
    return listed(
        [each for run in runs for each in ([f"*[{run[0]}] * {len(run)}"] if len(run) >= _ALIKE else run)],
    )


def _directives(given: tuple[nodes.HeaderDirective, ...]) -> list[Expression]:
    """Return a header's directives as keyword arguments, or as (name, values) pairs if a directive occurs twice."""
    if len({each.name for each in given}) == len(given):
        return [keyword(each.name, _value(each)) for each in given]
    return [keyword("directives", listed([Group("(", (quoted(each.name), _value(each)), ")") for each in given]))]


def _value(node: nodes.HeaderDirective) -> Expression:
    """Return the argument values of a header directive as a Python expression; `True` if it has none."""
    rows = [quoted(each) if isinstance(each, str) else constant(each) for each in node.arguments]
    return "True" if not rows else rows[0] if len(rows) == 1 else Group("(", tuple(rows), ")")


def parameter(node: nodes.Parameter, maker: str, *, usual: bool) -> Expression:
    """Return the call that declares a parameter; its type alone if its name is `usual` and it has no other property."""
    arguments: list[Expression] = ["..." if usual else quoted(node.name), kind(node.type)]
    if node.dimensions:
        arguments.append(size(node))
    if node.pointer is not None:
        arguments += _given(ptr=node.pointer.space or True, ptr_align=node.pointer.alignment)
    vector = node.vector and int(node.vector[1:])
    arguments += _given(align=node.alignment, vector=vector, space=None if node.space == "param" else node.space)
    arguments += attributes(node.attributes)
    if usual and len(arguments) == len(("name", "type")) and node.type in BY_NAME:
        return arguments[1]
    return call(maker, arguments)


def attributes(given: tuple[nodes.Attribute, ...]) -> list[Expression]:
    """Return the keyword argument for `.attribute(…)`; an empty list without attributes."""
    rows = [
        Group("(", (quoted(each.name), *map(constant, each.arguments)), ")") if each.arguments else quoted(each.name)
        for each in given
    ]
    return [keyword("attributes", listed(rows))] if rows else []


def _given(**values: object) -> list[Expression]:
    """Return keyword arguments for those values that are not None."""
    given = {name: value for name, value in values.items() if value is not None}
    return [f"{name}={quoted(value) if isinstance(value, str) else value}" for name, value in given.items()]
