"""What the Python function of a body is called with: the names of its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_transpile.layout import Expression, call

if TYPE_CHECKING:
    from pyptx_ir.syntax import nodes
    from pyptx_transpile.names import Registers


def definition(name: str, node: nodes.Function, registers: Registers) -> Expression:
    """Return the `def` of a function, and let `registers` know what holds the names of its parameters.

    What is returned comes first, as in PTX. Parameters that are named after the function and their number are one
    sequence: `def scale(*params: str)`.
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
