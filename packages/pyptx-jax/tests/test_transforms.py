"""jax transformations of kernel calls equal a loop of calls over the batch items, or the same formula in plain jax."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas

from pyptx_dsl import types

from .kernels import accumulate, add_row, copy_of, double, product, product_gradients

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.jax

KEY = jax.random.key(3)
X = jax.random.normal(KEY, (3, 4, 64))
W = jax.random.normal(jax.random.fold_in(KEY, 1), (3, 64))


def reference(x: jax.Array, w: jax.Array) -> jax.Array:
    return x * w


@pytest.mark.parametrize(
    ("axes", "x", "w"),
    [
        ((0, 0), X[:, 0], W),
        ((0, None), X[:, 0], W[0]),
        ((None, 0), X[0, 0], W),
        ((1, 0), X[:, 0].T, W),
        ((1, 1), X[:, 0].T, W.T),
        ((-1, None), X[:, 0].T, W[0]),
    ],
    ids=str,
)
def test_vmap_is_a_launch_for_each_item(axes: tuple[int | None, int | None], x: jax.Array, w: jax.Array) -> None:
    for transform in (lambda f: f, jax.jit):
        ours = transform(jax.vmap(product, axes))(x, w)
        np.testing.assert_array_equal(ours, jax.vmap(reference, axes)(x, w))


def test_vmap_is_one_call_without_copies() -> None:
    text = str(jax.make_jaxpr(jax.vmap(product, (0, None)))(W, W[0]))
    assert text.count("ffi_call") == 1
    assert "scan" not in text
    assert "vmap_method=expand_dims" in text


def test_nested_vmaps() -> None:
    ours = jax.vmap(jax.vmap(product, (0, None)), (0, 0))(X, W)
    np.testing.assert_array_equal(ours, X * W[:, None])
    outer = jax.vmap(jax.vmap(product, (None, 0)), (0, None))(X[:, 0], W)
    np.testing.assert_array_equal(outer, X[:, 0][:, None] * W[None])
    named = jax.vmap(lambda x: product(x, W[0]) + jax.lax.psum(x, "rows"), axis_name="rows")(W)
    np.testing.assert_allclose(named, W * W[0] + W.sum(0), rtol=1e-6)


def test_vmap_of_several_outputs_and_of_out_axes() -> None:
    dx, dw = jax.vmap(product_gradients, (0, None, 0), out_axes=(0, 1))(W, W[0], W)
    np.testing.assert_array_equal(dx, W * W[0])
    np.testing.assert_array_equal(dw, (W * W).T)


def test_vmap_of_a_kernel_that_writes_to_its_inputs() -> None:
    np.testing.assert_array_equal(jax.vmap(double)(W), 2 * W)
    old, total = jax.vmap(accumulate, (0, None))(W, X[0, 0])
    np.testing.assert_array_equal(old, jnp.broadcast_to(X[0, 0], W.shape))
    np.testing.assert_array_equal(total, W + X[0, 0])
    np.testing.assert_array_equal(jax.vmap(jax.vmap(double))(X), 2 * X)


def test_items_that_would_start_unaligned_are_taken_one_by_one() -> None:
    small = copy_of(types.u8)  # a vmap item has 32 bytes, not a multiple of the 128-byte alignment
    x = jnp.arange(5 * 32, dtype=jnp.uint8).reshape(5, 1, 32)
    np.testing.assert_array_equal(jax.vmap(small)(x), x)
    assert "scan" in str(jax.make_jaxpr(jax.vmap(small))(x))


def test_an_empty_batch() -> None:
    assert jax.vmap(product)(W[:0], W[:0]).shape == (0, 64)


def test_loops_and_branches_hold_calls() -> None:
    x, w = W[0], jnp.full(64, 0.5)
    scanned, each = jax.lax.scan(lambda c, w: (product(c, w), c), x, jnp.stack([w, w, w]))
    np.testing.assert_array_equal(scanned, x / 8)
    np.testing.assert_array_equal(each, jnp.stack([x, x / 2, x / 4]))
    np.testing.assert_array_equal(jax.lax.fori_loop(0, 5, lambda _, c: product(c, w), x), x / 32)
    np.testing.assert_array_equal(jax.lax.while_loop(lambda c: c[0] > -8, double, -jnp.ones(64)), jnp.full(64, -8.0))
    branch = jax.jit(lambda p: jax.lax.cond(p, product, lambda x, w: double(x) + w, x, w))
    np.testing.assert_array_equal(branch(True), x / 2)  # noqa: FBT003  the branch that is taken
    np.testing.assert_array_equal(branch(False), 2 * x + w)  # noqa: FBT003  the other
    np.testing.assert_array_equal(jax.lax.map(lambda x: product(x, w), W), W / 2)


def test_a_pallas_kernel_and_ours_in_one_program() -> None:
    def add_one(x_ref: jax.Array, o_ref: jax.Array) -> None:
        o_ref[...] = x_ref[...] + 1

    def theirs(x: jax.Array) -> jax.Array:
        return pallas.pallas_call(add_one, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True)(x)

    function = jax.jit(lambda x, w: theirs(product(theirs(x), w)))
    for _ in range(3):
        np.testing.assert_array_equal(function(W[0], W[1]), (W[0] + 1) * W[1] + 1)


def test_jit_may_be_off() -> None:
    with jax.disable_jit():
        np.testing.assert_array_equal(product(W[0], W[1]), W[0] * W[1])
        np.testing.assert_array_equal(jax.jit(product)(W[0], W[1]), W[0] * W[1])
        np.testing.assert_array_equal(jax.vmap(product, (0, None))(W, W[1]), W * W[1])


def test_nans_are_found() -> None:
    with jax.debug_nans(True):  # noqa: FBT003  jax's own signature
        np.testing.assert_array_equal(product(W[0], W[1]), W[0] * W[1])
        with pytest.raises(FloatingPointError, match="nan"):
            product(W[0].at[3].set(jnp.inf), jnp.zeros(64))


@pytest.mark.parametrize("transform", [jax.checkpoint, jax.jit, jax.named_call], ids=lambda f: f.__name__)
def test_wrappers_of_jax_let_calls_through(transform: Callable[..., Callable[..., jax.Array]]) -> None:
    np.testing.assert_array_equal(transform(lambda x, w: product(x, w))(W[0], W[1]), W[0] * W[1])  # noqa: PLW0108  a plain function


def test_programs_are_compiled_ahead_of_time() -> None:
    compiled = jax.jit(add_row).lower(X[0], W[0]).compile()
    np.testing.assert_array_equal(compiled(X[0], W[0]), X[0] + W[0])


def test_threads_call_at_once() -> None:
    from concurrent.futures import ThreadPoolExecutor

    def work(number: int) -> bool:
        x = W[number % 3]
        return bool((product(x, W[0], scale=float(number % 4 + 1)) == x * W[0] * (number % 4 + 1)).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(64)))
