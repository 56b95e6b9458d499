"""Check parameters of prototypes, which ptxas checks less strictly than parameters of functions.

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

# Number formats that parameters cannot have as their type; registers of other types hold such numbers.
_FORMATS = frozenset({"bf16", "bf16x2", "tf32"})
_MOST_VECTOR_BITS = 128
_WORD = (1 << 32) - 1


def prototype(walk: Walk, node: CallPrototype) -> None:
    """Check the parameters of a `.callprototype`."""
    inputs = node.parameters or ()
    in_entry = walk.routine is not None and walk.routine.node.kind == "entry"
    for number, parameter in enumerate((*node.returns, *inputs), 1 - len(node.returns)):
        fault = next(_faults(parameter, is_result=number < 1, is_last=0 < number == len(inputs)), None)
        if fault is None and not in_entry:
            fault = _fault_outside_entries(parameter)
        if fault is not None:
            walk.report(Finding("declaration", *fault, word=f".{parameter.type}"))
    if len(node.returns) > 1 and any(parameter.space == "param" for parameter in node.returns):
        message, help = "several return values in .param space: only .reg values can be several", "return one array"
        walk.report(Finding("declaration", message, help, word=f".{node.returns[1].type}"))


def _fault_outside_entries(parameter: Parameter) -> tuple[str, str] | None:
    """Return the fault of a parameter that is valid only in a prototype in the body of an entry."""
    if parameter.type in OPAQUE:
        return f".{parameter.type} is allowed only for entry parameters", "pass a .u64 handle"
    if parameter.pointer is not None:
        return ".ptr is allowed only on entry parameters", "remove .ptr, its state space and its .align"
    return None


def _faults(parameter: Parameter, *, is_result: bool, is_last: bool) -> Iterator[tuple[str, str]]:
    """Yield message and help for each fault of a prototype's parameter; only the first fault is reported."""
    name, alignment = parameter.type, parameter.alignment
    if parameter.space not in ("param", "reg"):
        yield f"parameter in .{parameter.space}: it must be in .param or .reg", "declare it .param"
    if not parameter.name:
        yield "parameter without a name: a .callprototype needs _", f"write .{name} _"
    if name in _FORMATS:
        yield f".{name} is not a type of parameters", f"declare it .{HELD_BY[name][0]}"
    if name == "pred" and parameter.dimensions:
        yield ".pred is allowed only for scalar registers", "declare it .b32"
    if parameter.vector and not 0 < SIZES.get(name, 0) * int(parameter.vector[1:]) <= _MOST_VECTOR_BITS:
        yield f"invalid parameter type .{parameter.vector} .{name}", "declare an array with its alignment"
    if alignment is not None and (not 0 < alignment <= _WORD or alignment & (alignment - 1)):
        yield f"alignment must be a power of two, got {alignment}", "use a power of two"
    if len(parameter.dimensions) > 1:
        count = len(parameter.dimensions)
        yield (
            f"parameter array has {count} dimensions: only one is allowed",
            "declare one dimension with the total number of elements",
        )
    if is_result and parameter.dimensions and value_of(parameter.dimensions[0]) == 0:
        yield "return value is an array of 0 bytes", "give it a size"
    numbers = [plain_number(size) for size in parameter.dimensions if size is not None]
    if any(number is None for number in numbers):
        yield "array size must be a plain number", "write the number without sign and operators"
    if any((number or 0) > _WORD for number in numbers):
        yield "parameter size exceeds 32 bits", "pass a pointer to a buffer instead"
    if None in parameter.dimensions and not is_last:
        yield "array parameter without a size: only the last parameter can omit it", "give it a size"
