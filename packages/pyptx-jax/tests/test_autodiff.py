"""Gradients: `differentiable_kernel` uses its backward kernel; a plain kernel has no gradient."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from pyptx_dsl.errors import ArgumentCountError, KernelError, KeywordError, ShapeError
from pyptx_dsl.kernels.differentiable import differentiable_kernel
from pyptx_ir.errors import PyptxError
from pyptx_jax import autodiff
from pyptx_jax.errors import NotDifferentiableError

from .kernels import (
    add_row,
    double,
    first_gradient,
    pick,
    pick_gradients,
    product,
    product_gradients,
    root,
    root_gradient,
    trapping,
    wrong_gradients,
)

pytestmark = pytest.mark.jax

KEY = jax.random.key(7)
X = jax.random.normal(KEY, (64,))
W = jax.random.normal(jax.random.fold_in(KEY, 1), (64,))
G = jax.random.normal(jax.random.fold_in(KEY, 2), (64,))

multiply = differentiable_kernel(product, product_gradients, save_for_backward=[0, 1])


def test_the_gradients_are_the_backward_kernels() -> None:
    for transform in (lambda f: f, jax.jit):
        value, pullback = jax.vjp(transform(multiply), X, W)
        np.testing.assert_array_equal(value, X * W)
        dx, dw = pullback(G)
        np.testing.assert_array_equal(dx, G * W)
        np.testing.assert_array_equal(dw, G * X)


def test_a_loss_has_value_and_gradient() -> None:
    def loss(x: jax.Array, w: jax.Array) -> jax.Array:
        return jnp.sum(jnp.sin(multiply(x, w, scale=2.0)))

    value, (dx, dw) = jax.jit(jax.value_and_grad(loss, (0, 1)))(X, W)
    np.testing.assert_allclose(value, jnp.sum(jnp.sin(2 * X * W)), rtol=1e-6)
    np.testing.assert_allclose(dx, 2 * W * jnp.cos(2 * X * W), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(dw, 2 * X * jnp.cos(2 * X * W), rtol=1e-5, atol=1e-6)


def test_gradients_agree_with_differences() -> None:
    check_grads(
        lambda x, w: multiply(jnp.asarray(x), jnp.asarray(w)), (X, W), order=1, modes=["rev"], rtol=1e-2, atol=1e-2
    )


def test_a_differentiable_kernel_is_called_like_a_kernel() -> None:
    for _ in range(3):
        np.testing.assert_array_equal(multiply(X, W), X * W)
    np.testing.assert_array_equal(jax.vmap(multiply, (0, None))(jnp.stack([X, W]), W), jnp.stack([X, W]) * W)


def test_a_call_that_was_made_before_is_not_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def long_way(*_: object) -> None:
        raise AssertionError("the long way")

    np.testing.assert_array_equal(multiply(X, W, scale=3.0), X * W * 3)
    np.testing.assert_array_equal(multiply(X, W), X * W)
    monkeypatch.setattr(autodiff, "specialized", long_way)
    np.testing.assert_array_equal(multiply(X + 1, W, scale=3.0), (X + 1) * W * 3)
    np.testing.assert_array_equal(multiply(X, np.asarray(W)), X * W)
    with pytest.raises(AssertionError, match="the long way"):
        multiply(X[:32], W)  # no program is compiled yet for this shape of X


def test_gradients_pass_vmap_scan_and_checkpoint() -> None:
    batch = jnp.stack([X, W, G])
    per_row = jax.vmap(jax.grad(lambda x: multiply(x, W).sum()))(batch)
    np.testing.assert_array_equal(per_row, jnp.broadcast_to(W, (3, 64)))
    through_vmap = jax.grad(lambda w: jax.vmap(multiply, (0, None))(batch, w).sum())(W)
    np.testing.assert_allclose(through_vmap, batch.sum(0), rtol=1e-5, atol=1e-5)

    def scanned(w: jax.Array) -> jax.Array:
        return jax.lax.scan(lambda carry, _: (multiply(carry, w), None), X, length=3)[0].sum()

    np.testing.assert_allclose(jax.grad(scanned)(W), 3 * X * W * W, rtol=1e-5)
    kept = jax.grad(lambda x: jax.checkpoint(multiply)(x, W).sum())(X)
    np.testing.assert_array_equal(kept, W)


def test_the_first_inputs_alone_may_have_gradients() -> None:
    scaled = differentiable_kernel(product, first_gradient, save_for_backward=[1], num_grad_inputs=1)
    dx, dw = jax.grad(lambda x, w: scaled(x, w).sum(), (0, 1))(X, W)
    np.testing.assert_array_equal(dx, W)
    np.testing.assert_array_equal(dw, jnp.zeros(64))


def test_the_gradients_may_come_from_a_function_that_calls_several_kernels() -> None:
    def gradients(x: jax.Array, w: jax.Array, dy: jax.Array, *, scale: float = 1.0) -> tuple[jax.Array, jax.Array]:
        dx, dw = product_gradients(x, w, dy, scale=scale)
        return double(dx), double(dw)

    function = differentiable_kernel(product, gradients, save_for_backward=[0, 1])
    for transform in (lambda f: f, jax.jit):
        dx, dw = transform(jax.grad(lambda x, w: function(x, w, scale=3.0).sum(), (0, 1)))(X, W)
        np.testing.assert_allclose(dx, 6 * W, rtol=1e-6)
        np.testing.assert_allclose(dw, 6 * X, rtol=1e-6)
    one = differentiable_kernel(product, gradients, num_grad_inputs=1)
    with pytest.raises(ArgumentCountError, match="gradients returns 2 gradients, expected 1"):
        jax.grad(lambda x: one(x, W).sum())(X)


def test_an_input_of_integers_has_no_gradient() -> None:
    chosen = differentiable_kernel(pick, pick_gradients, save_for_backward=[1])
    at = jnp.arange(64, dtype=jnp.int32)[::-1]
    np.testing.assert_array_equal(chosen(X, at), X[at])
    np.testing.assert_array_equal(jax.grad(lambda x: (chosen(x, at) * G).sum())(X), G[at])
    dx, dat = jax.grad(lambda x, at: (chosen(x, at) * G).sum(), (0, 1), allow_int=True)(X, at)
    np.testing.assert_array_equal(dx, G[at])
    assert dat.dtype == jax.dtypes.float0


def test_outputs_may_be_saved_and_integers_among_them_have_zero_gradients() -> None:
    rooted = differentiable_kernel(root, root_gradient, save_for_backward=[], save_outputs=[0])
    x = jnp.abs(X) + 1
    value, sign = rooted(x)
    np.testing.assert_allclose(value, jnp.sqrt(x), rtol=1e-6)
    np.testing.assert_array_equal(sign, jnp.ones(64, jnp.int32))
    gradient = jax.grad(lambda x: (rooted(x)[0] * G).sum())(x)
    np.testing.assert_allclose(gradient, G / (2 * jnp.sqrt(x)), rtol=1e-5)


def test_what_fails_in_a_program_is_the_simulators_own_exception() -> None:
    failing = differentiable_kernel(trapping, first_gradient, save_for_backward=[0])
    with pytest.raises(PyptxError, match="trap") as caught:
        failing(X)
    assert type(caught.value).__name__ == "KernelTrap"


# --- missing gradients ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "derivative",
    [
        lambda: jax.grad(lambda x: product(x, W).sum())(X),
        lambda: jax.grad(jax.jit(lambda x: product(x, W).sum()))(X),
        lambda: jax.jvp(lambda x: product(x, W), (X,), (G,)),
        lambda: jax.jacrev(lambda x: product(x, W))(X),
        lambda: jax.linearize(double, X),
        lambda: jax.grad(lambda x: jax.vmap(product, (0, None))(jnp.stack([x, x]), W).sum())(X),
        lambda: jax.grad(lambda x: jax.lax.scan(lambda c, _: (product(c, W), None), x, length=2)[0].sum())(X),
    ],
)
def test_a_plain_kernel_has_no_derivative(derivative: object) -> None:
    assert callable(derivative)
    with pytest.raises(NotDifferentiableError, match="plain kernel") as caught:
        derivative()
    assert "differentiable_kernel" in str(caught.value)
    assert "test_autodiff.py" in str(caught.value)
    np.testing.assert_array_equal(product(X, W), X * W)


def test_second_derivatives_are_refused() -> None:
    with pytest.raises(NotDifferentiableError, match="product_gradients is a plain kernel"):
        jax.grad(lambda x: jax.grad(lambda x: multiply(x, W).sum())(x).sum())(X)


def test_constants_pass_a_plain_kernel_in_a_gradient() -> None:
    gradient = jax.grad(lambda x: (product(jax.lax.stop_gradient(x), W) * x).sum())(X)
    np.testing.assert_array_equal(gradient, X * W)


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"save_for_backward": [0]}, ArgumentCountError, "must take 2 arrays"),
        ({"save_for_backward": [0, 2]}, ArgumentCountError, "out of range for product .inputs: 2"),
        ({"save_for_backward": "X"}, KeywordError, "invalid arguments of differentiable_kernel"),
        ({"num_grad_inputs": 1}, ArgumentCountError, "return 1; it takes 3 and returns 2"),
        ({"num_grad_inputs": 3}, ArgumentCountError, "num_grad_inputs=3"),
        ({"num_grad_inputs": "all"}, KeywordError, "invalid arguments of differentiable_kernel"),
        ({"save": [0, 1]}, KeywordError, "save="),
        ({"save_outputs": [0]}, ArgumentCountError, "must take 4 arrays"),
        ({"save_outputs": [1]}, ArgumentCountError, "outputs: 1"),
    ],
)
def test_two_kernels_that_dont_fit_are_refused(
    keywords: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        differentiable_kernel(product, product_gradients, **keywords)(X, W)


def test_kernels_that_write_to_their_inputs_are_refused() -> None:
    with pytest.raises(KernelError, match="double writes to its inputs"):
        differentiable_kernel(double, double)(X)


def test_a_gradient_of_another_shape_is_refused() -> None:
    wrong = differentiable_kernel(add_row, wrong_gradients, save_for_backward=[0, 1])
    with pytest.raises(ShapeError, match="gradient of W, expected float32"):
        jax.grad(lambda x: wrong(x, W).sum())(X.reshape(1, 64))


def test_a_call_that_does_not_fit_is_refused_at_its_line() -> None:
    with pytest.raises(ShapeError, match=r"test_autodiff\.py"):
        multiply(X, W[:32])
    with pytest.raises(ShapeError, match=r"test_autodiff\.py"):
        jax.grad(lambda x: multiply(x, W[:32]).sum())(X)
