"""Lookup of descriptor kinds by name and by class of description."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins.caches import until_plugins_change

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.plugins.descriptor_rows import DescriptorKind
    from pyptx_ir.plugins.rows import EntryParameter


def descriptor_kinds() -> tuple[DescriptorKind, ...]:
    """Return the descriptor kinds of the loaded plugins."""
    from pyptx_ir.plugins.manager import manager

    return manager().descriptors()


@until_plugins_change()
def find_descriptor_kind(name: str) -> DescriptorKind:
    """Return the descriptor kind called `name`; if missing, raise MissingPluginError with its distribution."""
    from pyptx_ir.plugins.manager import manager

    return manager().descriptor(name)


@until_plugins_change()
def descriptor_kind_of(described: type) -> DescriptorKind:
    """Return the `DescriptorKind` whose descriptions are instances of `described`; raise MissingPluginError if none."""
    from pyptx_ir.plugins.errors import MissingPluginError

    found = next((kind for kind in descriptor_kinds() if kind.described is described), None)
    if found is None:
        raise MissingPluginError(
            f"no installed plugin provides descriptors for {described.__name__}",
            help="install the package of the architecture (pyptx-arch-…)",
        )
    return found


def described_alignments(parameters: Iterable[EntryParameter]) -> dict[int, int]:
    """Return the alignment of array addresses that the arrays' descriptors require, by array index."""
    found: dict[int, int] = {}
    for row in parameters:
        if row.descriptor is not None and row.index is not None:
            wanted = descriptor_kind_of(type(row.descriptor)).array_alignment(row.descriptor)
            found[row.index] = max(found.get(row.index, 1), wanted)
    return found
