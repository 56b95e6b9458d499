"""Invalid declarations in a state space: types, vectors, alignments, unsized arrays. Measured on ptxas 13.5.

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
_MOST_ALIGNMENT = 128  # of a function's parameter
_WORD = (1 << 32) - 1
_ONE = Immediate("1")
_VECTORS = (None, "v2", "v4")  # .v8 is only a length of loads and stores


class _Declared(NamedTuple):
    """Properties of a declaration that the rules below check; a cache key, because most declarations repeat."""

    space: str
    type: str
    vector: str | None
    alignment: int | None
    at_top: bool = False  # in the module, or in the header of an entry
    dimensions: tuple[Operand | None, ...] = ()


class _InHeader(NamedTuple):
    """Further properties of a parameter that the rules check; `named` is `_`, empty, or some name."""

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
            message = f"the number of registers of '{name.name}' is one of 32 bits"
            walk.report(Finding("declaration", message, "declare as many as the function uses", word=name.name))


def variable(walk: Walk, node: Variable) -> None:
    """Check the type of a variable, and that its size is known unless it is external."""
    space = node.space.partition("::")[0].partition("[")[0]
    for entry in node.declarators:
        declared = _Declared(space, node.type, node.vector, node.alignment, walk.routine is None, entry.dimensions)
        _report(walk, _fault(declared), f".{node.type}")
        if node.linking != "extern" and _is_incomplete(entry.dimensions, initialized=entry.initializer is not None):
            message = f"the size of '{entry.name}' is not known"
            help = "give it a size, or an initialiser; only what is .extern may do without"
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
        message = f"'{node.name}' returns several values; only registers can be several"
        help = "return one array, and let the caller take it apart"
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
    """Yield message and hint for each fault of a parameter apart from its type; only the first is reported."""
    is_entry, is_result, space, named, dimensions, pointer, is_last = parameter
    if is_entry and space != "param":
        yield "the parameters of an entry are in .param space", "declare it .param, and load it with ld.param"
    if space not in ("param", "reg"):
        yield f"a parameter lies in .param space or a register, not in .{space}", "declare it .param"
    if not named or (named == "_" and not is_entry):
        yield "a parameter needs a name; only prototypes do without", "name it"
    if space == "reg" and dimensions:
        yield "a register is no array", "declare it .param"
    if len(dimensions) > 1:
        yield "a parameter has one dimension", "declare it with the product of the dimensions"
    if None in dimensions and not is_last:
        yield "only the last parameter of a .func may be an array without a size", "give it a size"
    if (is_entry or is_result) and value_of(next(iter(dimensions), None)) == 0:
        yield "a result, or a parameter of an entry, must not be an array of 0 bytes", "give it a size"
    if any((plain_number(size) or 0) > _WORD for size in dimensions):
        yield "the size of a parameter is a number of 32 bits", "pass a pointer to a buffer instead"
    if pointer is not None and not is_entry:
        yield ".ptr goes with the parameters of an entry", "remove it, and what stands behind it"
    if pointer is not None and pointer.alignment is not None and not _is_alignment(pointer.alignment):
        yield f"an alignment is a power of two, not {pointer.alignment}", "correct it"


@lru_cache(maxsize=1 << 10)
def _fault(declared: _Declared) -> tuple[str, str] | None:
    return next(_faults(declared), None)


def _faults(declared: _Declared) -> Iterator[tuple[str, str]]:
    """Yield message and hint for each fault of a type in its space; only the first is reported."""
    name, space = declared.type, declared.space
    if name not in SIZES and name != "pred" and name not in OPAQUE:
        held = " or ".join(f".{other}" for other in HELD_BY.get(name, ("b32",)))
        yield f".{name} is no type of registers and variables", f"declare it {held}"
    if declared.alignment is not None and not _is_alignment(declared.alignment):
        yield f"an alignment is a power of two, not {declared.alignment}", "correct it"
    if name == "pred" and (space != "reg" or declared.vector):
        yield "predicates are single registers", "keep a predicate in memory as an integer: selp.u32 %r, 1, 0, %p"
    if declared.vector not in _VECTORS:
        yield f"no variable is a .{declared.vector}", "declare an array, aligned as the vector is"
    if name in OPAQUE and declared.vector:
        yield f".{name} makes no vectors", "declare one each"
    if name in OPAQUE and space not in ("global", "param") and not declared.dimensions:
        yield f".{name} lies in .global space", "declare it .global"
    unsized = next((size for size in declared.dimensions if size is not None and plain_number(size) is None), None)
    if unsized is not None:
        yield "the size of an array is a plain number", "write the number, without a sign and operators"
    if space == "param" and not declared.at_top and (declared.alignment or 1) > _MOST_ALIGNMENT:
        yield f"a parameter of a function is aligned to {_MOST_ALIGNMENT} bytes at most", "lower the alignment"
    if name in OPAQUE and not declared.at_top:
        yield f".{name} stands at the top of a module, or among the parameters of an entry", "move it up"
    size = type_bytes(name, declared.vector)
    if size is not None and declared.vector and size > _MOST_VECTOR_BYTES:
        yield (
            f".{declared.vector} .{name} is wider than {_MOST_VECTOR_BYTES} bytes",
            "take a shorter vector, or an array",
        )
    if space == "param" and declared.vector:
        yield "a parameter is no vector", "declare an array, aligned as the vector is: .align 16 .b8 x[16]"
    if space == "param" and name == "f16x2" and not declared.dimensions:
        yield "a parameter has no packed type", "declare it .b32"


def _report(walk: Walk, fault: tuple[str, str] | None, word: str) -> None:
    if fault is not None:
        walk.report(Finding("declaration", *fault, word=word))


def _is_alignment(number: int) -> bool:
    return number.bit_count() == 1 and number <= _WORD


def _is_incomplete(dimensions: Sequence[Operand | None], *, initialized: bool) -> bool:
    first, *others = dimensions or (_ONE,)
    is_open = not initialized and (first is None or value_of(first) == 0)
    return is_open or any((size is None and not initialized) or value_of(size) == 0 for size in others)
