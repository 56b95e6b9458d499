"""Consistency checks of a bundle record (kernel launch data as JSON) against the PTX text that it contains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_dsl.contract.descriptors import has_room
from pyptx_ir.plugins.descriptors import descriptor_kind_of, descriptor_kinds
from pyptx_ir.syntax.nodes import Function, Parameter, Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_dsl.json_fields import Field
    from pyptx_ir.plugins.descriptor_rows import DescriptorKind
    from pyptx_ir.plugins.rows import EntryParameter, Specialization

_POINTER: Final = "u64"


def check_agreement(field: Field, special: Specialization) -> None:
    """Raise BundleError if a specialization's parameters and arrays contradict each other or its PTX text."""
    _check_target(field, special)
    function = _entry(field, special)
    declared, rows = function.parameters or (), special.parameters
    if len(declared) != len(rows):
        raise field.wrong(f"the entry has {len(declared)} parameters in the PTX text and {len(rows)} in the record")
    for parameter, row in zip(declared, rows, strict=True):
        if not _fits(parameter, row):
            raise field.wrong(
                f"parameter {row.name} ({row.kind}, {row.type}) does not match its declaration in the PTX "
                f"text: {parameter.name} (.{parameter.type})"
            )
    _check_tensors(field, special)


def _check_target(field: Field, special: Specialization) -> None:
    targets = [statement.names for statement in special.module.body if isinstance(statement, Target)]
    if len(targets) != 1 or special.target not in targets[0]:
        found = "; ".join(", ".join(names) for names in targets) or "nothing"
        raise field.wrong(f"the PTX text is for target {found[:60]}, the record for {special.target}")


def _entry(field: Field, special: Specialization) -> Function:
    found = [
        statement
        for statement in special.module.body
        if isinstance(statement, Function) and statement.kind == "entry" and statement.name == special.entry
    ]
    if len(found) != 1 or found[0].body is None:
        raise field.wrong(f"the PTX text defines {len(found)} entries named {special.entry[:60]}, expected 1")
    return found[0]


def _fits(parameter: Parameter, row: EntryParameter) -> bool:
    if parameter.name != row.name or parameter.vector is not None:
        return False
    if row.kind == "descriptor" and row.type == "b8":
        return any(has_room(parameter, kind) for kind in _kinds(row))
    if row.kind != "scalar" and row.type != _POINTER:
        return False
    return parameter.type == row.type and not parameter.dimensions


def _kinds(row: EntryParameter) -> Sequence[DescriptorKind]:
    """Return a parameter's descriptor kind, such as tensor map; without a descriptor, all kinds that plugins define."""
    return descriptor_kinds() if row.descriptor is None else (descriptor_kind_of(type(row.descriptor)),)


def _check_tensors(field: Field, special: Specialization) -> None:
    """Raise BundleError if a specialization has a wrong array index, a duplicate name or unsorted launch attributes."""
    named = [row.index for row in special.parameters if row.kind == "tensor"]
    arrays = [row.name for row in special.inputs] + [row.name for row in special.outputs]
    count = len(arrays) if special.inputs else len(named)
    if named != list(range(count)):
        raise field.wrong(f"the pointer parameters have array indices {named[:8]}, expected 0 to {count - 1} in order")
    _unique(field, arrays, "array")
    _unique(field, [row.name for row in special.parameters], "parameter")
    for row in special.parameters:
        if row.kind == "descriptor" and (row.index is None or row.index >= count):
            raise field.wrong(
                f"descriptor parameter {row.name} has array index {row.index}, but there are {count} arrays"
            )
        if row.kind == "descriptor" and row.descriptor is None and arrays:
            raise field.wrong(f"parameter {row.name} has no description of its array")
    inputs = count - len(special.outputs)
    if sorted(set(special.mutated)) != list(special.mutated) or any(each >= inputs for each in special.mutated):
        raise field.wrong(f"mutated is {list(special.mutated)[:8]}, expected increasing input indices below {inputs}")
    numbers = [number for number, _ in special.attributes]
    if sorted(set(numbers)) != numbers:
        raise field.wrong("the CUlaunchAttributeID numbers of the launch attributes must increase")


def _unique(field: Field, names: Sequence[str], what: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise field.wrong(f"duplicate {what} name {name[:60]}")
