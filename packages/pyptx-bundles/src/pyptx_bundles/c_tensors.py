"""Generator of the C functions that take arrays as DLPack tensors: a plain C function, and one for TVM-FFI."""

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING

from pyptx_bundles.c_interface import SCALARS, quoted, resource
from pyptx_bundles.c_launch import alignments
from pyptx_dsl.contract.specs import Layout
from pyptx_dsl.types import from_name
from pyptx_ir.element_types import BY_NAME, ELEMENT_TYPES, takes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_bundles.c_interface import Interface, Selector
    from pyptx_dsl.contract.parameters import RawParameter
    from pyptx_dsl.contract.specs import Tile


def takes_tensors(interface: Interface) -> bool:
    """Return whether a kernel has arrays (which determine the device), all with element types that DLPack supports."""
    tiles = _tiles(interface)
    return bool(tiles) and all(tile.dtype.name in BY_NAME for tile in tiles)


def _tiles(interface: Interface) -> tuple[Tile, ...]:
    return (*interface.signature.inputs, *interface.signature.outputs)


# --- the header -----------------------------------------------------------------------------------


def tensors_declaration(interface: Interface) -> str:
    """Return the C struct and function for DLPack tensors, or a comment that names the unsupported element type."""
    odd = [tile.dtype.name for tile in _tiles(interface) if tile.dtype.name not in BY_NAME]
    if odd:
        return f"\n/* No launch by DLPack: DLPack does not support elements of type {odd[0]}. */\n"
    if not takes_tensors(interface):
        return ""
    members, signature = interface.members, interface.signature
    lines = [
        *(
            f"const DLTensor *{members[name]}; /* {_verb(interface, index)} {described(tile)} */"
            for index, (name, tile) in enumerate(zip(signature.tensors, _tiles(interface), strict=True))
        ),
        *(selector.declaration() for selector in _chosen(interface)),
        *(f"{SCALARS[row.type.name][0]} {members[row.name]};" for row in signature.open),
    ]
    words = {"name": interface.name, "upper": interface.upper, "members": "".join(f"    {line}\n" for line in lines)}
    return Template(resource("dlpack.h.in")).substitute(words)


def _chosen(interface: Interface) -> list[Selector]:
    """Return the values that select a specialization and are not array sizes, so that the C caller must pass them."""
    return [each for each in interface.selectors if each.keyword not in interface.signature.dimensions]


def _verb(interface: Interface, index: int) -> str:
    inputs = len(interface.signature.inputs)
    mutated = index in interface.entries[0].special.mutated
    return "writes" if index >= inputs else "reads and writes" if mutated else "reads"


def described(tile: Tile) -> str:
    """Return the element type and the shape of an array in C syntax, with dimension names as sizes."""
    by_columns = tile.layout is Layout.COL and tile.rank > 1
    return f"{tile.dtype.name}{_shape(tile)}{', column-major' if by_columns else ''}"


def _shape(tile: Tile) -> str:
    return "".join(f"[{size}]" for size in tile.shape)


# --- the source -----------------------------------------------------------------------------------


def refusals(interface: Interface) -> str:
    """Return the C table of error messages: for each array, the messages in the order of the C error codes."""
    rows = list[str]()
    for index, (name, tile) in enumerate(zip(interface.signature.tensors, _tiles(interface), strict=True)):
        wanted = sorted({alignments(entry.special)[index] for entry in interface.entries})
        words = (
            name,
            f"{tile.dtype.bits}-bit elements" if tile.dtype.kind == "bits" else tile.dtype.name,
            f"{tile.rank} dimension{'s' if tile.rank > 1 else ''}",
            _shape(tile),
            "column-major" if tile.layout is Layout.COL and tile.rank > 1 else "row-major",
            " or ".join(map(str, wanted)),
        )
        rows.append(f"    REFUSALS({', '.join(map(quoted, words))}),\n")
    return "".join(rows)


def tensors_function(interface: Interface) -> str:
    """Return the C functions that take DLPack tensors, and the C tables for the checks of the tensors."""
    if not takes_tensors(interface):
        return ""
    tiles, signature = _tiles(interface), interface.signature
    dimensions = {name: number for number, name in enumerate(signature.dimensions)}
    words = {
        "name": interface.name,
        "upper": interface.upper,
        "types": "".join(_type_row(name) for name in dict.fromkeys(tile.dtype.name for tile in tiles)),
        "shapes": "".join(_shape_row(number, tile, dimensions) for number, tile in enumerate(tiles)),
        "arrays": "".join(_array_row(number, tile) for number, tile in enumerate(tiles)),
        "inputs": len(signature.inputs),
        "count": len(tiles),
        "dimensions": max(1, len(dimensions)),  # C has no arrays of length 0
        "given": _lines(
            f"given[{index}] = tensors->{interface.members[name]};" for index, name in _numbered(interface)
        ),
        "values": _lines(_values(interface)),
        "sizes": f"    {interface.name}_sizes sizes;\n" if interface.dispatched else "",
        "launch": f"{interface.name}_dispatch(&sizes, " if interface.dispatched else f"{interface.name}_launch(",
    }
    packed = {
        **words,
        "arguments": _packed_count(interface),
        "takes": quoted(_takes(interface)),
        **_unpacked(interface),
    }
    packed["first"] = interface.members[signature.tensors[0]]
    plain = Template(resource("dlpack.c.in")).substitute(words)
    return plain + Template(resource("tvm_ffi.c.in")).substitute(packed)


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"    {line}\n" for line in lines)


def _numbered(interface: Interface) -> Iterable[tuple[int, str]]:
    return enumerate(interface.signature.tensors)


