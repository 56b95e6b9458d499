"""Tracing of a kernel for given dimensions and template values: module, PTX text, and Python lines of the text."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from pyptx_dsl.contract.arguments import alignment_of, dense_strides
from pyptx_dsl.contract.parameters import entry_parameters
from pyptx_dsl.contract.tensors import TensorSpec
from pyptx_dsl.errors import EmptyKernelWarning, ReturnedValueError, SelfTraceError
from pyptx_dsl.instructions.parameters import param
from pyptx_dsl.mistakes.misuse import worded
from pyptx_dsl.mistakes.returned import last_return
from pyptx_dsl.shared_memory.tiles import tiles_of
from pyptx_dsl.tracing.finish import Finished, finish
from pyptx_dsl.tracing.lineinfo import LineTable
from pyptx_dsl.tracing.origins import Origins, height, line_sites, lines_inside
from pyptx_dsl.tracing.trace import Trace, current, tracing
from pyptx_dsl.types import u64
from pyptx_ir.collector import collector_paused
from pyptx_ir.plugins.descriptors import find_descriptor_kind
from pyptx_ir.plugins.rows import EntryParameter, Input, Output, SharedVariable, Specialization
from pyptx_ir.syntax import emit, nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyptx_dsl.contract.launch import Dims
    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_dsl.origin import Site
    from pyptx_dsl.shared_memory.tiles import SharedTile
    from pyptx_ir.plugins.descriptor_rows import DescriptorKind


_DECLARATION = "specialize.declaration"
_OUTER = "specialize.outer"


@dataclass(frozen=True, slots=True)
class Traced:
    """Traced PTX of a kernel, shared by all calls with the same dimensions and template values."""

    module: nodes.Module
    text: str
    origins: Origins
    shared_bytes: int
    parameters: tuple[EntryParameter, ...]
    outputs: tuple[Output, ...]
    inputs: tuple[Input, ...]
    shared: tuple[SharedVariable, ...]
    tiles: Mapping[str, SharedTile] = field(default_factory=dict[str, "SharedTile"])


def trace_kernel(declaration: Declaration, env: Mapping[str, int], templates: Mapping[str, object]) -> Traced:
    """Run the kernel's function under a new trace, which is discarded on an exception."""
    _refuse_self(declaration)
    trace = Trace(declaration.name, declaration.target.name, declaration.version)
    trace.notes[_DECLARATION] = declaration
    trace.notes[_OUTER] = current()
    trace.tma_slots = declaration.tma_slots
    trace.parameter_types = {
        **dict.fromkeys(declaration.tensors, u64),
        **{parameter.name: parameter.type if parameter.is_scalar else None for parameter in declaration.raw},
    }
    trace.memories.shared.base_symbol = declaration.extern_symbol
    trace.memories.shared.dynamic_bytes = declaration.shared_bytes
    trace.memories.shared.force_dynamic = (
        declaration.extern_symbol is None and declaration.shared_bytes > declaration.target.shared_static
    )
    for name in (*declaration.tensors, *(parameter.name for parameter in declaration.raw)):
        trace.claim_symbol(name, "param")
    if declaration.extern_symbol is not None and not trace.has_symbol(declaration.extern_symbol):
        trace.claim_symbol(declaration.extern_symbol, "shared")
    with collector_paused(lasting=True):
        with tracing(trace), worded():
            returned = declaration.function(*_arguments(declaration, env), **templates)
        if returned is not None:
            raise _returned(declaration, returned)
        traced = _assembled(declaration, trace, env)
    if not trace.statement_count:
        _warn_empty(declaration)
    return traced


def _refuse_self(declaration: Declaration) -> None:
    """Raise SelfTraceError if the kernel is already being traced in an enclosing trace."""
    trace = current()
    while trace is not None:
        if trace.notes.get(_DECLARATION) is declaration:
            raise SelfTraceError(
                f"the body of kernel {declaration.name!r} requests the PTX of {declaration.name!r} itself",
                help="request the PTX outside the body",
            )
        outer = trace.notes.get(_OUTER)
        trace = outer if isinstance(outer, Trace) else None


def _returned(declaration: Declaration, value: object) -> ReturnedValueError:
    """Return the error for a kernel function that returns a value, located at the function's last `return`."""
    return ReturnedValueError(
        f"kernel {declaration.name!r} returns {value!r}, but a kernel has no return value",
        where=last_return(declaration.function.__code__),
        help="store it to an output: add a Tile to out_specs and a parameter for it; the call returns that array",
    )


def specialization(
    declaration: Declaration, traced: Traced, grid: Dims, block: Dims, scalars: Mapping[str, int | float]
) -> Specialization:
    """Return the specialization of a trace for one call: its grid, CTA size, and values of `raw_params`."""
    return Specialization(
        entry=declaration.name,
        text=traced.text,
        module=traced.module,
        target=declaration.target.name,
        grid=grid,
        block=block,
        cluster=declaration.cluster,
        shared_bytes=traced.shared_bytes,
        parameters=tuple(
            replace(row, value=scalars[row.name]) if row.kind == "scalar" else row for row in traced.parameters
        ),
        outputs=traced.outputs,
        mutated=declaration.mutated,
        attributes=declaration.attributes,
        persistent=declaration.persistent,
        inputs=traced.inputs,
        shared=traced.shared,
        origins=traced.origins,
    )


