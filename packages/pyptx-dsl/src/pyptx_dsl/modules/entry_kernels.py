"""Kernels of a built module that are called with arrays; the caller specifies Tiles, grid and CTA size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from pyptx_dsl.contract.descriptors import kind_of_size
from pyptx_dsl.errors import CallError, LaunchError, SignatureError
from pyptx_dsl.kernels.declaration import Options, Signature, declaration_of
from pyptx_dsl.kernels.kernel import Kernel
from pyptx_dsl.kernels.specialize import Traced, inputs_of, outputs_of
from pyptx_dsl.modules.statements import parameter_types
from pyptx_dsl.registers.operands import as_items
from pyptx_dsl.types import u64
from pyptx_ir.plugins.homes import descriptor_remedy
from pyptx_ir.plugins.rows import EntryParameter
from pyptx_ir.syntax import emit
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_dsl.contract.specs import Tile
    from pyptx_dsl.modules.bodies import Platform
    from pyptx_dsl.tracing.origins import Origins
    from pyptx_ir.syntax import nodes

__all__ = ["Entry", "EntryKernel", "Launch", "directive_sizes", "entry_kernel", "parameter_names"]

Sizes: TypeAlias = "Sequence[int] | int"


@dataclass(frozen=True, slots=True)
class Entry:
    """A PTX function of a module: its header, the Python function of its body, and the Python lines of its PTX."""

    head: nodes.Function
    function: Callable[..., object]
    platform: Platform
    origins: Callable[[], Origins]


@dataclass(frozen=True, slots=True)
class Launch:
    """Launch options of a module's kernel, as for `@kernel`; None leaves the value to the PTX header."""

    grid: Callable[..., object] | Sizes | None
    block: Sizes | None
    cluster: Sizes | None
    smem: int
    mutates: Sequence[str]
    attributes: Mapping[str, object] | None
    persistent: int


class EntryKernel(Kernel):
    """A kernel of a module: called, compiled and simulated like a decorated kernel; all sizes share one PTX text."""

    def __init__(
        self,
        entry: Entry,
        module: Callable[[], nodes.Module],
        names: Sequence[str],
        inputs: Mapping[str, Tile],
        outputs: Mapping[str, Tile],
        launch: Launch,
    ) -> None:
        """Check the launch options against the header; raise a KernelError for the first contradiction."""
        self._entry = entry
        self._module = module
        arrays = (*inputs, *outputs)
        declared = list(zip(names, entry.head.parameters or (), strict=True))
        self._rows = tuple([_row(name, arrays, each, entry.head.name) for name, each in declared])
        self._kinds = {name: kind_of_size(each) for name, each in declared}
        raw = [(row.type, row.name) for row in self._rows if row.kind == "scalar"]
        options = Options(
            arch=entry.platform.target, version=entry.platform.version, in_specs=tuple(inputs.values()),
            out_specs=tuple(outputs.values()), grid=launch.grid, block=_block(entry.head, launch.block),
            cluster=launch.cluster or directive_sizes(entry.head, "reqnctapercluster") or (1, 1, 1), smem=launch.smem,
            raw_params=raw, extern_smem=False, reqntid=directive_sizes(entry.head, "reqntid"), raw_directives=None,
            lineinfo=False, tma_slots="value", mutates=launch.mutates, launch=launch.attributes,
            persistent=launch.persistent,
        )  # fmt: skip
        self._begin(declaration_of(entry.function, Signature(entry.head.name, arrays, {}, ()), options))

    def __repr__(self) -> str:
        """Return a text with the kernel's name and target."""
        return f"EntryKernel({self.name}, arch={self.arch!r})"

    @property
    def source_text(self) -> str:
        """Traced PTX of the whole module, the same for all calls."""
        return emit(self._module())

    def _traced_anew(self, env: Mapping[str, int], templates: Mapping[str, object]) -> Traced:  # noqa: ARG002  it has none
        module = self._module()
        return Traced(
            module=module,
            text=emit(module),
            origins=self._entry.origins(),
            shared_bytes=self.smem,
            parameters=tuple([self._described(row, env) for row in self._rows]),
            outputs=outputs_of(self.declaration, env),
            inputs=inputs_of(self.declaration, env),
            shared=(),
        )

    def _described(self, row: EntryParameter, env: Mapping[str, int]) -> EntryParameter:
        """Return an entry parameter; a descriptor parameter contains its array's descriptor for these sizes."""
        kind = self._kinds[row.name]
        if row.kind != "descriptor" or row.index is None or kind is None:
            return row
        return replace(row, descriptor=kind.describe(self.declaration.tiles[row.index], env))


