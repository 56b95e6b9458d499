"""Which kind of descriptors a name means, or a description is of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins.caches import until_plugins_change

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.plugins.descriptor_rows import DescriptorKind
    from pyptx_ir.plugins.rows import EntryParameter


def descriptor_kinds() -> tuple[DescriptorKind, ...]:
    """Return the kinds that there are, of the plugins that loaded."""
    from pyptx_ir.plugins.manager import manager

    return manager().descriptors()


@until_plugins_change()
def find_descriptor_kind(name: str) -> DescriptorKind:
    """Return the kind called `name`; raise MissingPluginError, with what has it, if no plugin brings it."""
    from pyptx_ir.plugins.manager import manager

    return manager().descriptor(name)


@until_plugins_change()
def descriptor_kind_of(described: type) -> DescriptorKind:
    """Return the kind whose descriptions are of a class; raise MissingPluginError if no plugin brings it."""
    from pyptx_ir.plugins.errors import MissingPluginError

    found = next((kind for kind in descriptor_kinds() if kind.described is described), None)
    if found is None:
        raise MissingPluginError(
            f"no installed plugin has descriptors that a {described.__name__} describes",
            hint="install the package of the architecture",
        )
    return found


def described_alignments(parameters: Iterable[EntryParameter]) -> dict[int, int]:
    """Return what the addresses of arrays must be multiples of by their descriptors, for each array that has some."""
    found: dict[int, int] = {}
    for row in parameters:
        if row.descriptor is not None and row.index is not None:
            wanted = descriptor_kind_of(type(row.descriptor)).array_alignment(row.descriptor)
            found[row.index] = max(found.get(row.index, 1), wanted)
    return found
