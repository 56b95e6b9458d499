"""`differentiable_kernel` on jax arrays: a `jax.custom_vjp` of two kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import jax
import jax.numpy as jnp

from pyptx_dsl.errors import ArgumentCountError, KernelError, KeywordError, ShapeError
from pyptx_dsl.operands import as_count, as_items
from pyptx_jax.arguments import arguments_of
from pyptx_jax.calls import specialized
from pyptx_jax.framework import agreeing, compiled, differentiable, is_traced
from pyptx_jax.keywords import constants, known_to
from pyptx_jax.wrappers import Wrappers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyptx_dsl.kernel import Kernel
    from pyptx_ir.plugins.rows import Launchable

Gradients = tuple["jax.Array | None", ...]


def join(forward: Launchable, backward: Launchable, keywords: Mapping[str, object]) -> Callable[..., object]:
    """Return a function of jax arrays that runs `forward`, and whose gradients are what `backward` returns.

    `backward` takes the saved inputs, then the gradient of each output, and returns the gradients of the first
    `num_grad_inputs` inputs, all by default. `save_for_backward` are the indices of the inputs to save, all by default.
    Keywords of a call go to `forward`, and to `backward` those that it knows.
    """
    first, second = cast("Kernel", forward), cast("Kernel", backward)
    count = len(first.declaration.tensors) - len(first.declaration.out_specs)
    pair = Pair(first, second, *_chosen(first.name, count, keywords))
    pair.check(count)
    functions = Wrappers(pair.function)
    programs = Wrappers(lambda keywords: compiled(functions.get(keywords), first.name))

    def call(*arrays: object, **keywords: object) -> object:
        own = constants(first.name, keywords)
        specialized(first, arguments_of(first, arrays), own)  # what is wrong is wrong here, not somewhere in jax
        if not any(map(is_traced, arrays)):
            return programs.get(own)(*arrays)
        # Inside shard_map, the gradient of an array that all devices share is the sum of theirs: jax sees to it here.
        return functions.get(own)(*agreeing(cast("list[jax.Array]", arrays))[0])

    return call


def _chosen(kernel: str, inputs: int, keywords: Mapping[str, object]) -> tuple[tuple[int, ...], int]:
    """Return which inputs are saved, and how many have gradients; raise KeywordError for what says neither."""
    unknown = [name for name in keywords if name not in {"save_for_backward", "num_grad_inputs"}]
    given, number = keywords.get("save_for_backward"), keywords.get("num_grad_inputs")
    saved = list(range(inputs)) if given is None else as_items(given)
    count = inputs if number is None else as_count(number)
    indices = [as_count(item) for item in saved or ()]
    if unknown or saved is None or count is None or None in indices:
        words = ", ".join(f"{name}={value!r}" for name, value in keywords.items())
        raise KeywordError(
            f"{kernel}: {words} says nothing to differentiable_kernel",
            hint="save_for_backward=[0, 1] names inputs, num_grad_inputs=2 says how many have gradients",
        )
    return tuple(index for index in indices if index is not None), count


@jax.tree_util.register_static
@dataclass(frozen=True, slots=True)
class Like:
    """What the gradients of the inputs look like: shapes and element types."""

    rows: tuple[tuple[tuple[int, ...], jnp.dtype[Any]], ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """A kernel, the kernel of its gradients, which inputs that one takes, and of how many it returns gradients."""

    forward: Kernel
    backward: Kernel
    saved: tuple[int, ...]
    gradients: int

    def check(self, inputs: int) -> None:
        """Raise the KernelError or ArgumentCountError for two kernels that don't fit each other."""
        forward, backward = self.forward.declaration, self.backward.declaration
        for declaration in (forward, backward):
            if declaration.mutated:
                raise KernelError(
                    f"{declaration.name} writes to its inputs, and what jax differentiates must not",
                    hint="return what it writes: name it in out_specs",
                )
        if any(not 0 <= index < inputs for index in self.saved) or not 0 <= self.gradients <= inputs:
            raise ArgumentCountError(
                f"{forward.name} has {inputs} inputs, which save_for_backward={list(self.saved)} and "
                f"num_grad_inputs={self.gradients} don't fit"
            )
        takes, returns = len(self.saved) + len(forward.out_specs), len(backward.out_specs)
        if takes != len(backward.in_specs) or returns != self.gradients:
            raise ArgumentCountError(
                f"{backward.name} would get {takes} arrays ({len(self.saved)} saved, and a gradient for each of "
                f"{len(forward.out_specs)} outputs) and return {self.gradients}; it takes {len(backward.in_specs)} and "
                f"returns {returns}",
                hint="save_for_backward names the inputs to save, num_grad_inputs says how many have gradients",
            )

    def function(self, keywords: Mapping[str, object]) -> Callable[..., object]:
        """Return the function of arrays that jax differentiates, for fixed keywords."""
        shared = {name: value for name, value in keywords.items() if name in known_to(self.backward)}

        def primal(*arrays: jax.Array) -> object:
            return self.forward(*arrays, **keywords)

        def forwards(*arrays: jax.Array) -> tuple[object, tuple[Like, list[jax.Array]]]:
            like = Like(tuple((array.shape, array.dtype) for array in arrays))
            # By `joined`, whose second derivative then fails where there is none: in the backward kernel.
            return joined(*arrays), (like, [arrays[index] for index in self.saved])

        def backwards(kept: tuple[Like, list[jax.Array]], given: object) -> Gradients:
            like, saved = kept
            return self._fitting(_tuple(self.backward(*saved, *_tuple(given), **shared)), like)

        joined = differentiable(primal, forwards, backwards)
        return joined

    def _fitting(self, results: tuple[jax.Array, ...], like: Like) -> Gradients:
        """Return a gradient for each input, None for one that has none; raise ShapeError for one that does not fit."""
        found = list[jax.Array | None]()
        for index, (shape, dtype) in enumerate(like.rows):
            if index >= self.gradients or not jnp.issubdtype(dtype, jnp.floating):
                found.append(None)
                continue
            result = results[index]
            if (result.shape, result.dtype) != (shape, dtype):
                raise ShapeError(
                    f"{self.backward.name} returns {result.dtype}{list(result.shape)} for the gradient of "
                    f"{self.forward.declaration.tensors[index]}, which is {dtype}{list(shape)}"
                )
            found.append(result)
        return tuple(found)


def _tuple(value: object) -> tuple[jax.Array, ...]:
    return cast("tuple[jax.Array, ...]", value if isinstance(value, tuple) else (value,))
