"""The C side of a bundle: a header and a source file of C99 that need neither Python nor a CUDA toolkit.

The fixed parts are the files in `c/`; here is what each kernel adds to them. The machine code stands in the source as
an array, so that there is nothing to find when the program runs.
"""

from __future__ import annotations

import math
import struct
from string import Template
from typing import TYPE_CHECKING, Final

from pyptx_dsl.errors import BundleError
from pyptx_dsl.types import from_name
from pyptx_ir.plugins.rows import FILLS, INTERLEAVES, L2_PROMOTIONS, SWIZZLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyptx_dsl.bundles.manifest import Entry
    from pyptx_ir.plugins.rows import EntryParameter, Specialization, TensorMap

_ADDRESS: Final = "unsigned long long"
# C's type for a scalar, and its letter in Python's `struct`.
_SCALARS: Final = {
    **dict.fromkeys(("u8", "b8"), ("unsigned char", "B")),
    **dict.fromkeys(("u16", "b16"), ("unsigned short", "H")),
    **dict.fromkeys(("u32", "b32"), ("unsigned int", "I")),
    **dict.fromkeys(("u64", "b64"), (_ADDRESS, "Q")),
    "s8": ("signed char", "b"),
    "s16": ("short", "h"),
    "s32": ("int", "i"),
    "s64": ("long long", "q"),
    "f32": ("float", "f"),
    "f64": ("double", "d"),
}
# CUDA driver API: CUtensorMapDataType, and the other enumerations of cuTensorMapEncodeTiled.
_ELEMENTS: Final = {
    **dict.fromkeys(("u8", "s8", "b8", "e4m3", "e5m2", "ue8m0"), 0),
    **dict.fromkeys(("u16", "s16", "b16"), 1),
    **dict.fromkeys(("u32", "b32"), 2),
    "s32": 3,
    **dict.fromkeys(("u64", "b64"), 4),
    "s64": 5,
    "f16": 6,
    "f32": 7,
    "f64": 8,
    "bf16": 9,
    "tf32": 11,
}
_CLUSTER_DIMENSION: Final = 4  # CUlaunchAttributeID
_MAP_BYTES: Final = 128
_MAP_ALIGNMENT: Final = 64
# CUDA driver API, cuTensorMapEncodeTiled: what the address of a tensor must be a multiple of; more with interleave 32B.
_MAP_TENSOR: Final = 16
_WIDE_MAP_TENSOR: Final = 32
_IN_A_LINE: Final = 20


def header(name: str, version: str, entries: Sequence[Entry]) -> str:
    """Return the text of `<name>.h`."""
    body = "".join(_declaration(entry) for entry in entries)
    return Template(_resource("loader.h.in")).substitute(_words(name, version, entries), entries=body)


def source(name: str, version: str, entries: Sequence[Entry]) -> str:
    """Return the text of `<name>.c`."""
    images = "".join(_image(entry) for entry in entries)
    return Template(_resource("loader.c.in")).substitute(
        _words(name, version, entries),
        images=images,
        kernels="".join(_row(entry) for entry in entries),
        launches="".join(_launch(name.upper(), number, entry) for number, entry in enumerate(entries)),
    )


def check_expressible(name: str, special: Specialization) -> None:
    """Raise BundleError for a kernel that a C program has no way to launch."""
    for row in special.parameters:
        if row.kind == "tensor_map" and row.type != "b8":
            raise BundleError(
                f"{name}: the tensor map {row.name} is passed as a pointer, which a C program would have to keep",
                hint='leave out tma_slots="pointer": descriptors are then passed by value',
            )
        if row.kind == "tensor_map" and (row.tensor_map is None or row.tensor_map.dtype not in _ELEMENTS):
            raise BundleError(f"{name}: no tensor map can describe {row.name}")
        if row.tensor_map is not None and row.tensor_map.im2col is not None:
            raise BundleError(
                f"{name}: the tensor map {row.name} is one of columns (im2col), which C programs do not encode",
                hint="load the bundle from Python",
            )
        if row.kind == "scalar" and row.type not in _SCALARS:
            raise BundleError(f"{name}: {row.name} is .{row.type}, which C has no type for")


def _resource(name: str) -> str:
    from importlib.resources import files

    return files("pyptx_dsl.bundles").joinpath("c", name).read_text(encoding="utf-8")


def _words(name: str, version: str, entries: Sequence[Entry]) -> dict[str, str]:
    targets = ", ".join(dict.fromkeys(entry.special.target for entry in entries))
    return {"name": name, "upper": name.upper(), "guard": name.upper(), "version": version, "target": targets}


# --- the header -----------------------------------------------------------------------------------


