"""`pyptx.load`: read a bundle as data, and validate everything before use."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyptx_bundles.cubin import check_cubin
from pyptx_bundles.folder import read_files, read_manifest_bytes
from pyptx_bundles.kernel_signature import check_signature
from pyptx_bundles.loaded import Bundle, LoadedKernel
from pyptx_bundles.manifest import Announced, BundleEntry, Manifest, read_manifest
from pyptx_bundles.record import restore_field
from pyptx_dsl.errors import BundleError
from pyptx_dsl.json_fields import Field

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

_ENDS: Final = (".ptx", ".cubin")
_MOST_MEMBERS: Final = 100


def load(path: str | os.PathLike[str]) -> Bundle:
    """Return the kernels of the bundle that `pyptx export` wrote to the folder `path`.

    First everything is validated: names, sizes and digests of the files, every field of the manifest, and the
    consistency of PTX, machine code and manifest. Raises BundleError with the reason. Digests detect damage, not
    forgery: a kernel is code, so load bundles only from sources whose code you would run.
    """
    folder = Path(path)
    try:
        manifest = read_manifest(read_manifest_bytes(folder))
        _check_names(manifest)
        files = read_files(folder, manifest.files)
    except OSError as error:
        raise BundleError(f"cannot read {folder}: {error.strerror}") from None
    entries = [_entry(announced, files) for announced in manifest.entries]
    kernels = dict[str, LoadedKernel]()
    for signature in manifest.kernels:
        own = [entry for entry in entries if entry.kernel == signature.name]
        check_signature(signature, own)
        kernels[signature.name] = LoadedKernel(signature, own)
    return Bundle(folder, manifest, kernels)


def _check_names(manifest: Manifest) -> None:
    """Raise BundleError unless each kernel has specializations, and the manifest lists exactly their files."""
    names, kernels = [entry.name for entry in manifest.entries], [signature.name for signature in manifest.kernels]
    for each, what in ((names, "entries"), (kernels, "kernels")):
        if len({name.lower() for name in each}) != len(each):
            raise BundleError(f"duplicate names of {what} in the manifest")
    if {entry.kernel for entry in manifest.entries} != set(kernels):
        raise BundleError("the manifest lists other kernels than its entries specialize")
    wanted = {f"{manifest.name}.h", f"{manifest.name}.c", *(f"{name}{end}" for name in names for end in _ENDS)}
    named = {file.name for file in manifest.files}
    if wanted != named:
        odd = min(wanted ^ named)
        problem = "does not list the file" if odd in wanted else "lists a file that does not belong to the bundle:"
        raise BundleError(f"the manifest {problem} {odd[:80]!a}", help="export the kernel again")


def _entry(announced: Announced, files: Mapping[str, bytes]) -> BundleEntry:
    name, record = announced.name, announced.record
    members = {key: field.value for key, field in record.pairs(_MOST_MEMBERS)}
    if "text" in members:
        raise record.wrong("the PTX text must be in a separate file")
    text = files[f"{name}.ptx"].decode("utf-8", "surrogateescape")
    special = restore_field(Field(record.path, {**members, "text": text}))
    cubin = files[f"{name}.cubin"]
    check_cubin(f"{name}.cubin", cubin, special)
    resources = replace(announced.resources, entry=special.entry, target=special.target)
    return BundleEntry(name, announced.kernel, announced.keywords, replace(special, image=cubin), cubin, resources)
