"""Parameters of prototypes, which ptxas checks less strictly than those of functions.

Measured on ptxas 13.5 and 13.0. Manual: "Kernel and Function Directives: .callprototype".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.modules.opaque_fields import OPAQUE
from pyptx_ir.isa.modules.sizes import plain_number, value_of
from pyptx_ir.isa.scalar_types import HELD_BY, SIZES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import CallPrototype, Parameter

# Formats that are not types of parameters; registers of other types hold them.
_FORMATS = frozenset({"bf16", "bf16x2", "tf32"})
_MOST_VECTOR_BITS = 128
_WORD = (1 << 32) - 1


def prototype(walk: Walk, node: CallPrototype) -> None:
    """Check the parameters of a prototype."""
    inputs = node.parameters or ()
    in_entry = walk.routine is not None and walk.routine.node.kind == "entry"
    for number, parameter in enumerate((*node.returns, *inputs), 1 - len(node.returns)):
        fault = next(_faults(parameter, is_result=number < 1, is_last=0 < number == len(inputs)), None)
        if fault is None and not in_entry:
            fault = _fault_outside_entries(parameter)
        if fault is not None:
            walk.report(Finding("declaration", *fault, word=f".{parameter.type}"))
    if len(node.returns) > 1 and any(parameter.space == "param" for parameter in node.returns):
        message, help = "a function returns several values in registers alone", "return one array"
        walk.report(Finding("declaration", message, help, word=f".{node.returns[1].type}"))


def _fault_outside_entries(parameter: Parameter) -> tuple[str, str] | None:
    """Return the fault of a parameter that prototypes allow only in bodies of entries."""
    if parameter.type in OPAQUE:
        return f".{parameter.type} is a type of an entry's parameters", "pass a .u64 handle"
    if parameter.pointer is not None:
        return ".ptr goes with the parameters of entries", "remove it, and the words after it"
    return None


def _faults(parameter: Parameter, *, is_result: bool, is_last: bool) -> Iterator[tuple[str, str]]:
    """Yield message and hint for each fault of a parameter; only the first is reported."""
    name, alignment = parameter.type, parameter.alignment
    if parameter.space not in ("param", "reg"):
        yield f"a parameter lies in .param space or a register, not in .{parameter.space}", "declare it .param"
    if not parameter.name:
        yield "a parameter without a name is called _", f"write .{name} _"
    if name in _FORMATS:
        yield f".{name} is no type of parameters", f"declare it .{HELD_BY[name][0]}"
    if name == "pred" and parameter.dimensions:
        yield "predicates are single registers", "declare it .b32"
    if parameter.vector and not 0 < SIZES.get(name, 0) * int(parameter.vector[1:]) <= _MOST_VECTOR_BITS:
        yield f"no parameter is a .{parameter.vector} of .{name}", "declare an array, aligned as the vector is"
    if alignment is not None and (not 0 < alignment <= _WORD or alignment & (alignment - 1)):
        yield f"an alignment is a power of two, not {alignment}", "correct it"
    if len(parameter.dimensions) > 1:
        yield "a parameter has one dimension", "declare it with the product of the dimensions"
    if is_result and parameter.dimensions and value_of(parameter.dimensions[0]) == 0:
        yield "a result must not be an array of 0 bytes", "give it a size"
    numbers = [plain_number(size) for size in parameter.dimensions if size is not None]
    if any(number is None for number in numbers):
        yield "the size of an array is a plain number", "write the number, without a sign and operators"
    if any((number or 0) > _WORD for number in numbers):
        yield "the size of a parameter is a number of 32 bits", "pass a pointer to a buffer instead"
    if None in parameter.dimensions and not is_last:
        yield "only the last parameter may be an array without a size", "give it a size"
