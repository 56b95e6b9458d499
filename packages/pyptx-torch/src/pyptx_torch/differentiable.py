"""`differentiable_kernel`: a kernel, and the kernel of its gradients, as one function that torch differentiates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import torch

from pyptx_dsl.errors import ArgumentCountError, KernelError, KeywordError
from pyptx_dsl.kernels.differentiable import declaration_of, keywords_of, name_of
from pyptx_torch.internals import apply
from pyptx_torch.layouts import dense
from pyptx_torch.outputs import as_tuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_dsl.kernels.differentiable import Backward
    from pyptx_dsl.kernels.kernel import Kernel
    from pyptx_ir.plugins.rows import Launchable

    Gradient = torch.Tensor | None


def join(
    forward: Launchable,
    backward: Backward,
    *,
    save_for_backward: Sequence[int] | None = None,
    save_outputs: Sequence[int] = (),
    num_grad_inputs: int | None = None,
) -> Callable[..., object]:
    """Return a function of tensors that runs `forward`, and whose gradients are what `backward` returns.

    `backward`, a kernel or a function that calls several, takes the saved inputs, the saved outputs, then the gradient
    of each output, and returns the gradients of the first `num_grad_inputs` inputs, all by default. `save_for_backward`
    are the indices of the inputs to save, all by default; `save_outputs` those of the outputs, none by default.
    Keywords of a call go to `forward`, and to `backward` those that it knows. Raise the KernelError or
    ArgumentCountError of two kernels that don't fit.
    """
    first = cast("Kernel", forward)
    inputs = len(first.declaration.tensors) - len(first.declaration.out_specs)
    pair = Pair(
        first,
        backward,
        keywords_of(backward),
        tuple(range(inputs)) if save_for_backward is None else tuple(save_for_backward),
        tuple(save_outputs),
        inputs if num_grad_inputs is None else num_grad_inputs,
    )
    pair.check(inputs)

    def call(*tensors: torch.Tensor, **keywords: object) -> object:
        if "out" in keywords:
            raise KeywordError(
                f"{first.name}: a differentiable kernel allocates its outputs", hint="call the kernel itself with out="
            )
        if not torch.is_grad_enabled():
            return first(*tensors, **keywords)
        return apply(Differentiable, pair, keywords, *tensors)

    return call


@dataclass(frozen=True, slots=True)
class Pair:
    """A kernel, the kernel of its gradients, what that one takes, and of how many inputs it returns gradients."""

    forward: Kernel
    backward: Backward
    keywords: frozenset[str]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    gradients: int

    def check(self, inputs: int) -> None:
        """Raise an error for two kernels that don't fit each other."""
        forward, backward = self.forward.declaration, declaration_of(self.backward)
        for declaration in (forward, backward) if backward else (forward,):
            if declaration.mutated:
                raise KernelError(
                    f"{declaration.name} writes to its inputs, and what is differentiated must not",
                    hint="return what it writes: name it in out_specs",
                )
        outputs = len(forward.out_specs)
        fits = all(0 <= at < inputs for at in self.inputs) and all(0 <= at < outputs for at in self.outputs)
        if not (fits and 0 <= self.gradients <= inputs):
            raise ArgumentCountError(
                f"{forward.name} has {inputs} inputs and {outputs} outputs, which save_for_backward="
                f"{list(self.inputs)}, save_outputs={list(self.outputs)} and num_grad_inputs={self.gradients} don't fit"
            )
        if backward is None:
            return
        saved = len(self.inputs) + len(self.outputs)
        takes, returns = saved + outputs, len(backward.out_specs)
        if takes != len(backward.in_specs) or returns != self.gradients:
            raise ArgumentCountError(
                f"{backward.name} would get {takes} tensors ({saved} saved, and a gradient for each of {outputs} "
                f"outputs) and return {self.gradients}; it takes {len(backward.in_specs)} and returns {returns}",
                hint="save_for_backward names the inputs to save, save_outputs the outputs, and num_grad_inputs says "
                "how many inputs have gradients",
            )

    def gradients_of(
        self,
        saved: Sequence[torch.Tensor],
        gradients: Sequence[torch.Tensor],
        keywords: Mapping[str, object],
        needed: Sequence[bool],
    ) -> tuple[Gradient, ...]:
        """Run the backward kernel; return a gradient for each input, None for one that needs none."""
        backward = declaration_of(self.backward)
        tiles = [None] * len(gradients) if backward is None else backward.in_specs[len(saved) :]
        # A gradient may be one number for all elements (of a sum), or a view of a larger one.
        given = [dense(gradient, tile) for gradient, tile in zip(gradients, tiles, strict=True)]
        own = {name: value for name, value in keywords.items() if name in self.keywords}
        run = cast("Callable[..., object]", self.backward)
        results = as_tuple(run(*saved, *given, **own))
        if len(results) != self.gradients:
            raise ArgumentCountError(
                f"{name_of(self.backward)} returns {len(results)} gradients; {self.gradients} inputs have one",
                hint="num_grad_inputs says how many inputs have gradients",
            )
        padded: list[Gradient] = [*results, *(None for _ in needed[len(results) :])]
        return tuple(result if wanted else None for result, wanted in zip(padded, needed, strict=True))


class Differentiable(torch.autograd.Function):
    """A pair's place in the graph of autograd."""

    generate_vmap_rule = True  # both kernels have a rule of their own

    @staticmethod
    def forward(pair: Pair, keywords: Mapping[str, object], *tensors: torch.Tensor) -> Any:  # noqa: ANN401  as torch has it
        """Run the forward kernel."""
        return pair.forward(*tensors, **keywords)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:  # noqa: ANN401  as torch has it
        """Save what the backward kernel takes."""
        pair, keywords, *tensors = inputs
        results = as_tuple(output)
        ctx.pair, ctx.keywords = pair, keywords
        ctx.save_for_backward(*[tensors[at] for at in pair.inputs], *[results[at] for at in pair.outputs])
        whole = [result for result in results if not result.dtype.is_floating_point]
        if whole:
            ctx.mark_non_differentiable(*whole)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[Gradient, ...]:  # noqa: ANN401  as torch has it
        """Run the backward kernel; autograd makes zeros of the gradients of outputs that nothing used."""
        needed = ctx.needs_input_grad[2:]
        return None, None, *ctx.pair.gradients_of(ctx.saved_tensors, gradients, ctx.keywords, needed)