def _declaration(entry: Entry) -> str:
    """Return the struct of a kernel's arguments, and its launch."""
    members = [f"    {line}" for line in _members(entry.special)] or ["    char nothing; /* it takes none */"]
    sizes = _in_comment(", ".join(f"{name}={value!a}" for name, value in entry.keywords.items()))
    return "\n".join(
        [
            "",
            f"/* {entry.kernel}{' for ' + sizes if sizes else ''}: {_launched_as(entry.special)}. */",
            f"typedef struct {entry.name}_arguments {{",
            *members,
            f"}} {entry.name}_arguments;",
            "",
            f"int {entry.name}_launch(const {entry.name}_arguments *arguments, struct CUstream_st *stream);",
            "",
        ]
    )


def _in_comment(text: str) -> str:
    """Return a text that neither ends the comment that it stands in nor begins another."""
    return text.replace("*/", "* /").replace("/*", "/ *")


def _members(special: Specialization) -> Iterable[str]:
    """Yield the members: an address for each array, then the scalars that the caller passes."""
    names = _names(special)
    described = _described(special)
    for row in special.parameters:
        if row.kind == "tensor":
            yield f"{_ADDRESS} {names[row.name]}; /* {described[row.index or 0]} */"
        elif row.kind == "scalar" and row.value is None:
            yield f"{_SCALARS[row.type][0]} {names[row.name]};"


def _described(special: Specialization) -> list[str]:
    """Return what the header says of each array."""
    verbs = ["reads and writes" if index in special.mutated else "reads" for index in range(len(special.inputs))]
    verbs += ["writes"] * len(special.outputs)
    arrays = [(row.shape, row.dtype, row.strides) for row in special.inputs]
    arrays += [(row.shape, row.dtype, row.strides) for row in special.outputs]
    return [
        f"{verb} {_array(*array)}, aligned to {alignment} bytes"
        for verb, array, alignment in zip(verbs, arrays, _alignments(special), strict=True)
    ]


def _alignments(special: Specialization) -> list[int]:
    """Return what each array's address must be a multiple of: as its contract says, and its tensor map."""
    found = [array.alignment for array in special.inputs] + [array.alignment for array in special.outputs]
    for row in special.parameters:
        if row.tensor_map is not None and row.index is not None:
            wide = row.tensor_map.interleave == "32B"
            found[row.index] = max(found[row.index], _WIDE_MAP_TENSOR if wide else _MAP_TENSOR)
    return found


def _array(shape: Sequence[int], dtype: str, strides: Sequence[int]) -> str:
    by_columns = len(shape) > 1 and strides[-1] != 1 and shape[-1] > 1
    return dtype + "".join(f"[{size}]" for size in shape) + (" by columns" if by_columns else "")


def _names(special: Specialization) -> dict[str, str]:
    """Return the member of each parameter: its own name, with a `_` behind where C or C++ has another use for that.

    Reserved are the keywords of C99 and C++20, and what compilers have as macros.
    """
    names, reserved = dict[str, str](), _resource("reserved.txt").split()
    for row in special.parameters:
        name = row.name + "_" if row.name in reserved else row.name
        while name in names.values():
            name += "_"
        names[row.name] = name
    return names


def _launched_as(special: Specialization) -> str:
    grid, block = ("x".join(map(str, sizes)) for sizes in (special.grid, special.block))
    return f"grid {grid}, block {block}"


# --- the source -----------------------------------------------------------------------------------


def _image(entry: Entry) -> str:
    return f"static const unsigned char {entry.name}_image[] = {{\n{_bytes(entry.cubin)}}};\n\n"


def _bytes(data: bytes) -> str:
    rows = [data[start : start + _IN_A_LINE] for start in range(0, len(data), _IN_A_LINE)]
    return "".join("    " + ", ".join(str(byte) for byte in row) + ",\n" for row in rows)


def _row(entry: Entry) -> str:
    from pyptx_ir.isa.targets import find_target

    wide = int(math.prod(entry.special.cluster) > find_target(entry.special.target).cluster)
    shared = entry.special.shared_bytes
    return f'    {{{entry.name}_image, "{entry.special.entry}", {shared}, {wide}, NULL, NULL}},\n'


def _launch(prefix: str, number: int, entry: Entry) -> str:
    """Return the function that launches a kernel."""
    special, names = entry.special, _names(entry.special)
    attributes = _attributes(special)
    maps = [row for row in special.parameters if row.kind == "tensor_map"]
    passed = [row for row in special.parameters if row.kind == "tensor" or (row.kind == "scalar" and row.value is None)]
    lines = [
        f"int {entry.name}_launch(const {entry.name}_arguments *arguments, struct CUstream_st *stream)",
        "{",
        *_attribute_table(attributes),
        *(line for row in special.parameters for line in _storage(row, names[row.name])),
        *([f"    {entry.name}_arguments values;"] if passed else []),
        *(["    int result;"] if maps else []),
        *_parameter_table(special, names),
        "    launch_config config = {",
        f"        {{{_listed(special.grid)}}}, {{{_listed(special.block)}}}, {special.shared_bytes},",
        f"        NULL, {'attributes' if attributes else 'NULL'}, {len(attributes)}",
        "    };",
        f"    if (kernels[{number}].kernel == NULL) {{",
        f"        return {prefix}_NOT_LOADED;",
        "    }",
        f"    if (arguments == NULL{''.join(_misaligned(special, names))}) {{",
        f"        return {prefix}_BAD_ARGUMENT;",
        "    }",
        *(["    values = *arguments;"] if passed else []),
        "    config.stream = stream;",
        *_assignments(special, names),
        *(line for row in maps for line in _encoded(row, names, special)),
        f"    return launch(&kernels[{number}], &config, {'parameters' if special.parameters else 'NULL'});",
        "}",
    ]
    return "\n" + "\n".join(lines) + "\n"


