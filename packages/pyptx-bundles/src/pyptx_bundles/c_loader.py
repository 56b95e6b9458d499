"""C sources of a bundle: a C99 header and source file that need neither Python nor a CUDA toolkit.

The fixed parts are the files in `c/`; this module generates the parts of each kernel. The machine code is an array in
the source, so the program needs no other file at run time.
"""

from __future__ import annotations

import math
from string import Template
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from pyptx_bundles.c_dispatch import compiled_for, dispatch_declaration, dispatch_function, not_compiled
from pyptx_bundles.c_interface import ADDRESS, SCALARS, Interface, interface_of, resource
from pyptx_bundles.c_launch import alignments, code_of, launch_functions
from pyptx_bundles.c_tensors import refusals, tensors_declaration, tensors_function
from pyptx_dsl.errors import BundleError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyptx_bundles.manifest import BundleEntry, Heading
    from pyptx_ir.plugins.rows import Specialization

_IN_A_LINE: Final = 20
_WIDTH: Final = 110
# Driver functions that the C template `persistent.c.in` calls, with their parameter types.
_OF_PERSISTENT: Final = (
    ("cuStreamGetCtx", "struct CUstream_st *, void **"),
    ("cuDeviceGetAttribute", "int *, int, int"),
)


def sources(heading: Heading, entries: Sequence[BundleEntry]) -> dict[str, bytes]:
    """Return the bytes of the C files `<name>.h` and `<name>.c`, by file name."""
    interface = interface_of(heading.name, heading.kernels[0], entries)
    words = {
        "name": heading.name,
        "upper": interface.upper,
        "guard": interface.upper,
        "version": heading.version,
        "target": ", ".join(dict.fromkeys(entry.special.target for entry in entries)),
    }
    made = {"h": _header(interface), "c": _source(interface, words)}
    return {
        f"{heading.name}.{end}": Template(resource(f"loader.{end}.in")).substitute(words, **parts).encode("ascii")
        for end, parts in made.items()
    }


def check_expressible(name: str, special: Specialization) -> None:
    """Raise BundleError for a kernel that a C program cannot launch."""
    for row in special.parameters:
        if row.kind == "descriptor" and row.type != "b8":
            raise BundleError(
                f"{name}: descriptor {row.name} is passed by pointer, so a C program would have to keep it alive",
                help='leave out tma_slots="pointer" to pass descriptors by value',
            )
        if row.kind == "descriptor" and code_of(row.descriptor) is None:
            raise BundleError(f"{name}: a C program cannot create descriptor {row.name}")
        if row.kind == "scalar" and row.type not in SCALARS:
            raise BundleError(f"{name}: {row.name} is .{row.type}, which has no C type")


# --- the header -----------------------------------------------------------------------------------


def _header(interface: Interface) -> dict[str, str]:
    parts = [
        _arguments(interface),
        *(_declaration(interface, entry) for entry in interface.entries),
        dispatch_declaration(interface),
        tensors_declaration(interface),
    ]
    return {"entries": "".join(parts)}


def _arguments(interface: Interface) -> str:
    """Return the C struct of a launch's arguments: device addresses of the arrays, then scalars."""
    members, signature = interface.members, interface.signature
    lines = [f"    {ADDRESS} {members[name]};" for name in signature.tensors]
    lines += [f"    {SCALARS[row.type.name][0]} {members[row.name]};" for row in signature.open]
    return "\n".join(
        [
            "",
            f"/* Addresses as cuMemAlloc and cudaMalloc return them{', and scalars' if signature.open else ''}. */"
            if signature.tensors
            else f"/* Arguments of {signature.name}. */",
            f"typedef struct {interface.name}_arguments {{",
            *(lines or ["    char nothing; /* no arguments */"]),
            f"}} {interface.name}_arguments;",
            "",
        ]
    )


def _declaration(interface: Interface, entry: BundleEntry) -> str:
    """Return the declaration of a specialization's C launch function, preceded by a comment about its arrays."""
    lines = [f"{compiled_for(entry)}: {_launched_as(entry.special)}.", *_described(interface, entry.special)]
    own = f"typedef {interface.name}_arguments {entry.name}_arguments;"
    return "\n".join(
        [
            "",
            "/* " + "\n   ".join(lines) + " */",
            *([own] if entry.name != interface.name else []),
            f"int {entry.name}_launch(const {interface.name}_arguments *arguments, struct CUstream_st *stream);",
            "",
        ]
    )