def without_blocks(declaration: Declaration, env: Mapping[str, int]) -> Specialization:
    """Return the specialization of a call with empty arrays and a grid without CTAs; the kernel is not traced."""
    return Specialization(
        entry=declaration.name,
        text="",
        module=nodes.Module(body=()),
        target=declaration.target.name,
        grid=(0, 1, 1),
        block=(1, 1, 1) if callable(declaration.block) else declaration.block,
        cluster=declaration.cluster,
        shared_bytes=0,
        parameters=(),
        outputs=outputs_of(declaration, env),
        mutated=declaration.mutated,
        inputs=inputs_of(declaration, env),
    )


def _tensors(declaration: Declaration, env: Mapping[str, int]) -> list[TensorSpec]:
    if not declaration.tiles:
        return [TensorSpec(name) for name in declaration.tensors]
    return [
        TensorSpec(name, tile.resolve_shape(env), tile.dtype, tile.layout)
        for name, tile in zip(declaration.tensors, declaration.tiles, strict=True)
    ]


def _arguments(declaration: Declaration, env: Mapping[str, int]) -> list[object]:
    """Return the positional arguments of the kernel's function: array placeholders, and registers for Scalars."""
    arguments: list[object] = [*_tensors(declaration, env)]
    types = {parameter.name: parameter.type for parameter in declaration.raw}
    for place, name in declaration.scalars:
        arguments.insert(place, param(types[name], name))
    return arguments


def _warn_empty(declaration: Declaration) -> None:
    code = declaration.function.__code__
    warnings.warn_explicit(
        f"kernel {declaration.name!r} emits no instruction", EmptyKernelWarning, code.co_filename, code.co_firstlineno
    )


def _assembled(declaration: Declaration, trace: Trace, env: Mapping[str, int]) -> Traced:
    table = LineTable(trace.recorder) if declaration.lineinfo else None
    finished = finish(trace, table)
    described = [(name, find_descriptor_kind(kind)) for name, kind in trace.descriptors]
    function = nodes.Function(
        kind="entry",
        name=declaration.name,
        parameters=entry_parameters(declaration.tensors, declaration.raw, described, declaration.tma_slots),
        linking="visible",
        directives=declaration.directives,
        body=finished.body,
        leading_trivia="\n\n",
    )
    tail = () if table is None else table.sections()
    module = nodes.Module(body=(*_head(declaration, finished, table), function, *tail))
    text = emit(module)
    return Traced(
        module=module,
        text=text,
        origins=Origins(partial(_line_sites, text, finished, tail), trace.recorder),
        shared_bytes=finished.shared_bytes,
        parameters=_entry_rows(declaration, described, env),
        outputs=outputs_of(declaration, env),
        inputs=inputs_of(declaration, env),
        shared=finished.shared,
        tiles=tiles_of(trace),
    )


def _head(declaration: Declaration, finished: Finished, table: LineTable | None) -> Sequence[nodes.Statement]:
    """Return the module statements before the entry: version, target, `.file` directives, and module variables."""
    head: list[nodes.Statement] = [
        nodes.Version(major=declaration.version[0], minor=declaration.version[1], leading_trivia=""),
        nodes.Target(names=(declaration.target.name,), leading_trivia="\n"),
        nodes.AddressSize(bits=64, leading_trivia="\n"),
    ]
    files = () if table is None else table.files()
    for group in (files, finished.globals):
        head += [
            replace(statement, leading_trivia="\n" if number else "\n\n") for number, statement in enumerate(group)
        ]
    return head


def _line_sites(text: str, finished: Finished, tail: Sequence[nodes.Statement]) -> dict[int, Site]:
    """Return line number -> Site of the body's lines; counted from the end of the text, as headers vary in length."""
    lines = lines_inside(finished.body, finished.sites)
    behind = emit(nodes.Module(body=tuple(tail))).count("\n") if tail else 1
    return line_sites(text.count("\n") + 1 - behind - height(lines), lines)


def inputs_of(declaration: Declaration, env: Mapping[str, int]) -> tuple[Input, ...]:
    """Return the shape, strides and alignment that the Tile of each input requires for these sizes."""
    shapes = [tile.resolve_shape(env) for tile in declaration.in_specs]
    return tuple(
        Input(name, shape, tile.dtype.name, dense_strides(shape, tile.layout), alignment_of(tile))
        for name, tile, shape in zip(declaration.tensors, declaration.in_specs, shapes, strict=False)
    )


def outputs_of(declaration: Declaration, env: Mapping[str, int]) -> tuple[Output, ...]:
    """Return shape, strides and alignment of each output that a runtime allocates for these sizes."""
    names = declaration.tensors[len(declaration.in_specs) :]
    shapes = [tile.resolve_shape(env) for tile in declaration.out_specs]
    return tuple(
        Output(name, shape, tile.dtype.name, dense_strides(shape, tile.layout), alignment_of(tile))
        for name, tile, shape in zip(names, declaration.out_specs, shapes, strict=False)
    )


def _entry_rows(
    declaration: Declaration, described: Iterable[tuple[str, DescriptorKind]], env: Mapping[str, int]
) -> tuple[EntryParameter, ...]:
    tensors = [EntryParameter(name, "tensor", "u64", index) for index, name in enumerate(declaration.tensors)]
    scalars = [EntryParameter(parameter.name, "scalar", parameter.type.name) for parameter in declaration.raw]
    dtype = "u64" if declaration.tma_slots == "pointer" else "b8"
    descriptors = list[EntryParameter]()
    for name, kind in described:
        index = declaration.tensors.index(name)
        description = kind.describe(declaration.tiles[index], env) if declaration.tiles else None
        descriptors.append(EntryParameter(name + kind.suffix, "descriptor", dtype, index, descriptor=description))
    return (*tensors, *scalars, *descriptors)
