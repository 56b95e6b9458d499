"""Conversion of a specialization to JSON data and back: `restore(record(s)) == s`.

A record contains everything that a launch needs, except the Python origins of its PTX, which are valid only on the
machine that traced it. Records are untrusted: `restore` validates every field, and then all of them against the PTX
text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

from pyptx_bundles.agreement import check_agreement
from pyptx_dsl.contract.arguments import dense_strides
from pyptx_dsl.contract.launch import Dims, check_block, check_cluster, check_grid
from pyptx_dsl.contract.specs import Layout
from pyptx_dsl.errors import BundleError, LaunchError
from pyptx_dsl.json_fields import MOST_BYTES, Field
from pyptx_dsl.types import TYPES, from_name
from pyptx_ir.isa.target_rows import TargetError
from pyptx_ir.plugins.descriptors import descriptor_kind_of, find_descriptor_kind
from pyptx_ir.plugins.errors import MissingPluginError
from pyptx_ir.plugins.rows import (
    EntryParameter,
    Input,
    Output,
    Specialization,
)
from pyptx_ir.plugins.targets import find_target
from pyptx_ir.syntax import PtxSyntaxError, parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyptx_ir.isa.target_rows import TargetRow
    from pyptx_ir.syntax.nodes import Module

_MEMBERS: Final = (
    *("entry", "text", "target", "grid", "block", "cluster", "shared_bytes", "parameters", "inputs", "outputs"),
    *("mutated", "attributes", "persistent"),
)
_PARAMETER: Final = ("name", "kind", "type", "index", "value")
_ARRAY: Final = ("name", "shape", "dtype", "strides", "alignment")

_TYPES: Final = tuple(row.name for row in TYPES)
_NAME: Final = re.compile(r"[A-Za-z_$%][\w$]*", re.ASCII)
_TARGET: Final = re.compile(r"[A-Za-z]\w*", re.ASCII)
_FLOAT: Final = re.compile(r"-?(\d+(\.\d+)?(e[+-]?\d+)?|inf)|nan", re.ASCII)
_HEX: Final = re.compile(r"([0-9a-f]{2})*")

# Limits well above real kernels: C++ names rarely exceed 4096 characters, and NVIDIA's largest PTX text has 60 MB.
_LONGEST_NAME: Final = 4096
_LONGEST_TEXT: Final = 1 << 27
_LONGEST_NUMBER: Final = 32
_MOST_ROWS: Final = 4096
_MOST_DIMENSIONS: Final = 32
_MOST_SIZE: Final = 2**31 - 1
# CUDA driver API: CUlaunchAttributeValue has 64 bytes. Attribute numbers are small; the driver validates them.
_ATTRIBUTE_BYTES: Final = 64
_MOST_ATTRIBUTE: Final = 255
_ALIGNMENTS: Final = tuple(1 << power for power in range(9))  # alignments in bytes that a Tile may declare


def record(specialization: Specialization) -> dict[str, object]:
    """Return a specialization as JSON data: objects, lists, strings and integers; floating-point values as strings."""
    row = specialization
    return {
        "entry": row.entry,
        "text": row.text,
        "target": row.target,
        "grid": list(row.grid),
        "block": list(row.block),
        "cluster": list(row.cluster),
        "shared_bytes": row.shared_bytes,
        "parameters": [_plain_parameter(parameter) for parameter in row.parameters],
        "inputs": [_plain(each, _ARRAY) for each in row.inputs],
        "outputs": [_plain(each, _ARRAY) for each in row.outputs],
        "mutated": list(row.mutated),
        "attributes": [[number, value.hex()] for number, value in row.attributes],
        "persistent": row.persistent,
    }


def _plain_parameter(row: EntryParameter) -> dict[str, object]:
    """Return a parameter as JSON data; its array descriptor is an object with the descriptor kind as only member."""
    described = row.descriptor
    kind = None if described is None else descriptor_kind_of(type(described))
    return {**_plain(row, _PARAMETER), "descriptor": None if kind is None else {kind.name: kind.plain(described)}}


def _plain(row: object, members: tuple[str, ...]) -> dict[str, object]:
    return {name: _plain_value(getattr(row, name)) for name in members}


def _plain_value(value: object) -> object:
    match value:
        case tuple():
            return list(cast("tuple[object, ...]", value))
        case float():
            return repr(value)
        case _:
            return value


def restore(record: object) -> Specialization:
    """Return the specialization that a JSON record describes; raise BundleError, with the path of the first fault."""
    return restore_field(Field("record", record))


def restore_field(field: Field) -> Specialization:
    """Return the specialization that the JSON object `field`, a member of a larger JSON value, describes."""
    found = field.members(_MEMBERS)
    target = _target(found["target"])
    persistent = found["persistent"].integer(0, _MOST_SIZE)
    grid, block, cluster = _geometry(found, target, persistent)
    special = Specialization(
        entry=found["entry"].text(_LONGEST_NAME, _NAME),
        text=found["text"].text(_LONGEST_TEXT),
        module=_module(found["text"]),
        target=target.name,
        grid=grid,
        block=block,
        cluster=cluster,
        shared_bytes=found["shared_bytes"].integer(0, target.shared_optin),
        parameters=tuple(_parameter(item) for item in found["parameters"].items(_MOST_ROWS)),
        outputs=tuple(_output(item) for item in found["outputs"].items(_MOST_ROWS)),
        mutated=tuple(item.integer(0, _MOST_ROWS) for item in found["mutated"].items(_MOST_ROWS)),
        attributes=tuple(_attribute(item) for item in found["attributes"].items(_MOST_ATTRIBUTE)),
        inputs=tuple(_input(item) for item in found["inputs"].items(_MOST_ROWS)),
        persistent=persistent,
    )
    check_agreement(field, special)
    return special


def _target(field: Field) -> TargetRow:
    name = field.text(_LONGEST_NUMBER, _TARGET)
    try:
        return find_target(name)
    except TargetError as error:
        raise field.wrong(error.message) from None


def _geometry(found: Mapping[str, Field], target: TargetRow, persistent: int) -> tuple[Dims, Dims, Dims]:
    grid, block, cluster = _dims(found["grid"]), _dims(found["block"]), _dims(found["cluster"])
    try:
        check_block(block, target)
        check_cluster(cluster, target)
        check_grid(grid, cluster, persistent)
    except LaunchError as error:
        raise found["grid"].wrong(error.message) from None
    return grid, block, cluster


def _dims(field: Field) -> Dims:
    x, y, z = (item.integer(1, _MOST_SIZE) for item in field.items(3, 3))
    return x, y, z


def _module(field: Field) -> Module:
    text = field.text(_LONGEST_TEXT)
    if "\0" in text:
        raise field.wrong("the PTX text contains a NUL character, where the driver stops reading")
    try:
        text.encode("utf-8", "surrogateescape")
        return parse(text)
    except UnicodeEncodeError:
        raise field.wrong("the PTX text contains an unpaired surrogate") from None
    except PtxSyntaxError as error:
        raise field.wrong(f"the text is not valid PTX: {error.message}") from None
    except RecursionError:
        raise field.wrong("blocks or expressions of the PTX text nest too deeply") from None


def _parameter(field: Field) -> EntryParameter:
    found = field.members((*_PARAMETER, "descriptor"))
    kind = found["kind"].choice(("tensor", "scalar", "descriptor"))
    dtype = found["type"].choice(_TYPES)
    index = found["index"].value if kind == "scalar" else found["index"].integer(0, _MOST_ROWS)
    if kind == "scalar" and index is not None:
        raise found["index"].wrong("a scalar has no tensor index")
    if kind != "scalar" and found["value"].value is not None:
        raise found["value"].wrong("only a scalar has a value")
    if kind != "descriptor" and found["descriptor"].value is not None:
        raise found["descriptor"].wrong("only a parameter of kind descriptor has a descriptor")
    return EntryParameter(
        found["name"].text(_LONGEST_NAME, _NAME),
        kind,
        dtype,
        index if isinstance(index, int) else None,
        _value(found["value"], dtype),
        None if found["descriptor"].value is None else _description(found["descriptor"]),
    )


def _value(field: Field, dtype: str) -> int | float | None:
    """Return the constant value of a scalar parameter; None for a scalar that each call passes."""
    if field.value is None:
        return None
    row = from_name(dtype)
    if row.is_float:
        return float(field.text(_LONGEST_NUMBER, _FLOAT))
    low = 0 if row.kind == "unsigned" else -(1 << (row.bits - 1))
    return field.integer(low, (1 << (row.bits - 1 if row.kind == "signed" else row.bits)) - 1)


def _description(field: Field) -> object:
    """Return a parameter's array descriptor, parsed by the descriptor kind that the name of the JSON member states."""
    pairs = field.pairs(1)
    if not pairs:
        raise field.wrong("missing description")
    name, described = pairs[0]
    try:
        kind = find_descriptor_kind(Field(f"a name in {field.path}", name).text(_LONGEST_NAME, _NAME))
    except MissingPluginError as error:
        raise BundleError(f"{described.path}: {error.message}", help=error.help) from None
    return kind.restore(described)