def _launched_as(special: Specialization) -> str:
    grid, block = ("x".join(map(str, sizes)) for sizes in (special.grid, special.block))
    most = f", at most {special.persistent} per SM" if special.persistent else ""
    return f"grid {grid}{most}, block {block}"


def _described(interface: Interface, special: Specialization) -> Iterable[str]:
    """Yield one line of the C header's comment per array: access, element type, shape and alignment."""
    verbs = ["reads and writes" if index in special.mutated else "reads" for index in range(len(special.inputs))]
    verbs += ["writes"] * len(special.outputs)
    arrays = [(row.shape, row.dtype, row.strides) for row in special.inputs]
    arrays += [(row.shape, row.dtype, row.strides) for row in special.outputs]
    for name, verb, array, alignment in zip(
        interface.signature.tensors, verbs, arrays, alignments(special), strict=True
    ):
        yield f"{interface.members[name]}: {verb} {_array(*array)}, aligned to {alignment} bytes"


def _array(shape: Sequence[int], dtype: str, strides: Sequence[int]) -> str:
    by_columns = len(shape) > 1 and strides[-1] != 1 and shape[-1] > 1
    return dtype + "".join(f"[{size}]" for size in shape) + (", column-major" if by_columns else "")


# --- the source -----------------------------------------------------------------------------------


def _source(interface: Interface, words: dict[str, str]) -> dict[str, str]:
    rows = dict[tuple[bytes, int], int]()  # (cubin, bytes of shared memory) -> index in the C array `kernels`
    images, kernels, row_of = list[str](), list[str](), list[int]()
    for entry in interface.entries:
        key = (entry.cubin, entry.special.shared_bytes)
        if key not in rows:
            rows[key] = len(rows)
            images.append(f"static const unsigned char {entry.name}_image[] = {{\n{_bytes(entry.cubin)}}};\n\n")
            kernels.append(_row(entry))
        row_of.append(rows[key])
    checked = Template(resource("address.c.in")).substitute(words) if interface.signature.tensors else ""
    return {
        "more_functions": _functions(interface.entries),
        "images": "".join(images),
        "kernels": "".join(kernels),
        "launches": launch_functions(interface, row_of),
        "refusals": refusals(interface),
        "not_compiled": not_compiled(interface),
        "address_check": checked,
        "persistent": resource("persistent.c.in") if _persistent(interface.entries) else "",
        "dispatch": dispatch_function(interface),
        "tensors": tensors_function(interface),
    }


def _functions(entries: Sequence[BundleEntry]) -> str:
    """Return a C line `X(name, (parameters))` for each driver function that launches need besides the template's."""
    codes = [code_of(row.descriptor) for entry in entries for row in entry.special.parameters]
    found = dict.fromkeys(function for code in codes if code is not None for function in code.functions)
    found |= dict.fromkeys(_OF_PERSISTENT if _persistent(entries) else ())
    lines = [line for name, arguments in found for line in _wrapped(f"X({name}, ({arguments}))")]
    return "".join(f" \\\n{line}" for line in lines)


def _persistent(entries: Sequence[BundleEntry]) -> bool:
    return any(entry.special.persistent for entry in entries)


def _wrapped(text: str) -> list[str]:
    return wrap(text, _WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8)


def _bytes(data: bytes) -> str:
    rows = [data[start : start + _IN_A_LINE] for start in range(0, len(data), _IN_A_LINE)]
    return "".join("    " + ", ".join(str(byte) for byte in row) + ",\n" for row in rows)


def _row(entry: BundleEntry) -> str:
    from pyptx_ir.plugins.targets import find_target

    wide = int(math.prod(entry.special.cluster) > find_target(entry.special.target).cluster)
    shared = entry.special.shared_bytes
    return f'    {{{entry.name}_image, "{entry.special.entry}", {shared}, {wide}, NULL, NULL}},\n'
