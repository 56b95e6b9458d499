"""Properties of a bundled kernel other than its specializations: its Tiles, and the scalars that a call passes.

A loaded kernel's declaration is built from these properties instead of from a Python function, so runtimes treat the
kernel like any other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn

from pyptx_dsl.contract.arguments import alignment_of, dense_strides
from pyptx_dsl.contract.parameters import RawParameter
from pyptx_dsl.contract.specs import MAX_ALIGN, Layout, Tile
from pyptx_dsl.errors import BundleError
from pyptx_dsl.kernels.declaration import Declaration
from pyptx_dsl.types import TYPES, from_name
from pyptx_ir.plugins.rows import Input
from pyptx_ir.plugins.targets import find_target
from pyptx_ir.syntax.nodes import Version

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_bundles.manifest import BundleEntry, Plain
    from pyptx_dsl.json_fields import Field
    from pyptx_ir.plugins.rows import Specialization

_MEMBERS: Final = ("name", "tensors", "inputs", "outputs", "open")
_TILE: Final = ("shape", "dtype", "layout", "align")
_OPEN: Final = ("name", "type", "position")
_TYPES: Final = tuple(row.name for row in TYPES)
_LAYOUTS: Final = tuple(layout.name for layout in Layout)
_IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_LONGEST: Final = 200
_MOST: Final = 4096
_MOST_DIMENSIONS: Final = 32
_MOST_SIZE: Final = 1 << 49


@dataclass(frozen=True, slots=True)
class KernelSignature:
    """A kernel's name, its arrays with their Tiles, and the scalars that each call passes.

    `positions` are the positions of scalars among the arguments of a call, with their names.
    """

    name: str
    tensors: tuple[str, ...]
    inputs: tuple[Tile, ...]
    outputs: tuple[Tile, ...]
    open: tuple[RawParameter, ...]
    positions: tuple[tuple[int, str], ...] = ()

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Names of the named dimensions of the kernel's Tiles."""
        return tuple(dict.fromkeys(name for tile in (*self.inputs, *self.outputs) for name in tile.symbolic_dims))


def signature_of(declaration: Declaration, special: Specialization) -> KernelSignature:
    """Return the signature of a compiled kernel; calls pass the scalars that have no value in `special`."""
    left = {row.name for row in special.parameters if row.kind == "scalar" and row.value is None}
    scalars = tuple(row for row in declaration.raw if row.name in left)
    fixed = [position for position, name in declaration.scalars if name not in left]
    positions = tuple(
        (position - len([each for each in fixed if each < position]), name)
        for position, name in declaration.scalars
        if name in left
    )
    return KernelSignature(
        declaration.name, declaration.tensors, declaration.in_specs, declaration.out_specs, scalars, positions
    )


def plain_signature(signature: KernelSignature) -> dict[str, object]:
    """Return a kernel signature as JSON data: objects, lists, strings and integers."""
    positions = {name: position for position, name in signature.positions}
    return {
        "name": signature.name,
        "tensors": list(signature.tensors),
        "inputs": [_plain_tile(tile) for tile in signature.inputs],
        "outputs": [_plain_tile(tile) for tile in signature.outputs],
        "open": [
            {"name": row.name, "type": row.type.name, "position": positions.get(row.name)} for row in signature.open
        ],
    }


def _plain_tile(tile: Tile) -> dict[str, object]:
    return {"shape": list(tile.shape), "dtype": tile.dtype.name, "layout": tile.layout.name, "align": tile.align}


def read_signature(field: Field) -> KernelSignature:
    """Return the kernel signature parsed from a manifest field; raise BundleError for an invalid signature."""
    found = field.members(_MEMBERS)
    scalars = [_scalar(item) for item in found["open"].items(_MOST)]
    return KernelSignature(
        found["name"].text(_LONGEST, _IDENTIFIER),
        tuple(item.text(_LONGEST, _IDENTIFIER) for item in found["tensors"].items(_MOST)),
        tuple(_tile(item) for item in found["inputs"].items(_MOST)),
        tuple(_tile(item) for item in found["outputs"].items(_MOST)),
        tuple(row for row, _ in scalars),
        tuple(sorted((position, row.name) for row, position in scalars if position is not None)),
    )


def _tile(field: Field) -> Tile:
    found = field.members(_TILE)
    shape = [_dimension(item) for item in found["shape"].items(_MOST_DIMENSIONS, 1)]
    dtype, layout = from_name(found["dtype"].choice(_TYPES)), Layout[found["layout"].choice(_LAYOUTS)]
    align = found["align"].integer(1, MAX_ALIGN)
    if align & (align - 1):
        raise found["align"].wrong("expected a power of two")
    return Tile(*shape, dtype=dtype, layout=layout, align=align)


