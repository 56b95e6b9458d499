"""Python names of functions in a printed file, and of the parameters of a body function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.syntax import nodes
from pyptx_transpile.printing.layout import Expression, call

if TYPE_CHECKING:
    from pyptx_transpile.reading.names import Naming, Registers, Symbols
    from pyptx_transpile.reading.rows import Row


def definition(name: str, node: nodes.Function, registers: Registers) -> Expression:
    """Return the `def` line of the Python function for a PTX body; record its parameters' variables in `registers`.

    Return parameters come first, as in PTX. Parameters named after the function and their index are one variadic
    parameter: `def scale(*params: str)`.
    """
    given = node.parameters or ()
    arguments: list[Expression] = [_named(each, node, registers) for each in node.returns]
    if given and all(each.name == f"{node.name}_param_{number}" for number, each in enumerate(given)):
        sequence = registers.variable("params")
        arguments.append(f"*{sequence}: str")
        for number, each in enumerate(given):
            registers.hold(each.name, f"{sequence}[{number}]")
    else:
        arguments += [_named(each, node, registers) for each in given]
    return call(f"def {name}", arguments)


def _named(each: nodes.Parameter, node: nodes.Function, registers: Registers) -> str:
    wanted = each.name.removeprefix(f"{node.name}_")
    return f"{registers.declare(each.name, None, wanted=wanted)}: str"


def declared_functions(row: Row, symbols: Symbols, kernel_name: str | None, naming: Naming) -> dict[int, str]:
    """Return the functions' Python names by index in `Row.items`; `kernel_name` is the name of the first kernel.

    Adds to `symbols` these names, and the names of variables and of functions defined elsewhere.
    """
    found: dict[int, str] = {}
    kernels = sum(item.name == ".entry" and item.kind == "Function" for item in row.items)
    for at, item in enumerate(row.items):
        if isinstance(item.node, nodes.Function) and item.node.body is not None:
            wanted = naming.of(item.node.name)
            if kernel_name is not None and item.name == ".entry":
                wanted, kernel_name = kernel_name, None
            only = kernels == 1 and item.name == ".entry"
            found[at] = symbols.declare(item.node.name, at, wanted, only=only)
    for at, item in enumerate(row.items):
        match item.node:
            case nodes.Function(name=name, body=None):
                symbols.declare(name, at, naming.of(name))
            case nodes.Variable(declarators=(nodes.Declarator(name=name, count=None), *_)) if item.depth == 0:
                symbols.declare(name, at, naming.of(name))
            case _:
                pass
    return found
