"""Binding of a call's keywords to template parameters, dimensions and `raw_params`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_dsl.contract.launch import call_sizes, check_block, check_grid
from pyptx_dsl.errors import KeywordError, ShapeError, UnboundDimensionsError
from pyptx_dsl.mistakes.unknown_keywords import unknown_name
from pyptx_dsl.registers.operands import as_count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyptx_dsl.contract.launch import Dims
    from pyptx_dsl.contract.parameters import RawParameter
    from pyptx_dsl.kernels.declaration import Declaration


@dataclass(frozen=True, slots=True)
class Keywords:
    """A call's template values (with defaults), dimension sizes and `raw_params`; a keyword may be several of them."""

    templates: Mapping[str, object]
    sizes: Mapping[str, int]
    raw: Mapping[str, object]


def sort_keywords(declaration: Declaration, keywords: Mapping[str, object]) -> Keywords:
    """Sort a call's keywords into `Keywords`; raise KeywordError for an unknown, invalid or missing keyword."""
    kernel = declaration.name
    raw_names = {parameter.name for parameter in declaration.raw}
    known = (*declaration.dimensions, *declaration.templates, *raw_names)
    for name in keywords:
        if name not in known:
            raise unknown_name(kernel, name, known)
    sizes = {name: _size(kernel, name, keywords[name]) for name in declaration.dimensions if name in keywords}
    missing = [name for name in declaration.required if name not in keywords]
    if missing:
        raise KeywordError(
            f"{kernel} needs {', '.join(missing)}", help=f"pass {', '.join(f'{name}=…' for name in missing)}"
        )
    templates = {name: keywords.get(name, default) for name, default in declaration.templates.items()}
    return Keywords(templates, sizes, {name: keywords[name] for name in raw_names if name in keywords})


def _size(kernel: str, name: str, value: object) -> int:
    size = as_count(value)
    if size is None or size < 0:
        raise KeywordError(f"{kernel}: dimension {name} must be a positive int, got {value!r}")
    return size


def merge_sizes(kernel: str, given: Mapping[str, int], found: Mapping[str, int]) -> Mapping[str, int]:
    """Return the sizes of dimensions from a call's arrays and keywords; raise ShapeError for contradictory sizes."""
    merged = dict(found)
    for dimension, size in given.items():
        if merged.setdefault(dimension, size) != size:
            raise ShapeError(
                f"{kernel}: {dimension}={size} contradicts the arrays, where {dimension} is {merged[dimension]}"
            )
    return merged


def bind(declaration: Declaration, sizes: Mapping[str, int], templates: Mapping[str, object]) -> dict[str, int]:
    """Return a size for every dimension; a template parameter of the dimension's name may provide the size."""
    bound = dict(sizes)
    for name in declaration.dimensions:
        size = as_count(templates.get(name)) if name in templates else None
        if name not in bound and size is not None:
            bound[name] = size
    missing = [name for name in declaration.dimensions if name not in bound]
    if missing:
        shown = ", ".join(f"{name}={bound.get(name, '…')}" for name in declaration.dimensions)
        error = UnboundDimensionsError(
            f"{declaration.name}: no size for {', '.join(missing)}",
            help=f"pass the sizes of the dimensions that no input has: {shown}",
        )
        error.sizes = shown
        raise error
    return bound


def grid_of(
    declaration: Declaration, bound: Mapping[str, int], templates: Mapping[str, object], *, empty: bool = False
) -> Dims:
    """Return the grid for these sizes and template values, checked against the cluster dimensions.

    If an array is `empty`, the grid may have no CTAs; the launch then does nothing.
    """
    grid = declaration.grid
    env = {name: bound[name] for name in declaration.dimensions}
    if callable(grid):
        sizes = call_sizes("grid", grid, declaration.grid_arguments, env, templates, int(not empty))
    else:
        sizes = grid
    check_grid(sizes, declaration.cluster, declaration.persistent)
    return sizes


def block_of(declaration: Declaration, bound: Mapping[str, int], templates: Mapping[str, object]) -> Dims:
    """Return the CTA dimensions for these sizes and template values, checked against the target's limits."""
    block = declaration.block
    if not callable(block):
        return block
    env = {name: bound[name] for name in declaration.dimensions}
    sizes = call_sizes("block", block, declaration.block_arguments, env, templates)
    check_block(sizes, declaration.target)
    return sizes


def scalar_of(kernel: str, parameter: RawParameter, keywords: Keywords, bound: Mapping[str, int]) -> int | float:
    """Return the value of a `raw_params` entry from its keyword, or from a dimension or template value of that name."""
    name = parameter.name
    if not parameter.is_scalar:
        raise KeywordError(
            f"{kernel}: raw parameter {name!r} is an array of bytes, which a call cannot pass",
            help="get tensor maps from Tiles, A.tma_desc(); otherwise launch the cubin with the driver API",
        )
    for values in (keywords.raw, bound, keywords.templates):
        if values.get(name) is not None:
            return parameter.value(values[name])
    raise KeywordError(f"{kernel}: missing raw parameter {name!r}", help=f"pass {name}=…")
