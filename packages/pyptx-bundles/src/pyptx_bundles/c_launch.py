"""Generator of the C launch functions, which check arguments, encode descriptors, and call the driver."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Final

from pyptx_bundles.c_interface import SCALARS
from pyptx_dsl.types import from_name
from pyptx_ir.plugins.descriptors import described_alignments, descriptor_kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyptx_bundles.c_interface import Interface
    from pyptx_ir.plugins.descriptor_rows import DescriptorCode
    from pyptx_ir.plugins.rows import EntryParameter, Specialization

_CLUSTER_DIMENSION: Final = 4  # value of CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION


def alignments(special: Specialization) -> list[int]:
    """Return the required alignment in bytes of each array's address, from the array's Tile and descriptor."""
    found = [array.alignment for array in special.inputs] + [array.alignment for array in special.outputs]
    described = described_alignments(special.parameters)
    return [max(alignment, described.get(index, 1)) for index, alignment in enumerate(found)]


def code_of(described: object) -> DescriptorCode | None:
    """Return the C code generator of an array descriptor, such as a tensor map; None if C code cannot encode it."""
    code = None if described is None else descriptor_kind_of(type(described)).code
    return code if code is not None and code.expresses(described) else None


def launch_functions(interface: Interface, rows: Sequence[int]) -> str:
    """Return a C launch function per specialization; `rows` are the specializations' indices in the C array `kernels`.

    Specializations that differ only in code and grid share the function that performs the launch.
    """
    shared, public = dict[str, int](), list[str]()
    for entry, row in zip(interface.entries, rows, strict=True):
        number = shared.setdefault(_body(interface, entry.special), len(shared))
        public += [
            "",
            f"int {entry.name}_launch(const {interface.name}_arguments *arguments, struct CUstream_st *stream)",
            "{",
            f"    return launch_{number}(&kernels[{row}], {_listed(entry.special.grid)}, arguments, stream);",
            "}",
        ]
    takes = f"unsigned int x, unsigned int y, unsigned int z, const {interface.name}_arguments *arguments"
    heads = (f"\nstatic int launch_{number}(const kernel *one, {takes},\n" for number in shared.values())
    tails = (f"{' ' * 20}struct CUstream_st *stream)\n{body}" for body in shared)
    return "".join(f"{head}{tail}" for head, tail in zip(heads, tails, strict=True)) + "\n".join(public) + "\n"


def _body(interface: Interface, special: Specialization) -> str:
    """Return the body of the C function that launches a specialization with the grid passed to it."""
    members, prefix, attributes = interface.members, interface.upper, _attributes(special)
    described = [parameter for parameter in special.parameters if parameter.kind == "descriptor"]
    passed = [parameter for parameter in special.parameters if _is_passed(parameter)]
    checks = list(_checks(special, members))
    lines = [
        "{",
        *_attribute_table(attributes),
        *(line for parameter in special.parameters for line in _storage(parameter)),
        *([f"    {interface.name}_arguments values;"] if passed else []),
        *(["    int result = 0;"] if described or checks or special.persistent else []),
        *([f"    void *parameters[{len(special.parameters)}];"] if special.parameters else []),
        f"    launch_config config = {{{{0, 0, 0}}, {{{_listed(special.block)}}}, {special.shared_bytes}, NULL,",
        f"                            {'attributes' if attributes else 'NULL'}, {len(attributes)}}};",
        "    if (one->kernel == NULL) {",
        f"        return {prefix}_NOT_LOADED;",
        "    }",
        "    if (arguments == NULL) {",
        f"        return {prefix}_BAD_ARGUMENT;",
        "    }",
        *(["    values = *arguments;"] if passed else []),
        *checks,
        *(f"    config.grid[{number}] = {axis};" for number, axis in enumerate("xyz")),
        "    config.stream = stream;",
        *_shortened(special),
        *_assignments(special, members),
        *(line for parameter in described for line in _encoded(parameter, members, special)),
        f"    return launch(one, &config, {'parameters' if special.parameters else 'NULL'});",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _shortened(special: Specialization) -> list[str]:
    """Return the C statement that limits a persistent kernel's grid to the CTAs resident on the device."""
    if not special.persistent:
        return []
    asked = f"on_device({special.persistent}, {special.cluster[0]}, &config)"
    return [f"    if ((result = {asked}) != 0) {{", "        return result;", "    }"]


def _is_passed(parameter: EntryParameter) -> bool:
    return parameter.kind == "tensor" or (parameter.kind == "scalar" and parameter.value is None)


def _attributes(special: Specialization) -> list[tuple[int, bytes]]:
    """Return the CUlaunchAttributeID and value bytes of each launch attribute, including the cluster dimensions."""
    found = list(special.attributes)
    if special.cluster != (1, 1, 1):
        found.append((_CLUSTER_DIMENSION, struct.pack("<3I", *special.cluster)))
    return sorted(found)


def _attribute_table(attributes: Sequence[tuple[int, bytes]]) -> list[str]:
    if not attributes:
        return []
    rows = [f"        {{{number}, {{0}}, {{{{{_listed(value or bytes(1))}}}}}}}," for number, value in attributes]
    return ["    static const launch_attribute attributes[] = {", *rows, "    };"]


def _storage(row: EntryParameter) -> list[str]:
    """Return the C variables for a kernel parameter that the C caller does not pass: a constant, or a descriptor."""
    name = row.name
    if row.kind == "scalar" and row.value is not None:
        return [f"    unsigned char {name}_value[] = {{{_listed(_packed(row.type, row.value))}}}; /* {row.value!r} */"]
    code = code_of(row.descriptor)
    return [] if code is None else [f"    {line}" for line in code.storage(name, row.descriptor)]


def _packed(dtype: str, value: int | float) -> bytes:
    """Return a scalar's little-endian bytes; a `.b` value may be negative, and a too large float becomes infinity."""
    form = "<" + SCALARS[dtype][1]
    if isinstance(value, int):
        return struct.pack(form, value % (1 << from_name(dtype).bits) if dtype.startswith("b") else value)
    try:
        return struct.pack(form, value)
    except OverflowError:
        return struct.pack(form, math.copysign(math.inf, value))


def _checks(special: Specialization, members: Mapping[str, str]) -> Iterable[str]:
    """Yield the lines of the C statement that rejects null and misaligned array addresses."""
    wanted, opening, end = alignments(special), "    if (", " != 0"
    rows = [(row.index or 0, members[row.name]) for row in special.parameters if row.kind == "tensor"]
    for number, (index, member) in enumerate(rows):
        tail = ") {" if number == len(rows) - 1 else " ||"
        yield f"{opening}(result = check_address({index}, values.{member}, {wanted[index]})){end}{tail}"
        opening = "        "
    if rows:
        yield from ("        return result;", "    }")


def _assignments(special: Specialization, members: Mapping[str, str]) -> Iterable[str]:
    for number, row in enumerate(special.parameters):
        own = row.name if row.kind == "descriptor" else f"{row.name}_value"
        yield f"    parameters[{number}] = {f'&values.{members[row.name]}' if _is_passed(row) else own};"


def _encoded(row: EntryParameter, members: Mapping[str, str], special: Specialization) -> list[str]:
    """Return the C statements that encode a parameter's array descriptor, such as a tensor map, if it has any."""
    code = code_of(row.descriptor)
    if code is None:
        return []
    tensor = next(each.name for each in special.parameters if each.kind == "tensor" and each.index == row.index)
    return [f"    {line}" for line in code.encoding(row.name, row.descriptor, f"values.{members[tensor]}")]


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
