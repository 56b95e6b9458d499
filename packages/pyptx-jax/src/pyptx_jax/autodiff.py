"""`differentiable_kernel` on jax arrays: a `jax.custom_vjp` of two kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import jax
import jax.numpy as jnp

from pyptx_dsl.errors import ShapeError
from pyptx_dsl.kernels.differentiable import name_of
from pyptx_dsl.kernels.pairs import pair_of
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
    from pyptx_dsl.kernels.pairs import KernelPair

Gradients = tuple["jax.Array | None", ...]


def join(forward: Kernel, backward: Backward, keywords: Mapping[str, object]) -> Callable[..., object]:
    """Return a function of jax arrays that runs `forward`, and whose gradients `backward` computes.

    `keywords` are the keyword arguments of `pyptx.differentiable_kernel`. A call passes its own keywords to `forward`,
    and to `backward` those of them that `backward` accepts. Raises the same errors as `pair_of`, which checks that the
    two kernels' arguments fit together.
    """
    pair = pair_of(forward, backward, keywords, "arrays")
    functions = Wrappers(lambda keywords: _function(pair, keywords))
    programs = Wrappers(lambda keywords: compiled(functions.get(keywords), forward.name))

    def call(*arrays: object, **keywords: object) -> object:
        own = constants(forward.name, keywords)
        # Raises the errors of an invalid call before jax traces the call.
        specialized(forward, arguments_of(forward, arrays), own)
        if not any(map(is_traced, arrays)):
            return answer(programs.get(own), arrays)
        # Inside shard_map, the gradient of a replicated array is the sum of the devices' gradients. jax derives
        # this sum from the pcast that `agreeing` inserts.
        return functions.get(own)(*agreeing(cast("list[jax.Array]", arrays))[0])

    return straight_to(programs, call)


Row = tuple[tuple[int, ...], "jnp.dtype[Any]"]


@jax.tree_util.register_static
@dataclass(frozen=True, slots=True)
class Like:
    """Shapes and element types of a kernel's inputs (and their gradients) and of its outputs."""

    inputs: tuple[Row, ...]
    outputs: tuple[Row, ...]


def _function(pair: KernelPair, keywords: Mapping[str, object]) -> Callable[..., object]:
    """Return a `jax.custom_vjp` function of the kernel's arrays, for fixed values of the call's keywords."""

    def primal(*arrays: jax.Array) -> object:
        return pair.forward(*arrays, **keywords)

    def forwards(*arrays: jax.Array) -> tuple[object, tuple[Like, list[jax.Array]]]:
        # Calls `joined`, not the forward kernel: a second derivative then raises the error of the backward kernel.
        result = joined(*arrays)
        results = _tuple(result)
        return result, (Like(_rows(arrays), _rows(results)), pair.saved(arrays, results))

    def backwards(kept: tuple[Like, list[jax.Array]], given: object) -> Gradients:
        like, saved = kept
        gradients = [_numbers(each, row) for each, row in zip(_tuple(given), like.outputs, strict=True)]
        return _fitting(pair, _tuple(pair.run_backward([*saved, *gradients], keywords)), like)

    joined = differentiable(primal, forwards, backwards)
    return joined


def _fitting(pair: KernelPair, results: tuple[jax.Array, ...], like: Like) -> Gradients:
    """Return each input's gradient, or None; raise ShapeError if a gradient lacks its input's shape and dtype."""
    pair.check_returned(len(results))
    found = list[jax.Array | None]()
    for index, (shape, dtype) in enumerate(like.inputs):
        if index >= pair.gradients or not jnp.issubdtype(dtype, jnp.floating):
            found.append(None)
            continue
        result = results[index]
        if (result.shape, result.dtype) != (shape, dtype):
            raise ShapeError(
                f"{name_of(pair.backward)} returns {result.dtype}{list(result.shape)} for the gradient of "
                f"{pair.forward.declaration.tensors[index]}, expected {dtype}{list(shape)}"
            )
        found.append(result)
    return tuple(found)


def _rows(arrays: Sequence[jax.Array]) -> tuple[Row, ...]:
    return tuple((array.shape, array.dtype) for array in arrays)


def _numbers(gradient: jax.Array, row: Row) -> jax.Array:
    """Return an output's gradient as a kernel argument; zeros for an integer output, which has no gradient in jax."""
    return zeros(*row) if gradient.dtype == jax.dtypes.float0 else gradient


def _tuple(value: object) -> tuple[jax.Array, ...]:
    return cast("tuple[jax.Array, ...]", value if isinstance(value, tuple) else (value,))
