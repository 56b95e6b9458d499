"""Launch dimensions: grid, block, cluster, checked against the target's limits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from pyptx_dsl.errors import LaunchError, SignatureError
from pyptx_dsl.registers.operands import as_count, as_items

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_ir.isa.target_rows import TargetRow

Dims: TypeAlias = tuple[int, int, int]
# Maximum x, y and z of a CTA and of a grid: CUDA programming guide, "Compute Capabilities", technical specifications.
_BLOCK_LIMITS = (1024, 1024, 64)
_GRID_LIMITS = (2**31 - 1, 65535, 65535)


def three(what: str, value: object, least: int = 1) -> Dims:
    """Return one to three sizes of at least `least`, padded to three with 1; raise LaunchError for anything else.

    Sizes are integers (Python's or NumPy's), or a tuple, list or one-dimensional array of them.
    """
    single = as_count(value)
    given = [single] if single is not None else as_items(_listed(value)) or []
    sizes = [as_count(size) for size in given]
    known = [size for size in sizes if size is not None]
    if not 1 <= len(sizes) <= 3 or len(known) != len(sizes):
        help = f"write one to three integers: {what}=(x, y, z)"
        if any(isinstance(each, float) for each in (value, *given)):
            help = "divide with //; -(-N // 128) rounds up"
        raise LaunchError(f"{what} must be one to three integers, got {value!r}", help=help)
    if min(known) < least:
        allowed = "pass sizes of at least 1"
        help = f"{allowed}: round up, -(-N // 128); only a call with an empty array may have an empty grid"
        raise LaunchError(
            f"{what}={value!r} has a dimension smaller than {least}", help=help if what == "grid" else allowed
        )
    x, y, z = (*known, 1, 1)[:3]
    return x, y, z


def _listed(value: object) -> object:
    """Return a one-dimensional array as a list, and any other value unchanged."""
    listed = getattr(value, "tolist", None)
    return listed() if callable(listed) and getattr(value, "ndim", None) == 1 else value


def check_block(block: Dims, target: TargetRow) -> None:
    """Raise LaunchError if `block` has more threads than the target allows in a CTA."""
    _check_limits("block", block, _BLOCK_LIMITS)
    threads = math.prod(block)
    if threads > target.threads:
        raise LaunchError(
            f"block={block} has {threads} threads; {target.name} allows at most {target.threads} threads per CTA",
            help="use more CTAs with fewer threads",
        )


def check_cluster(cluster: Dims, target: TargetRow) -> None:
    """Raise LaunchError if `cluster` has more CTAs than the target allows in a cluster."""
    blocks = math.prod(cluster)
    if blocks > target.cluster_optin:
        have, help = "does not support clusters", 'use arch="sm_90" or later for clusters'
        if target.cluster_optin > 1:
            have, help = f"allows at most {target.cluster_optin} CTAs per cluster", "use smaller clusters"
        raise LaunchError(f"cluster={cluster} has {blocks} CTAs; {target.name} {have}", help=help)


def check_grid(grid: Dims, cluster: Dims, persistent: int = 0) -> None:
    """Raise LaunchError for a grid above CUDA's limits, not divisible by the cluster, or persistent but not 1-D."""
    _check_limits("grid", grid, _GRID_LIMITS)
    if persistent and grid[1:] != (1, 1):
        raise LaunchError(
            f"a persistent kernel needs a one-dimensional grid (its maximum number of CTAs), got grid={grid}",
            help="number the work items; in each CTA process the items ctaid.x, ctaid.x + nctaid.x, …",
        )
    for axis, blocks, group in zip("xyz", grid, cluster, strict=True):
        if blocks % group:
            raise LaunchError(
                f"grid.{axis} is {blocks}, which is not a multiple of the cluster size {group}",
                help="round the grid up to a multiple of the cluster size",
            )


def _check_limits(what: str, sizes: Dims, limits: Sequence[int]) -> None:
    for axis, size, limit in zip("xyz", sizes, limits, strict=True):
        if size > limit:
            raise LaunchError(f"{what}.{axis} is {size}, the maximum is {limit} ({what}={sizes})")


def call_sizes(
    what: str,
    function: Callable[..., object],
    parameters: tuple[int, tuple[str, ...]],
    dimensions: Mapping[str, int],
    templates: Mapping[str, object],
    least: int = 1,
) -> Dims:
    """Call a grid or block function with the dimensions and template values in its `parameters`.

    `parameters` is the result of `size_parameters`. Every size must be at least `least`.
    """
    sizes = tuple(dimensions.values())
    positional, keywords = parameters
    known = {**templates, **dimensions}
    return three(what, function(*sizes[:positional], **{name: known[name] for name in keywords}), least)


def size_parameters(
    what: str, function: Callable[..., object], dimensions: Sequence[str], templates: Sequence[str]
) -> tuple[int, tuple[str, ...]]:
    """Return the number of dimensions that a grid or block function takes by position, and its keywords.

    Dimensions are passed by position to positional-only parameters and to `*sizes`. The only dimension of a kernel is
    passed by position to a function of one parameter, whatever its name. Raises SignatureError for any other parameter
    that is neither a dimension nor a template parameter.
    """
    from inspect import Parameter, signature

    parameters = tuple(signature(function).parameters.values())
    names = dict.fromkeys((*dimensions, *templates))
    kinds = [parameter.kind for parameter in parameters]
    named = [each for each in parameters if each.kind not in {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD}]
    unknown = [each.name for each in named if each.name not in names and each.default is Parameter.empty]
    if Parameter.VAR_POSITIONAL in kinds:
        before = [each.name for each in named if each.kind is not Parameter.KEYWORD_ONLY]
        if before == list(dimensions[: len(before)]) and not unknown:
            return len(dimensions), tuple(each.name for each in named[len(before) :] if each.name in names)
    elif kinds == [Parameter.POSITIONAL_ONLY] * len(dimensions) or (unknown and len(named) == len(dimensions) == 1):
        return len(dimensions), ()
    elif not unknown and Parameter.POSITIONAL_ONLY not in kinds:
        every = Parameter.VAR_KEYWORD in kinds
        return 0, tuple(names) if every else tuple(each.name for each in named if each.name in names)
    shown = str(signature(function))[1:-1]
    raise SignatureError(
        f"the {what} function needs {', '.join(unknown) or shown}, this kernel has "
        f"{', '.join(names) or 'no dimensions'}",
        help=f"take dimensions and template parameters by name in the {what} function: lambda "
        f"{', '.join(dimensions)}: …",
    )
