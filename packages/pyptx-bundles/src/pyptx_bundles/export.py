"""Ahead-of-time compilation of a kernel: specializations for given sizes, their machine code, and the bundle folder."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyptx_bundles.c_loader import check_expressible, sources
from pyptx_bundles.folder import described, refuse_strangers, write_folder
from pyptx_bundles.kernel_signature import check_signature, signature_of
from pyptx_bundles.manifest import NAME, BundleEntry, Heading, compose
from pyptx_bundles.matching import plain
from pyptx_dsl.contract.launch import check_block, check_cluster
from pyptx_dsl.contract.launch_attributes import check_attributes
from pyptx_dsl.errors import ArchError, BundleError, UnboundDimensionsError
from pyptx_dsl.kernels.binding import Keywords, bind, block_of, grid_of, scalar_of, sort_keywords
from pyptx_dsl.kernels.specialize import specialization, trace_kernel
from pyptx_ir.isa.target_rows import TargetError
from pyptx_ir.isa.targets import default_version
from pyptx_ir.plugins.targets import find_target

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from pyptx_bundles.manifest import Plain
    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_dsl.kernels.kernel import Kernel
    from pyptx_ir.plugins.rows import Specialization

_NAME: Final = re.compile(r"[A-Za-z]\w*", re.ASCII)
_LONGEST_NAME: Final = 100


@dataclass(frozen=True, slots=True)
class Request:
    """A kernel's declaration, and the keyword arguments (sizes, template values) of each specialization to compile."""

    declaration: Declaration
    choices: Sequence[Mapping[str, object]]


def export(
    kernel: Kernel,
    choices: Sequence[Mapping[str, object]],
    folder: str | os.PathLike[str],
    *,
    name: str | None = None,
    arch: str | None = None,
) -> Path:
    """Compile a kernel once for each of `choices` (sizes, template values, `raw_params` values) into a bundle folder.

    `name` names the C functions and files; the default is the kernel's name. `arch` replaces the target of the kernel.
    If a choice lacks the value of a `raw_params` entry, each call of the exported kernel passes it. Raises BundleError
    for a kernel that cannot be exported, and the errors of tracing and compiling.
    """
    path = Path(folder)
    chosen = name or kernel.name
    if not _NAME.fullmatch(chosen) or len(chosen) > _LONGEST_NAME:
        raise BundleError(f"invalid name {chosen!r} of C functions and files", help="use an ASCII identifier")
    refuse_strangers(path)
    declaration = kernel.declaration if arch is None else retarget(kernel.declaration, arch)
    _check_described(declaration)
    entries, compiler = _compiled(chosen, Request(declaration, choices or [{}]))
    signature = signature_of(declaration, entries[0].special)
    check_signature(signature, entries)
    write_folder(path, _files(Heading(chosen, _version(), compiler, (signature,)), entries))
    return path


def _version() -> str:
    """Return the version of the installed distribution, or "from sources" if only its source files are used."""
    try:
        return version("pyptx-bundles")
    except PackageNotFoundError:
        return "from sources"


def _check_described(declaration: Declaration) -> None:
    if declaration.tensors and not declaration.tiles:
        raise BundleError(
            f"{declaration.name} has no array specs, so a bundle cannot check the arrays of a call",
            help="declare them: @kernel(in_specs=(Tile(…),), out_specs=(Tile(…),))",
        )
    for row in declaration.raw:
        if not row.is_scalar:
            raise BundleError(
                f"{declaration.name}: raw parameter {row.name} is not a scalar, so a call of a bundle cannot pass it",
                help="declare arrays with in_specs and out_specs, or launch the cubin with the driver API",
            )


def retarget(declaration: Declaration, arch: str) -> Declaration:
    """Return a declaration with another target; raise an error for the target's first limit that the kernel exceeds."""
    try:
        target = find_target(arch)
    except TargetError as error:
        raise ArchError(error.message, help=error.help) from None
    if target == declaration.target:
        return declaration
    if not callable(declaration.block):
        check_block(declaration.block, target)
    check_cluster(declaration.cluster, target)
    check_attributes(declaration.attributes, target)
    if declaration.shared_bytes > target.shared_optin:
        raise BundleError(
            f"{declaration.name} needs {declaration.shared_bytes} bytes of shared memory; a CTA on "
            f"{target.name} has {target.shared_optin}"
        )
    chosen = declaration.version != default_version(declaration.target)
    ptx = declaration.version if chosen else default_version(target)
    if ptx < target.since:
        raise ArchError(
            f"{declaration.name} is written for PTX {ptx[0]}.{ptx[1]}; {target.name} requires PTX "
            f"{target.since[0]}.{target.since[1]}",
            help="leave version out of @kernel to use a version that supports the target",
        )
    return replace(declaration, target=target, version=ptx)


