"""Result types of kernels for type checkers, from `out_specs` and the arrays of a call.

A `Kernel` carries the type of its `out_specs` (`Kernel[tuple[Tile]]`, `Kernel[None]`), and a call's arrays determine
the framework: one output is an array of that framework, several are a tuple of them, none is None. This module names no
framework, so type checkers need none of them installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from typing_extensions import TypeVar  # type checkers only; typing.TypeVar has no defaults before Python 3.13

    from pyptx_dsl.contract.specs import Tile

    Specs: TypeAlias = Sequence[Tile] | None
    NoOutput: TypeAlias = tuple[()] | None
    OneOutput: TypeAlias = tuple[Tile]
    SeveralOutputs: TypeAlias = tuple[Tile, Tile, *tuple[Tile, ...]]

    # A bare `Kernel` in an annotation may have any outputs.
    OutSpecs_co = TypeVar("OutSpecs_co", bound=Specs, covariant=True, default=Specs)
    OutSpecs = TypeVar("OutSpecs", bound=Specs)
    Kind = TypeVar("Kind")
    Out = TypeVar("Out", bound="Array[object]")
    Kind_co = TypeVar("Kind_co", covariant=True)
else:
    from typing import TypeVar

    OutSpecs_co = TypeVar("OutSpecs_co", covariant=True)
    Kind_co = TypeVar("Kind_co", covariant=True)


class Array(Protocol[Kind_co]):
    """An array type, identified by the result type of its own methods.

    The output of a kernel shares the framework of its inputs, but not their element type or rank. The return type of
    `cumsum` has this property for torch (`Tensor`, also for a `Parameter`), JAX (`Array`) and NumPy (`ndarray` of any
    shape and dtype). Only the stubs of NumPy 2.5 state that `cumsum` keeps the element type
    of floats.
    """

    def cumsum(self, axis: int, /) -> Kind_co:
        """Return cumulative sums along an axis; only the signature is used."""
        ...