def _input(field: Field) -> Input:
    array = _output(field)
    return Input(array.name, array.shape, array.dtype, array.strides, array.alignment)


def _output(field: Field) -> Output:
    """Return an output array; raise BundleError unless its strides are dense, row-major or column-major."""
    found = field.members(_ARRAY)
    name, dtype = found["name"].text(_LONGEST_NAME, _NAME), found["dtype"].choice(_TYPES)
    shape = tuple(item.integer(1, MOST_BYTES) for item in found["shape"].items(_MOST_DIMENSIONS, 1))
    strides = tuple(item.integer(1, MOST_BYTES) for item in found["strides"].items(_MOST_DIMENSIONS, 1))
    by_columns, size = list[int](), 1
    for extent in shape:
        by_columns.append(size)
        size *= extent
    if size * from_name(dtype).bytes > MOST_BYTES:
        raise found["shape"].wrong("the array is larger than the range of device addresses")
    if strides not in {dense_strides(shape, Layout.ROW), dense_strides(shape, Layout.COL)}:
        raise found["strides"].wrong(f"an array of shape {shape} is not dense with these strides")
    alignment = found["alignment"].integer(_ALIGNMENTS[0], _ALIGNMENTS[-1])
    if alignment not in _ALIGNMENTS:
        raise found["alignment"].wrong("expected a power of two")
    return Output(name, shape, dtype, strides, alignment)


def _attribute(field: Field) -> tuple[int, bytes]:
    number, value = field.items(2, 2)
    return number.integer(0, _MOST_ATTRIBUTE), bytes.fromhex(value.text(2 * _ATTRIBUTE_BYTES, _HEX))