def _attributes(special: Specialization) -> list[tuple[int, bytes]]:
    """Return the launch attributes, the cluster among them."""
    found = list(special.attributes)
    if special.cluster != (1, 1, 1):
        found.append((_CLUSTER_DIMENSION, struct.pack("<3I", *special.cluster)))
    return sorted(found)


def _attribute_table(attributes: Sequence[tuple[int, bytes]]) -> list[str]:
    if not attributes:
        return []
    rows = [f"        {{{number}, {{0}}, {{{{{_listed(value or bytes(1))}}}}}}}," for number, value in attributes]
    return ["    static const launch_attribute attributes[] = {", *rows, "    };"]


def _storage(row: EntryParameter, name: str) -> list[str]:
    """Return the locals that hold a parameter which is not the caller's."""
    if row.kind == "scalar" and row.value is not None:
        return [f"    unsigned char {name}_value[] = {{{_listed(_packed(row.type, row.value))}}}; /* {row.value!r} */"]
    described = row.tensor_map
    if described is None:
        return []
    outer = described.strides[-2::-1]
    return [
        f"    static const uint64_t {name}_shape[] = {{{_listed(described.shape[::-1])}}};",
        *([f"    static const uint64_t {name}_strides[] = {{{_listed(outer)}}};"] if outer else []),
        f"    static const unsigned int {name}_box[] = {{{_listed(described.box[::-1])}}};",
        f"    static const unsigned int {name}_steps[] = {{{_listed(described.element_strides[::-1])}}};",
        f"    unsigned char {name}_room[{_MAP_BYTES + _MAP_ALIGNMENT}];",
        f"    unsigned char *{name} = {name}_room + {_MAP_ALIGNMENT} - (uintptr_t){name}_room % {_MAP_ALIGNMENT};",
    ]


def _packed(dtype: str, value: int | float) -> bytes:
    """Return a scalar's bytes; untyped bits may be given as a negative number, and large floats round to infinity."""
    form = "<" + _SCALARS[dtype][1]
    if isinstance(value, int):
        return struct.pack(form, value % (1 << from_name(dtype).bits) if dtype.startswith("b") else value)
    try:
        return struct.pack(form, value)
    except OverflowError:
        return struct.pack(form, math.copysign(math.inf, value))


def _parameter_table(special: Specialization, names: dict[str, str]) -> list[str]:
    return [f"    void *parameters[{len(names)}];"] if special.parameters else []


def _assignments(special: Specialization, names: dict[str, str]) -> Iterable[str]:
    for number, row in enumerate(special.parameters):
        kept = {"tensor_map": names[row.name], "scalar": f"{names[row.name]}_value"}.get(row.kind)
        own = row.kind == "tensor_map" or row.value is not None
        place = kept if own else f"&values.{names[row.name]}"
        yield f"    parameters[{number}] = {place};"


def _misaligned(special: Specialization, names: dict[str, str]) -> Iterable[str]:
    """Yield the further conditions under which the arguments are refused, each on a line of its own."""
    wanted = _alignments(special)
    for row in special.parameters:
        if row.kind == "tensor":
            address = f"arguments->{names[row.name]}"
            yield f" ||\n        {address} == 0 || {address} % {wanted[row.index or 0]} != 0"


def _encoded(row: EntryParameter, names: dict[str, str], special: Specialization) -> list[str]:
    """Return the call that encodes a tensor map; `check_expressible` has been through it."""
    described, name = row.tensor_map, names[row.name]
    if described is None:
        return []
    tensor = next(each.name for each in special.parameters if each.kind == "tensor" and each.index == row.index)
    strides = f"{name}_strides" if len(described.shape) > 1 else "NULL"
    return [
        f"    result = driver.cuTensorMapEncodeTiled({name}, {_ELEMENTS[described.dtype]}, {len(described.shape)},",
        f"                                           (void *)(uintptr_t)values.{names[tensor]}, {name}_shape,",
        f"                                           {strides}, {name}_box, {name}_steps, {_modes(described)});",
        "    if (result != 0) {",
        "        return result;",
        "    }",
    ]


def _modes(described: TensorMap) -> str:
    return _listed(
        (
            INTERLEAVES.index(described.interleave),
            SWIZZLES.index(described.swizzle),
            L2_PROMOTIONS.index(described.l2_promotion),
            FILLS.index(described.fill),
        )
    )


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
