"""A plain kernel has no gradient; this module reports an attempt to compute one.

The forward pass works. It records an autograd node whose backward calls `pyptx::missing_gradient`, an operator that
raises when it runs. So a compiled forward pass works too, and a missing gradient is always reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import torch

from pyptx_torch.errors import GradientError
from pyptx_torch.internals import (
    FunctionOfLevel,
    apply_at_this_level,
    below_autograd,
    forward_mode,
    has_tangent,
    is_mutable,
    new_library,
    register_fake,
)
from pyptx_torch.namespace import NAME, NAMESPACE
from pyptx_torch.outputs import as_tuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_torch.internals import Keys, Overload

LIBRARY: Final = new_library(NAME)
LIBRARY.define("missing_gradient(Tensor gradient, SymInt[] shape, ScalarType dtype, str kernel) -> Tensor")


def _raise(gradient: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, kernel: str) -> torch.Tensor:
    del gradient, shape, dtype
    raise GradientError(
        f"the backward pass reached {kernel}, a kernel without a gradient",
        help=f"use pyptx.differentiable_kernel({kernel}, …) with the kernel of its gradients; or cut the graph "
        "there: x.detach(), torch.no_grad(). The backward of a differentiable_kernel has no gradient of its "
        "own",
    )


def _like(gradient: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, kernel: str) -> torch.Tensor:
    del kernel
    return gradient.new_empty(shape, dtype=dtype)


for _key in ("CPU", "CUDA"):
    LIBRARY.impl("missing_gradient", _raise, _key)
register_fake(LIBRARY, "missing_gradient", _like)
# This constant keeps the operator alive: the namespace has only a weak reference to it.
MISSING: Final = NAMESPACE.missing_gradient


@dataclass(frozen=True, slots=True)
class Call:
    """Call of an operator without its tensors; `keys` are the dispatcher's current dispatch keys."""

    overload: Overload
    keys: Keys
    keywords: Mapping[str, object]
    kernel: str

    def below(self, arguments: Sequence[torch.Tensor]) -> object:
        """Call the operator with the dispatch keys below autograd."""
        return below_autograd(self.overload, self.keys, arguments, self.keywords)


def forward(call: Call, arguments: Sequence[torch.Tensor]) -> object:
    """Run a kernel below autograd; raise GradientError if it writes to tensors that require gradients."""
    if forward_mode() and any(map(has_tangent, arguments)):
        raise GradientError(
            f"forward-mode differentiation reached {call.kernel}, a kernel without a derivative",
            help="use reverse mode with pyptx.differentiable_kernel",
        )
    if not (torch.is_grad_enabled() and any(argument.requires_grad for argument in arguments)):
        return call.below(arguments)
    if is_mutable(call.overload):
        raise GradientError(
            f"{call.kernel} writes to its arguments, and one of them requires a gradient, which would be lost",
            help="call the kernel under torch.no_grad(), or pass x.detach()",
        )
    return apply_at_this_level(NoGradient, call, *arguments)


class NoGradient(FunctionOfLevel):
    """Autograd function of a plain kernel, whose backward raises GradientError."""

    @staticmethod
    def forward(call: Call, *arguments: torch.Tensor) -> Any:  # noqa: ANN401  as torch has it
        """Run the kernel below autograd."""
        return call.below(arguments)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:  # noqa: ANN401  as torch has it
        """Save the gradients' shapes and dtypes, but no tensors. torch.func requires this method since 2.14."""
        call, *arguments = inputs
        ctx.kernel = call.kernel
        ctx.like = [(tuple(tensor.shape), tensor.dtype) for tensor in arguments]
        ctx.mark_non_differentiable(*(one for one in as_tuple(output) if not one.dtype.is_floating_point))

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:  # noqa: ANN401  as torch has it
        """Call `pyptx::missing_gradient`, which raises GradientError, for every required gradient."""
        needed = zip(ctx.needs_input_grad[1:], ctx.like, strict=True)
        missing = cast("Callable[..., torch.Tensor]", MISSING.default)
        return None, *(missing(gradients[0], *like, ctx.kernel) if wanted else None for wanted, like in needed)