def _row(name: str, arrays: Sequence[str], each: nodes.Parameter, kernel: str) -> EntryParameter:
    """Return a PTX parameter as array, scalar or descriptor; raise SignatureError if a call cannot pass it."""
    dtype = parameter_types((each,)).get(each.name)
    index = arrays.index(name) if name in arrays else None
    if dtype is None and index is not None and kind_of_size(each) is not None:
        return EntryParameter(name, "descriptor", "b8", index)
    if dtype is None:
        help = (
            "name the array in in_specs to pass its descriptor; otherwise launch the module's cubin with the driver API"
        )
        raise SignatureError(
            f"parameter {name!r} of {kernel!r} is a structure in memory, which a call cannot pass",
            help=help
            if index is None
            else f"no installed plugin provides descriptors of that parameter's size: {descriptor_remedy()}",
        )
    if index is None:
        bits = dtype.kind == "unsigned"  # compilers declare signed parameters as .u32 or .u64, too
        return EntryParameter(name, "scalar", f"b{dtype.bits}" if bits else dtype.name)
    if dtype.bits != u64.bits or dtype.is_float:
        raise SignatureError(f"parameter {name!r} of {kernel!r} is a {dtype}, not a pointer to an array")
    return EntryParameter(name, "tensor", "u64", index)


def entry_kernel(
    entry: Entry,
    module: Callable[[], nodes.Module],
    names: Sequence[str] | None,
    inputs: Mapping[str, Tile] | None,
    outputs: Mapping[str, Tile] | None,
    launch: Launch,
) -> EntryKernel:
    """Return a kernel of a module that is called with arrays; `module` builds the syntax tree at first use."""
    head = entry.head
    if head.kind != "entry":
        raise CallError(
            f"{head.name!r} is a device function, which cannot be launched",
            help="launch a kernel that calls the device function",
        )
    wanted = parameter_names(head)
    given = wanted if names is None else as_items(names)
    if given is None or len(given) != len(wanted):
        raise SignatureError(
            f"{head.name!r} has {len(wanted)} parameters, got names={names!r}",
            help=f"name its {len(wanted)} parameters: {', '.join(wanted)}",
        )
    called = tuple(map(str, given))
    for name in (*(inputs or {}), *(outputs or {})):
        if name not in called:
            raise SignatureError(
                f"{head.name!r} has no parameter {name!r}",
                help=f"use a parameter name of the kernel: {', '.join(called)}",
            )
    return EntryKernel(entry, module, called, inputs or {}, outputs or {}, launch)


def parameter_names(head: nodes.Function) -> tuple[str, ...]:
    """Return the names of a function's parameters, without the function's name as a prefix."""
    return tuple([each.name.removeprefix(f"{head.name}_") for each in head.parameters or ()])


def _block(head: nodes.Function, given: Sizes | None) -> Sizes:
    """Return the CTA size; raise LaunchError if neither `.reqntid` nor the caller's `block` specifies it."""
    if given is not None:
        return given
    if directive_sizes(head, "reqntid") is None:
        most = directive_sizes(head, "maxntid")
        raise LaunchError(
            f"{head.name!r} declares no .reqntid CTA size{f', only .maxntid {most}' if most else ''}",
            help="pass block=128",
        )
    return (1, 1, 1)


def directive_sizes(head: nodes.Function, name: str) -> tuple[int, ...] | None:
    """Return the integer arguments of the directive `name` in a function header; None without the directive."""
    found = next((each.arguments for each in head.directives if each.name == name), ())
    numbers = [int(each.text, 0) for each in found if isinstance(each, tree.Immediate)]
    return tuple(numbers) or None
