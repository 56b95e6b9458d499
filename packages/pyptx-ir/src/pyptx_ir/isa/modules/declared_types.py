"""Check declarations in a state space: types, vectors, alignments, unsized arrays. Measured on ptxas 13.5.

Manual: "Types", "Vectors", "Variable Declarations", "Restricted Use of Sub-Word Sizes", "Incomplete arrays".
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.modules.opaque_fields import OPAQUE
from pyptx_ir.isa.modules.sizes import plain_number, type_bytes, value_of
from pyptx_ir.isa.scalar_types import HELD_BY, SIZES
from pyptx_ir.syntax.operands import Immediate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import Function, Pointer, RegisterDeclaration, Variable
    from pyptx_ir.syntax.operands import Operand

_MOST_VECTOR_BYTES = 16
_MOST_ALIGNMENT = 128  # maximum alignment of a function's parameter, in bytes
_WORD = (1 << 32) - 1
_ONE = Immediate("1")
_VECTORS = (None, "v2", "v4")  # declarations have no .v8, which only loads and stores have


class _Declared(NamedTuple):
    """Properties of a declaration that this module's rules check; a cache key, because most declarations recur."""

    space: str
    type: str
    vector: str | None
    alignment: int | None
    at_top: bool = False  # whether a variable is declared at module level or as a parameter of an entry
    dimensions: tuple[Operand | None, ...] = ()


class _InHeader(NamedTuple):
    """Properties of a function's parameter that `_Declared` lacks. `named` is the parameter's name, `_` or empty."""

    of_entry: bool
    is_result: bool
    space: str
    named: str
    dimensions: tuple[Operand | None, ...]
    pointer: Pointer | None
    is_last: bool


def registers(walk: Walk, node: RegisterDeclaration) -> None:
    """Check the type of a `.reg`."""
    _report(walk, _fault(_Declared("reg", node.type, node.vector, node.alignment)), f".{node.type}")
    for name in node.names:
        if (name.count or 0) > _WORD:
            message = f"register count of '{name.name}' exceeds 32 bits"
            walk.report(
                Finding("declaration", message, "declare as many registers as the function uses", word=name.name)
            )


def variable(walk: Walk, node: Variable) -> None:
    """Check the type of a variable, and that the variable's size is known unless it is `.extern`."""
    space = node.space.partition("::")[0].partition("[")[0]
    for entry in node.declarators:
        declared = _Declared(space, node.type, node.vector, node.alignment, walk.routine is None, entry.dimensions)
        _report(walk, _fault(declared), f".{node.type}")
        if node.linking != "extern" and _is_incomplete(entry.dimensions, initialized=entry.initializer is not None):
            message = f"unknown size of '{entry.name}'"
            help = "give the array a size or an initializer; only .extern variables can omit both"
            walk.report(Finding("declaration", message, help, word=entry.name))


def parameters(walk: Walk, node: Function) -> None:
    """Check the types of a function's parameters."""
    is_entry = node.kind == "entry"
    inputs = node.parameters or ()
    for parameter in (*node.returns, *inputs):
        declared = _Declared(
            parameter.space,
            parameter.type,
            parameter.vector,
            parameter.alignment,
            is_entry,
            parameter.dimensions,
        )
        _report(walk, _fault(declared), parameter.name or f".{parameter.type}")
    _report_shape(walk, node, is_entry=is_entry)
    if len(node.returns) > 1 and any(parameter.space == "param" for parameter in node.returns):
        message = f"'{node.name}' returns several values in .param space: only .reg values can be several"
        help = "return one array and unpack it in the caller"
        walk.report(Finding("declaration", message, help, word=node.returns[1].name))


def _report_shape(walk: Walk, node: Function, *, is_entry: bool) -> None:
    inputs = node.parameters or ()
    last = len(inputs) if inputs and not is_entry else 0
    for number, one in enumerate((*node.returns, *inputs), 1 - len(node.returns)):
        named = one.name if one.name in ("", "_") else "x"
        asked = _InHeader(is_entry, number < 1, one.space, named, one.dimensions, one.pointer, 0 < number == last)
        _report(walk, _fault_of_parameter(asked), one.name or f".{one.type}")


@lru_cache(maxsize=1 << 10)
def _fault_of_parameter(parameter: _InHeader) -> tuple[str, str] | None:
    return next(_faults_of_parameter(parameter), None)


