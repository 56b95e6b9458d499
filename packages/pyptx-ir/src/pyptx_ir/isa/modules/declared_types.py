"""Declarations that a state space can't hold: types, vectors, alignments, arrays without a size. Asked of ptxas 13.5.

Manual: "Types", "Vectors", "Variable Declarations", "Restricted Use of Sub-Word Sizes", "Incomplete arrays".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.modules.sizes import type_bytes, value_of
from pyptx_ir.isa.scalar_types import HELD_BY, SIZES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import Function, RegisterDeclaration, Variable
    from pyptx_ir.syntax.operands import Operand

_OPAQUE = frozenset({"texref", "samplerref", "surfref"})
_MOST_VECTOR_BYTES = 16
_MOST_ALIGNMENT = 128  # of a function's parameter


@dataclass(frozen=True, slots=True)
class _Declared:
    """What the rules below ask of any declaration."""

    space: str
    type: str
    vector: str | None
    alignment: int | None
    at_top: bool = False  # of the module, or in the header of an entry
    is_array: bool = False


def registers(walk: Walk, node: RegisterDeclaration) -> None:
    """Check the type of a `.reg`."""
    _report(walk, _faults(_Declared("reg", node.type, node.vector, node.alignment)), f".{node.type}")


def variable(walk: Walk, node: Variable) -> None:
    """Check the type of a variable, and that its size is known unless it is external."""
    space = node.space.partition("::")[0].partition("[")[0]
    for entry in node.declarators:
        declared = _Declared(
            space, node.type, node.vector, node.alignment, walk.routine is None, bool(entry.dimensions)
        )
        _report(walk, _faults(declared), f".{node.type}")
        if node.linking != "extern" and _is_incomplete(entry.dimensions, initialized=entry.initializer is not None):
            message = f"the size of '{entry.name}' is not known"
            hint = "give it a size, or an initialiser; only what is .extern may do without"
            walk.report(Finding("declaration", message, hint, word=entry.name))


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
            bool(parameter.dimensions),
        )
        _report(walk, _faults(declared), parameter.name or f".{parameter.type}")
    _report_shape(walk, node, is_entry=is_entry)
    if len(node.returns) > 1 and any(parameter.space == "param" for parameter in node.returns):
        message = f"'{node.name}' returns several values; only registers can be several"
        hint = "return one array, and let the caller take it apart"
        walk.report(Finding("declaration", message, hint, word=node.returns[1].name))


def _report_shape(walk: Walk, node: Function, *, is_entry: bool) -> None:
    inputs = node.parameters or ()
    for i, parameter in enumerate(inputs):
        word = parameter.name or f".{parameter.type}"
        if is_entry and parameter.space == "reg":
            hint = "declare it .param, and load it with ld.param"
            walk.report(Finding("declaration", "the parameters of an entry are in .param space", hint, word=word))
        if None in parameter.dimensions and (is_entry or i + 1 < len(inputs)):
            message = "only the last parameter of a .func may be an array without a size"
            walk.report(Finding("declaration", message, "give it a size", word=word))
        if not is_entry and (parameter.alignment or 1) > _MOST_ALIGNMENT:
            message = f"a parameter of a function is aligned to {_MOST_ALIGNMENT} bytes at most"
            walk.report(Finding("declaration", message, "lower the alignment", word=word))


def _faults(declared: _Declared) -> Iterator[tuple[str, str]]:
    """Yield message and hint of all that is wrong with a type where it is; the first is reported."""
    name, space = declared.type, declared.space
    if name not in SIZES and name != "pred" and name not in _OPAQUE:
        held = " or ".join(f".{other}" for other in HELD_BY.get(name, ("b32",)))
        yield f".{name} is no type of registers and variables", f"declare it {held}"
    if declared.alignment is not None and declared.alignment.bit_count() != 1:
        yield f"an alignment is a power of two, not {declared.alignment}", "correct it"
    if name == "pred" and (space != "reg" or declared.vector):
        yield "predicates are single registers", "keep a predicate in memory as an integer: selp.u32 %r, 1, 0, %p"
    if name in _OPAQUE and not declared.at_top:
        yield f".{name} stands at the top of a module, or among the parameters of an entry", "move it up"
    size = type_bytes(name, declared.vector)
    if size is not None and declared.vector and size > _MOST_VECTOR_BYTES:
        yield (
            f".{declared.vector} .{name} is wider than {_MOST_VECTOR_BYTES} bytes",
            "take a shorter vector, or an array",
        )
    if space == "param" and declared.vector:
        yield "a parameter is no vector", "declare an array, aligned as the vector is: .align 16 .b8 x[16]"
    if space == "param" and name == "f16x2" and not declared.is_array:
        yield "a parameter has no packed type", "declare it .b32"


def _report(walk: Walk, faults: Iterator[tuple[str, str]], word: str) -> None:
    first = next(faults, None)
    if first is not None:
        walk.report(Finding("declaration", *first, word=word))


def _is_incomplete(dimensions: Sequence[Operand | None], *, initialized: bool) -> bool:
    return any((size is None and not initialized) or value_of(size) == 0 for size in dimensions)
