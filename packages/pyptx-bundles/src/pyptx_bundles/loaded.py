"""Kernels of a bundle: called like decorated kernels, without their Python source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from pyptx_bundles.kernel_signature import declared
from pyptx_bundles.matching import choose
from pyptx_dsl.contract.arguments import check_arguments
from pyptx_dsl.errors import BundleError, KeywordError
from pyptx_dsl.kernels.binding import merge_sizes, sort_keywords
from pyptx_dsl.kernels.kernel import Kernel

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyptx_bundles.kernel_signature import KernelSignature
    from pyptx_bundles.manifest import BundleEntry, Manifest
    from pyptx_dsl.contract.parameters import RawParameter
    from pyptx_ir.plugins.rows import Argument, Specialization
    from pyptx_ir.syntax.nodes import Module
    from pyptx_ir.toolchain import Resources


class LoadedKernel(Kernel):
    """A kernel compiled ahead of time, in one or several specializations.

    It is a Kernel: called, simulated and compiled into graphs like any other. A call uses the specialization for the
    sizes of its arrays. A keyword defaults to its value at compilation; it is required if several specializations have
    these sizes. Each call passes the scalars that the export left open.
    """

    def __init__(self, signature: KernelSignature, entries: Sequence[BundleEntry]) -> None:
        """Store the specializations of one kernel; `entries` must have at least one element."""
        self._begin(declared(signature, entries))
        self._entries = tuple(entries)

    @property
    def source_text(self) -> str:
        """PTX of all specializations, each with its compilation keywords."""
        return "\n".join(f"{dict(entry.keywords)}\n{entry.special.text}" for entry in self._entries)

    @property
    def specializations(self) -> tuple[Specialization, ...]:
        """Compiled specializations, with their machine code."""
        return tuple(entry.special for entry in self._entries)

    def __repr__(self) -> str:
        """Return the kernel's name, its target and its number of specializations as text."""
        return f"LoadedKernel({self.name}, arch={self.arch!r}, {len(self._entries)} specializations)"

    def specialize(self, arguments: Sequence[Argument], keywords: Mapping[str, object]) -> Specialization:
        """Check the inputs against the kernel's Tiles and return the specialization for their sizes."""
        declaration = self.declaration
        given = sort_keywords(declaration, keywords)
        sizes = given.sizes
        if declaration.tiles:
            found = check_arguments(self.name, declaration.tensors, declaration.in_specs, arguments)
            sizes = merge_sizes(self.name, sizes, found)
        entry = choose(self.name, self._entries, sizes, self._values(keywords))
        return _with_scalars(self.name, declaration.raw, entry.special, given.raw)

    def ptx(self, **kwargs: object) -> str:
        """Return the PTX of the specialization for these keywords, which a kernel with one specialization may omit."""
        return self._one(kwargs).special.text

    def module(self, **kwargs: object) -> Module:
        """Return the syntax tree of a specialization's PTX; keywords as for `ptx`."""
        return self._one(kwargs).special.module

    def cubin(self, **kwargs: object) -> bytes:
        """Return the cubin of a specialization; keywords as for `ptx`."""
        return self._one(kwargs).cubin

    def resources(self, **kwargs: object) -> Resources:
        """Return registers, spills, stack and shared memory, as reported by the compiler; keywords as for `ptx`."""
        return self._one(kwargs).resources

    def explain(self, **kwargs: object) -> NoReturn:
        """Raise BundleError: a bundle does not contain the Python lines to explain."""
        self._one(kwargs)
        raise BundleError(
            f"the Python source of {self.name} is not in its bundle, so it cannot be explained",
            help="use .ptx(), .sass() and .resources()",
        )

    def _one(self, keywords: Mapping[str, object]) -> BundleEntry:
        sizes = sort_keywords(self.declaration, keywords).sizes
        return choose(self.name, self._entries, sizes, self._values(keywords))

    def _values(self, keywords: Mapping[str, object]) -> dict[str, object]:
        return {name: value for name, value in keywords.items() if name in self.declaration.templates}


def _with_scalars(
    kernel: str, rows: Sequence[RawParameter], special: Specialization, given: Mapping[str, object]
) -> Specialization:
    """Return a specialization with the call's values for the scalars whose values the export did not set."""
    if not rows:
        return special
    missing = next((row.name for row in rows if row.name not in given), None)
    if missing is not None:
        raise KeywordError(f"{kernel}: missing raw parameter {missing!r}", help=f"pass {missing}=…")
    values = {row.name: row.value(given[row.name]) for row in rows}
    parameters = tuple(replace(row, value=values.get(row.name, row.value)) for row in special.parameters)
    return replace(special, parameters=parameters)


class Bundle(Mapping[str, Kernel]):
    """Mapping of kernel names to the kernels of a bundle."""

    def __init__(self, path: Path, manifest: Manifest, kernels: Mapping[str, LoadedKernel]) -> None:
        """Store the bundle's folder, its manifest and its kernels by name."""
        self._path = path
        self._manifest = manifest
        self._kernels = dict(kernels)

    @property
    def path(self) -> Path:
        """Path of the bundle's folder."""
        return self._path

    @property
    def version(self) -> str:
        """Version of pyptx that exported the bundle."""
        return self._manifest.version

    @property
    def compiler(self) -> str:
        """Name and version of the compiler that made the bundle's machine code."""
        return self._manifest.compiler

    def __getitem__(self, name: str) -> LoadedKernel:
        """Return the kernel with this name; raise KeyError if the bundle has none."""
        return self._kernels[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the bundle's kernels."""
        return iter(self._kernels)

    def __len__(self) -> int:
        """Return the number of kernels in the bundle."""
        return len(self._kernels)

    def __repr__(self) -> str:
        """Return a text with the bundle's folder and the names of its kernels."""
        return f"Bundle({str(self._path)!r}: {', '.join(self._kernels)})"
