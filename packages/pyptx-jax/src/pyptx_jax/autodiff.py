"""`differentiable_kernel` on jax arrays: a `jax.custom_vjp` of two kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import jax
import jax.numpy as jnp

from pyptx_dsl.errors import ArgumentCountError, KernelError, KeywordError, ShapeError
from pyptx_dsl.kernels.differentiable import declaration_of, keywords_of, name_of
from pyptx_dsl.registers.operands import as_count, as_items
from pyptx_jax.arguments import arguments_of
from pyptx_jax.calls import specialized
from pyptx_jax.eager import straight_to
from pyptx_jax.failures import answer
from pyptx_jax.framework import agreeing, compiled, differentiable, is_traced, zeros
from pyptx_jax.keywords import constants
from pyptx_jax.wrappers import Wrappers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_dsl.kernels.differentiable import Backward
    from pyptx_dsl.kernels.kernel import Kernel
    from pyptx_ir.plugins.rows import Launchable

Gradients = tuple["jax.Array | None", ...]


def join(forward: Launchable, backward: Backward, keywords: Mapping[str, object]) -> Callable[..., object]:
    """Return a function of jax arrays that runs `forward`, and whose gradients are what `backward` returns.

    `backward`, a kernel or a function that calls several, takes the saved inputs, the saved outputs, then the gradient
    of each output, and returns the gradients of the first `num_grad_inputs` inputs, all by default. `save_for_backward`
    are the indices of the inputs to save, all by default; `save_outputs` those of the outputs, none by default.
    Keywords of a call go to `forward`, and to `backward` those that it knows. Raise the KernelError or
    ArgumentCountError of two kernels that don't fit.
    """
    pair = _pair(cast("Kernel", forward), backward, keywords)
    pair.check()
    first = pair.forward
    functions = Wrappers(pair.function)
    programs = Wrappers(lambda keywords: compiled(functions.get(keywords), first.name))

    def call(*arrays: object, **keywords: object) -> object:
        own = constants(first.name, keywords)
        specialized(first, arguments_of(first, arrays), own)  # what is wrong is wrong here, not somewhere in jax
        if not any(map(is_traced, arrays)):
            return answer(programs.get(own), arrays)
        # Inside shard_map, the gradient of an array that all devices share is the sum of theirs: jax sees to it here.
        return functions.get(own)(*agreeing(cast("list[jax.Array]", arrays))[0])

    return straight_to(programs, call)


_WORDS: Final = ("save_for_backward", "save_outputs", "num_grad_inputs")


def _pair(forward: Kernel, backward: Backward, keywords: Mapping[str, object]) -> Pair:
    """Return the pair for the keywords of `differentiable_kernel`; raise KeywordError for what means nothing."""
    count = len(forward.declaration.tensors) - len(forward.declaration.out_specs)
    given, number = keywords.get("save_for_backward"), keywords.get("num_grad_inputs")
    inputs = _indices(list(range(count)) if given is None else given)
    outputs = _indices(keywords.get("save_outputs", ()))
    gradients = count if number is None else as_count(number)
    if set(keywords) - set(_WORDS) or inputs is None or outputs is None or gradients is None:
        words = ", ".join(f"{name}={value!r}" for name, value in keywords.items())
        raise KeywordError(
            f"{forward.name}: {words} says nothing to differentiable_kernel",
            hint="save_for_backward=[0, 1] names inputs, save_outputs=[0] outputs, num_grad_inputs=2 says how many "
            "inputs have gradients",
        )
    return Pair(forward, backward, inputs, outputs, gradients)


def _indices(given: object) -> tuple[int, ...] | None:
    found = [as_count(item) for item in as_items(given) or ()]
    if as_items(given) is None or None in found:
        return None
    return tuple(index for index in found if index is not None)


Row = tuple[tuple[int, ...], "jnp.dtype[Any]"]


@jax.tree_util.register_static
@dataclass(frozen=True, slots=True)
class Like:
    """Shapes and element types: of the inputs, as of their gradients, and of the outputs."""

    inputs: tuple[Row, ...]
    outputs: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """A kernel, the kernel of its gradients, what that one takes, and of how many inputs it returns gradients."""

    forward: Kernel
    backward: Backward
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    gradients: int

    def check(self) -> None:
        """Raise the KernelError or ArgumentCountError of two kernels that don't fit each other."""
        forward, backward = self.forward.declaration, declaration_of(self.backward)
        for declaration in (forward, backward) if backward else (forward,):
            if declaration.mutated:
                raise KernelError(
                    f"{declaration.name} writes to its inputs, and what is differentiated must not",
                    hint="return what it writes: name it in out_specs",
                )
        outputs = len(forward.out_specs)
        inputs = len(forward.tensors) - outputs
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
                f"{backward.name} would get {takes} arrays ({saved} saved, and a gradient for each of {outputs} "
                f"outputs) and return {self.gradients}; it takes {len(backward.in_specs)} and returns {returns}",
                hint="save_for_backward names the inputs to save, save_outputs the outputs, and num_grad_inputs says "
                "how many inputs have gradients",
            )

    def function(self, keywords: Mapping[str, object]) -> Callable[..., object]:
        """Return the function of arrays that jax differentiates, for fixed keywords."""
        shared = {name: value for name, value in keywords.items() if name in keywords_of(self.backward)}

        def primal(*arrays: jax.Array) -> object:
            return self.forward(*arrays, **keywords)

        def forwards(*arrays: jax.Array) -> tuple[object, tuple[Like, list[jax.Array]]]:
            # By `joined`, whose second derivative then fails where there is none: in the backward kernel.
            result = joined(*arrays)
            results = _tuple(result)
            saved = [*(arrays[index] for index in self.inputs), *(results[index] for index in self.outputs)]
            return result, (Like(_rows(arrays), _rows(results)), saved)

        def backwards(kept: tuple[Like, list[jax.Array]], given: object) -> Gradients:
            like, saved = kept
            gradients = [_numbers(each, row) for each, row in zip(_tuple(given), like.outputs, strict=True)]
            run = cast("Callable[..., object]", self.backward)
            return self._fitting(_tuple(run(*saved, *gradients, **shared)), like)

        joined = differentiable(primal, forwards, backwards)
        return joined

    def _fitting(self, results: tuple[jax.Array, ...], like: Like) -> Gradients:
        """Return a gradient for each input, None for one that has none; raise ShapeError for one that does not fit."""
        if len(results) != self.gradients:
            raise ArgumentCountError(
                f"{name_of(self.backward)} returns {len(results)} gradients; {self.gradients} inputs have one",
                hint="num_grad_inputs says how many inputs have gradients",
            )
        found = list[jax.Array | None]()
        for index, (shape, dtype) in enumerate(like.inputs):
            if index >= self.gradients or not jnp.issubdtype(dtype, jnp.floating):
                found.append(None)
                continue
            result = results[index]
            if (result.shape, result.dtype) != (shape, dtype):
                raise ShapeError(
                    f"{name_of(self.backward)} returns {result.dtype}{list(result.shape)} for the gradient of "
                    f"{self.forward.declaration.tensors[index]}, which is {dtype}{list(shape)}"
                )
            found.append(result)
        return tuple(found)


def _rows(arrays: Sequence[jax.Array]) -> tuple[Row, ...]:
    return tuple((array.shape, array.dtype) for array in arrays)


def _numbers(gradient: jax.Array, row: Row) -> jax.Array:
    """Return the gradient of an output as a kernel takes it: of integers, which have none, zeros."""
    return zeros(*row) if gradient.dtype == jax.dtypes.float0 else gradient


def _tuple(value: object) -> tuple[jax.Array, ...]:
    return cast("tuple[jax.Array, ...]", value if isinstance(value, tuple) else (value,))