def _dimension(field: Field) -> int | str:
    if isinstance(field.value, str):
        return field.text(_LONGEST, _IDENTIFIER)
    return field.integer(1, _MOST_SIZE)


def _scalar(field: Field) -> tuple[RawParameter, int | None]:
    """Return a scalar parsed from a manifest, and its argument position; None if calls pass the scalar by name only."""
    found = field.members(_OPEN)
    row = RawParameter(found["name"].text(_LONGEST, _IDENTIFIER), from_name(found["type"].choice(_TYPES)))
    return row, None if found["position"].value is None else found["position"].integer(0, _MOST)


# --- consistency with the specializations, and conversion to a declaration -------------------------


def check_signature(signature: KernelSignature, entries: Sequence[BundleEntry]) -> None:
    """Raise BundleError unless all specializations are of one kernel, with the arrays and scalars of `signature`."""
    first = entries[0]
    for entry in entries:
        if _shared(entry.special) != _shared(first.special) or set(entry.keywords) != set(first.keywords):
            raise BundleError(f"{first.name} and {entry.name} are not specializations of one kernel")
        if not _agrees(signature, entry.special, entry.keywords):
            raise BundleError(
                f"{entry.name} and its kernel {signature.name} have different arrays or scalars",
                help="the bundle is damaged; export the kernel again",
            )


def _shared(special: Specialization) -> tuple[object, ...]:
    """Return the launch properties that a kernel's specializations share, such as PTX entry, target and cluster."""
    row = special
    return row.entry, row.target, row.cluster, row.mutated, row.attributes, _version(row)


def _agrees(signature: KernelSignature, special: Specialization, keywords: Mapping[str, Plain]) -> bool:
    sizes = {name: value for name, value in keywords.items() if isinstance(value, int) and value >= 1}
    if any(name not in sizes for name in signature.dimensions):
        return False
    if len(signature.tensors) != len(signature.inputs) + len(signature.outputs):
        return False
    positions = {position for position, _ in signature.positions}
    if len(positions) < len(signature.positions) or max(positions, default=-1) >= len(signature.inputs) + len(
        positions
    ):
        return False
    wanted = list[Input]()
    for name, tile in zip(signature.tensors, (*signature.inputs, *signature.outputs), strict=True):
        shape = tile.resolve_shape(sizes)
        wanted.append(Input(name, shape, tile.dtype.name, dense_strides(shape, tile.layout), alignment_of(tile)))
    outputs = [Input(row.name, row.shape, row.dtype, row.strides, row.alignment) for row in special.outputs]
    left = [(row.name, row.type) for row in special.parameters if row.kind == "scalar" and row.value is None]
    return [*special.inputs, *outputs] == wanted and left == [(row.name, row.type.name) for row in signature.open]


def _version(special: Specialization) -> tuple[int, int]:
    """Return the PTX text's `.version`; of several, the first, which ptxas uses."""
    versions = [(row.major, row.minor) for row in special.module.body if isinstance(row, Version)]
    return versions[0] if versions else (0, 0)


def declared(signature: KernelSignature, entries: Sequence[BundleEntry]) -> Declaration:
    """Return the `Declaration` of a loaded kernel; the Python function in it raises BundleError."""
    special, names = entries[0].special, signature.dimensions
    return Declaration(
        name=signature.name,
        function=_absent(signature.name),
        target=find_target(special.target),
        version=_version(special),
        in_specs=signature.inputs,
        out_specs=signature.outputs,
        tensors=signature.tensors,
        templates={name: value for name, value in entries[0].keywords.items() if name not in names},
        required=(),
        raw=signature.open,
        grid=special.grid,
        block=special.block,
        cluster=special.cluster,
        shared_bytes=special.shared_bytes,
        extern_symbol=None,
        directives=(),
        lineinfo=False,
        tma_slots="value",
        mutated=special.mutated,
        attributes=special.attributes,
        persistent=special.persistent,
        scalars=signature.positions,
    )


def _absent(name: str) -> Callable[..., object]:
    def absent(*_arrays: object, **_keywords: object) -> NoReturn:
        raise BundleError(f"the Python function of {name} is not in its bundle")

    absent.__name__ = absent.__qualname__ = name
    absent.__doc__ = f"Kernel {name}, loaded from a bundle."
    return absent