def _compiled(name: str, request: Request) -> tuple[list[BundleEntry], str]:
    """Return the compiled specializations, and the name and version of the compiler."""
    from pyptx_dsl.inspect.answers import Listing, assembled
    from pyptx_ir.toolchain import find_compiler

    tool = find_compiler()
    made = [specialized(request.declaration, choice) for choice in request.choices]
    names = _names(name, request.declaration, [keywords for _, keywords in made])
    entries = list[BundleEntry]()
    for entry_name, (special, keywords) in zip(names, made, strict=True):
        check_expressible(name, special)
        assembly = assembled(Listing.of(special))
        resources = assembly.resources[special.entry]
        entries.append(BundleEntry(entry_name, request.declaration.name, keywords, special, assembly.cubin, resources))
    return entries, f"{tool.name} {tool.version}"


def _names(name: str, declaration: Declaration, made: Sequence[Mapping[str, Plain]]) -> list[str]:
    """Return the names of the specializations: the bundle's name, with a suffix if there are several.

    The suffix has the sizes, and the template values that differ between them: `norm_B16_N512`.
    """
    if len(made) == 1:
        return [name]
    differing = [key for key in made[0] if any(each[key] != made[0][key] for each in made)]
    shown = list(dict.fromkeys([*declaration.dimensions, *differing]))
    names = [
        "_".join([name, *(re.sub(r"\W", "_", f"{key}{each[key]}", flags=re.ASCII) for key in shown)]) for each in made
    ]
    lowered = [each.lower() for each in names]
    twice = next((each for each in names if lowered.count(each.lower()) > 1), None)
    if twice is not None:
        raise BundleError(f"two specializations are named {twice}", help="pass each combination of values once")
    return names


def specialized(declaration: Declaration, choice: Mapping[str, object]) -> tuple[Specialization, dict[str, Plain]]:
    """Trace a kernel for one choice of keywords; return the specialization and all its keyword values."""
    given = sort_keywords(declaration, choice)
    try:
        bound = bind(declaration, given.sizes, given.templates)
    except UnboundDimensionsError as error:
        raise BundleError(error.message, help="pass every size: --shape B=16,N=512") from None
    traced = trace_kernel(declaration, bound, given.templates)
    grid = grid_of(declaration, bound, given.templates)
    scalars = {
        row.name: scalar_of(declaration.name, row, given, bound)
        for row in declaration.raw
        if _is_given(row.name, given, bound)
    }
    block, numbers = block_of(declaration, bound, given.templates), {row.name: 0 for row in declaration.raw} | scalars
    special = specialization(declaration, traced, grid, block, numbers)
    parameters = tuple(
        replace(row, value=None) if row.kind == "scalar" and row.name not in scalars else row
        for row in special.parameters
    )
    made_for = {**{name: bound[name] for name in declaration.dimensions}, **given.templates, **scalars}
    return replace(special, parameters=parameters), {name: plain(value) for name, value in made_for.items()}


def _is_given(name: str, given: Keywords, bound: Mapping[str, int]) -> bool:
    return any(values.get(name) is not None for values in (given.raw, bound, given.templates))


def _files(heading: Heading, entries: Sequence[BundleEntry]) -> dict[str, bytes]:
    """Return all files of a bundle; the manifest is last, because it contains the digests of the other files."""
    files = sources(heading, entries)
    for entry in entries:
        files[f"{entry.name}.ptx"] = entry.special.text.encode("utf-8", "surrogateescape")
        files[f"{entry.name}.cubin"] = entry.cubin
    listed = [described(each, files[each]) for each in sorted(files)]
    files[NAME] = compose(heading, entries, listed)
    return files