def _faults_of_parameter(parameter: _InHeader) -> Iterator[tuple[str, str]]:
    """Yield message and help for each fault of a parameter apart from its type; only the first fault is reported."""
    is_entry, is_result, space, named, dimensions, pointer, is_last = parameter
    if is_entry and space != "param":
        yield (
            f"entry parameter in .{space}: it must be in .param",
            "declare the parameter .param and load it with ld.param",
        )
    if space not in ("param", "reg"):
        yield f"parameter in .{space}: it must be in .param or .reg", "declare it .param"
    if not named or (named == "_" and not is_entry):
        yield "parameter without a name: only a .callprototype allows it", "give it a name"
    if space == "reg" and dimensions:
        yield "register parameter declared as an array", "declare it .param"
    if len(dimensions) > 1:
        yield (
            f"parameter array has {len(dimensions)} dimensions: only one is allowed",
            "declare one dimension with the total number of elements",
        )
    if None in dimensions and not is_last:
        yield "array parameter without a size: only the last parameter of a .func can omit it", "give it a size"
    if (is_entry or is_result) and value_of(next(iter(dimensions), None)) == 0:
        yield f"{'return value' if is_result else 'entry parameter'} is an array of 0 bytes", "give it a size"
    if any((plain_number(size) or 0) > _WORD for size in dimensions):
        yield "parameter size exceeds 32 bits", "pass a pointer to a buffer instead"
    if pointer is not None and not is_entry:
        yield ".ptr is allowed only on entry parameters", "remove .ptr, its state space and its .align"
    if pointer is not None and pointer.alignment is not None and not _is_alignment(pointer.alignment):
        yield f"alignment must be a power of two, got {pointer.alignment}", "use a power of two"


@lru_cache(maxsize=1 << 10)
def _fault(declared: _Declared) -> tuple[str, str] | None:
    return next(_faults(declared), None)


def _faults(declared: _Declared) -> Iterator[tuple[str, str]]:
    """Yield message and help for each fault of a declared type in its space; only the first fault is reported."""
    name, space = declared.type, declared.space
    if name not in SIZES and name != "pred" and name not in OPAQUE:
        held = " or ".join(f".{other}" for other in HELD_BY.get(name, ("b32",)))
        yield f".{name} is not a type of registers or variables", f"declare it {held}"
    if declared.alignment is not None and not _is_alignment(declared.alignment):
        yield f"alignment must be a power of two, got {declared.alignment}", "use a power of two"
    if name == "pred" and (space != "reg" or declared.vector):
        yield ".pred is allowed only for scalar registers", "store the predicate as an integer: selp.u32 %r, 1, 0, %p"
    if declared.vector not in _VECTORS:
        yield f"invalid vector type .{declared.vector}: it must be .v2 or .v4", "declare an array with its alignment"
    if name in OPAQUE and declared.vector:
        yield f"vector of .{name}: opaque types have no vectors", "declare separate variables"
    if name in OPAQUE and space not in ("global", "param") and not declared.dimensions:
        yield f".{name} variable in .{space}: it must be in .global", "declare it .global"
    unsized = next((size for size in declared.dimensions if size is not None and plain_number(size) is None), None)
    if unsized is not None:
        yield "array size must be a plain number", "write the number without sign and operators"
    if space == "param" and not declared.at_top and (declared.alignment or 1) > _MOST_ALIGNMENT:
        yield f"parameter alignment {declared.alignment} exceeds {_MOST_ALIGNMENT} bytes", "lower the alignment"
    if name in OPAQUE and not declared.at_top:
        yield (
            f".{name} is allowed only at module level and as an entry parameter",
            "move the declaration to module level",
        )
    size = type_bytes(name, declared.vector)
    if size is not None and declared.vector and size > _MOST_VECTOR_BYTES:
        yield f".{declared.vector} .{name} exceeds {_MOST_VECTOR_BYTES} bytes", "use a shorter vector or an array"
    if space == "param" and declared.vector:
        yield f"parameter has the vector type .{declared.vector}", "declare an array: .align 16 .b8 x[16]"
    if space == "param" and name == "f16x2" and not declared.dimensions:
        yield "parameter has the packed type .f16x2", "declare it .b32"


def _report(walk: Walk, fault: tuple[str, str] | None, word: str) -> None:
    if fault is not None:
        walk.report(Finding("declaration", *fault, word=word))


def _is_alignment(number: int) -> bool:
    return number.bit_count() == 1 and number <= _WORD


def _is_incomplete(dimensions: Sequence[Operand | None], *, initialized: bool) -> bool:
    first, *others = dimensions or (_ONE,)
    is_open = not initialized and (first is None or value_of(first) == 0)
    return is_open or any((size is None and not initialized) or value_of(size) == 0 for size in others)