def _shape_row(number: int, tile: Tile, dimensions: dict[str, int]) -> str:
    """Return the C array of an array's required sizes; the entry -1 - n stands for named dimension n."""
    sizes = [size if isinstance(size, int) else -1 - dimensions[size] for size in tile.shape]
    return f"static const int64_t shape_{number}[] = {{{', '.join(map(str, sizes))}}};\n"


def _fitting(name: str) -> list[tuple[int, int, int]]:
    """Return the DLPack types that are valid for a declared element type."""
    return list(dict.fromkeys(row.dlpack for row in ELEMENT_TYPES if takes(name, row.name)))


def _type_row(name: str) -> str:
    """Return the C table of DLPack element types that are valid for arrays declared with the PTX type `name`."""
    listed = ", ".join(f"{{{code}, {bits}, {lanes}}}" for code, bits, lanes in _fitting(name))
    return f"static const DLDataType {name}_types[] = {{{listed}}};\n"


def _array_row(number: int, tile: Tile) -> str:
    name, by_columns = tile.dtype.name, int(tile.layout is Layout.COL)
    types = f"{name}_types, sizeof {name}_types / sizeof {name}_types[0]"
    return (
        f"    {{{types}, {BY_NAME[name].bytes}, {by_columns}, {tile.rank}, shape_{number}}}, /* {described(tile)} */\n"
    )


def _values(interface: Interface) -> Iterable[str]:
    """Yield the C assignments of the launch arguments: addresses and sizes from DLPack tensors, and scalars."""
    members, signature = interface.members, interface.signature
    for index, name in _numbered(interface):
        yield f"arguments.{members[name]} = address_of(given[{index}]);"
    for row in signature.open:
        yield f"arguments.{members[row.name]} = tensors->{members[row.name]};"
    for number, name in enumerate(signature.dimensions):
        yield f"sizes.{members[name]} = dimensions[{number}];"
    for selector in _chosen(interface):
        yield f"sizes.{selector.member} = tensors->{selector.member};"


# --- TVM-FFI --------------------------------------------------------------------------------------


def _packed_count(interface: Interface) -> int:
    signature = interface.signature
    return len(signature.tensors) + len(_chosen(interface)) + len(signature.open)


def _takes(interface: Interface) -> str:
    signature, chosen = interface.signature, _chosen(interface)
    names = [*signature.tensors, *(each.keyword for each in chosen), *(row.name for row in signature.open)]
    return f"{interface.signature.name} takes {len(names)} arguments: {', '.join(names)}"


def _unpacked(interface: Interface) -> dict[str, str]:
    """Return the C statements that unpack the arguments of a TVM-FFI call, and the helper functions that they call."""
    signature, members = interface.signature, interface.members
    lines = [line for index, name in _numbered(interface) for line in _tensor_lines(index, name, members[name])]
    start, used = len(signature.tensors), set[str]()
    for number, selector in enumerate(_chosen(interface), start):
        used.add({"number": "number", "text": "text"}.get(selector.kind, "integer"))
        lines += _chosen_lines(number, selector)
    for number, row in enumerate(signature.open, start + len(_chosen(interface))):
        used.add("number" if row.type.is_float else "integer")
        lines += _scalar_lines(number, row, members[row.name])
    helpers = "".join(resource(f"tvm_ffi_{kind}.c.in") for kind in sorted(used))
    locals_ = {"integer": "    int64_t integer;\n", "number": "    double number;\n"}
    return {
        "helpers": helpers,
        "unpacked": _lines(lines),
        "locals": "".join(locals_.get(kind, "") for kind in sorted(used)),
    }


def _refused(condition: str, name: str, wanted: str) -> list[str]:
    words = quoted(f"{name} must be {'an' if wanted[0] in 'aeiou' else 'a'} {wanted}")
    return [f"if (!{condition}) {{", f'    return fail("TypeError", {words});', "}"]


def _tensor_lines(number: int, name: str, member: str) -> list[str]:
    return _refused(f"as_tensor(&arguments[{number}], &tensors.{member})", name, "tensor")


def _chosen_lines(number: int, selector: Selector) -> list[str]:
    member, place = selector.member, f"&arguments[{number}]"
    if selector.kind == "text":
        return _refused(f"as_text({place}, &tensors.{member})", selector.keyword, "string")
    if selector.kind == "number":
        return _refused(f"as_number({place}, &tensors.{member})", selector.keyword, "number")
    if selector.kind == "flag":
        lines = _refused(f"as_integer({place}, 0, 1, &integer)", selector.keyword, "bool")
        return [*lines, f"tensors.{member} = (int)integer;"]
    lines = _refused(f"as_integer({place}, INT64_MIN, INT64_MAX, &integer)", selector.keyword, "integer")
    return [*lines, f"tensors.{member} = integer;"]


def _scalar_lines(number: int, row: RawParameter, member: str) -> list[str]:
    """Return the C lines that unpack one scalar of a TVM-FFI call and check its range, as a Python call does."""
    kind, place = SCALARS[row.type.name][0], f"&arguments[{number}]"
    if row.type.is_float:
        lines = _refused(f"as_number({place}, &number)", row.name, "number")
        return [*lines, f"tensors.{member} = ({kind})number;"]
    bits, wide = row.type.bits, from_name(row.type.name).bits == 64
    low = 0 if row.type.kind == "unsigned" else -(1 << (bits - 1))
    high = (1 << (bits - 1 if row.type.kind == "signed" else bits)) - 1
    ends = ("0" if low == 0 else "INT64_MIN", "INT64_MAX") if wide else (f"{low}LL", f"{high}LL")
    condition = f"as_integer({place}, {', '.join(ends)}, &integer)"
    return [*_refused(condition, row.name, f"integer that fits {row.type}"), f"tensors.{member} = ({kind})integer;"]
