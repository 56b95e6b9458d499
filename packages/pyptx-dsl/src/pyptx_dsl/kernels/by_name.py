"""Wrapper for kernel methods that take sizes by name: their errors for arrays (`k.ptx(x)`) show the correct call."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from pyptx_dsl.errors import CallError, UnboundDimensionsError
from pyptx_dsl.tracebacks import entry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyptx_dsl.kernels.declaration import Declaration

__all__ = ["by_name"]

P = ParamSpec("P")
R = TypeVar("R")


def by_name(function: Callable[P, R]) -> Callable[P, R]:
    """Wrap a kernel method without positional arguments: passed arrays raise CallError with the correct call."""

    @entry
    @functools.wraps(function)
    def wrapper(kernel: Any, *arrays: object, **kwargs: Any) -> R:  # noqa: ANN401 - the method's own keywords
        if arrays:
            raise _positional(kernel.declaration, function.__name__, arrays)
        try:
            return cast("Callable[..., R]", function)(kernel, **kwargs)
        except UnboundDimensionsError as error:
            if not error.sizes:
                raise
            call = f"{kernel.name}.{function.__name__}({error.sizes})"
            raise UnboundDimensionsError(error.message, help=f"write {call}") from None

    return cast("Callable[P, R]", wrapper)


def _positional(declaration: Declaration, method: str, arrays: Sequence[object]) -> CallError:
    sizes = dict.fromkeys(declaration.dimensions, "…")
    for tile, array in zip(declaration.in_specs, arrays, strict=False):
        shape = cast("Sequence[object]", getattr(array, "shape", ()))
        sizes |= {str(name): str(size) for name, size in zip(tile.shape, shape, strict=False) if str(name) in sizes}
    given = ", ".join(f"{name}={size}" for name, size in sizes.items())
    return CallError(
        f"{declaration.name}.{method} takes sizes of dimensions by name, not arrays",
        help=f"write {declaration.name}.{method}({given})",
    )
