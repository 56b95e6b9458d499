"""`differentiable_kernel`: a kernel and the kernel of its gradients as one function that torch differentiates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from pyptx_dsl.errors import KeywordError
from pyptx_dsl.kernels.pairs import declaration_of, pair_of
from pyptx_torch.internals import apply
from pyptx_torch.layouts import dense
from pyptx_torch.outputs import as_tuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_dsl.kernels.differentiable import Backward
    from pyptx_dsl.kernels.kernel import Kernel
    from pyptx_dsl.kernels.pairs import KernelPair

    Gradient = torch.Tensor | None


def join(forward: Kernel, backward: Backward, keywords: Mapping[str, object]) -> Callable[..., object]:
    """Return a function of tensors that runs `forward`, and whose gradients `backward` computes.

    `keywords` are the keyword arguments of `pyptx.differentiable_kernel`. A call passes its own keywords to `forward`,
    and to `backward` those of them that `backward` accepts. Raises the same errors as `pair_of`, which checks that the
    two kernels' arguments fit together.
    """
    pair = pair_of(forward, backward, keywords, "tensors")

    def call(*tensors: torch.Tensor, **keywords: object) -> object:
        if "out" in keywords:
            raise KeywordError(
                f"{forward.name}: a differentiable kernel allocates its outputs",
                help=f"call {forward.name} directly with out=",
            )
        if not torch.is_grad_enabled():
            return forward(*tensors, **keywords)
        return apply(Differentiable, pair, keywords, *tensors)

    return call


def _gradients(
    pair: KernelPair,
    saved: Sequence[torch.Tensor],
    gradients: Sequence[torch.Tensor],
    keywords: Mapping[str, object],
    needed: Sequence[bool],
) -> tuple[Gradient, ...]:
    """Run the backward kernel; return a gradient for each input, None for an input that requires no gradient."""
    backward = declaration_of(pair.backward)
    tiles = [None] * len(gradients) if backward is None else backward.in_specs[len(saved) :]
    # An incoming gradient may be an expanded scalar (stride 0), or a view of a larger tensor.
    given = [dense(gradient, tile) for gradient, tile in zip(gradients, tiles, strict=True)]
    results = as_tuple(pair.run_backward([*saved, *given], keywords))
    pair.check_returned(len(results))
    padded: list[Gradient] = [*results, *(None for _ in needed[len(results) :])]
    return tuple(result if wanted else None for result, wanted in zip(padded, needed, strict=True))


class Differentiable(torch.autograd.Function):
    """Autograd function of a forward kernel and its backward kernel."""

    generate_vmap_rule = True  # torch derives vmap of this autograd function from the vmap rules of its two kernels

    @staticmethod
    def forward(pair: KernelPair, keywords: Mapping[str, object], *tensors: torch.Tensor) -> Any:  # noqa: ANN401  as torch has it
        """Run the forward kernel and return its outputs."""
        return pair.forward(*tensors, **keywords)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:  # noqa: ANN401  as torch has it
        """Save the tensors that the backward kernel reads, and mark integer outputs as not differentiable."""
        pair, keywords, *tensors = inputs
        results = as_tuple(output)
        ctx.pair, ctx.keywords = pair, keywords
        ctx.save_for_backward(*pair.saved(tensors, results))
        whole = [result for result in results if not result.dtype.is_floating_point]
        if whole:
            ctx.mark_non_differentiable(*whole)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[Gradient, ...]:  # noqa: ANN401  as torch has it
        """Run the backward kernel; autograd materializes zeros for gradients of unused outputs."""
        needed = ctx.needs_input_grad[2:]
        return None, None, *_gradients(ctx.pair, ctx.saved_tensors, gradients, ctx.keywords, needed)
