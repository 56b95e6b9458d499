"""Numbers that jax traces are operands of the program: their values may differ per call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from pyptx_dsl import ptx
from pyptx_dsl.contract.scalars import Scalar
from pyptx_dsl.contract.specs import Tile
from pyptx_dsl.errors import BundleError, KeywordError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import f32, u32
from pyptx_jax.errors import NotDifferentiableError
from pyptx_jax.launches import resolve
from pyptx_jax.numbers import opened, operands_of
from pyptx_jax.records import Records

from .kernels import VECTOR, load, store, thread

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.jax

X, Y = jnp.arange(128, dtype=jnp.float32), jnp.ones(128, jnp.float32)


@kernel(
    in_specs=(VECTOR, Scalar(f32), VECTOR),
    out_specs=(VECTOR,),
    grid=lambda N: N // 32,
    block=32,
    arch="sm_80",
    raw_params=[("u32", "count")],
)
def saxpy(X, alpha, Y, Z, *, times=1):
    """Compute Z = alpha * X + Y for the first `count` elements, Z = Y for the others."""
    px, py, pz = ptx.global_ptrs(X, Y, Z)
    at, (count,) = thread(), ptx.params("count", dtype=u32)
    store(pz, at, load(py, at))
    with ptx.if_(at < count * 4):
        value = load(px, at)
        for _ in range(times):
            value = value * alpha
        store(pz, at, value + load(py, at))
    ptx.ret()


@kernel(in_specs=(Scalar(f32),), out_specs=(Tile("N", f32),), grid=lambda N: N // 32, block=32, arch="sm_80")
def fill(value, Y):
    (py,) = ptx.global_ptrs(Y)
    store(py, thread(), value)
    ptx.ret()


def expected(alpha: float, count: int) -> Any:
    return np.where(np.arange(128) < count, np.float32(alpha) * np.asarray(X) + 1, 1)


def test_a_program_is_compiled_once_for_all_values() -> None:
    jitted = jax.jit(lambda x, alpha, y, count: saxpy(x, alpha, y, count=count))
    for alpha, count in ((2.0, 64), (0.5, 3), (-1.0, 128), (2.0, 64)):
        np.testing.assert_array_equal(jitted(X, alpha, Y, count), expected(alpha, count))
        np.testing.assert_array_equal(saxpy(X, alpha, Y, count=count), expected(alpha, count))
    assert jitted._cache_size() == 1
    for alpha in (np.float32(2), jnp.asarray(2), jnp.asarray(2, jnp.bfloat16), True, np.int8(-3)):
        np.testing.assert_array_equal(jitted(X, alpha, Y, np.uint8(7)), expected(float(alpha), 7))


@pytest.mark.parametrize(
    "call",
    [
        lambda alpha: saxpy(X, Y, alpha=alpha, count=64),
        lambda alpha: saxpy(X, alpha, Y, count=jnp.asarray(64) + 0),
        lambda alpha: saxpy(np.asarray(X), alpha * 2 / 2, np.asarray(Y), count=64, times=1),
        lambda alpha: jax.lax.cond(alpha > 0, lambda a: saxpy(X, a, Y, count=64), lambda a: X, alpha),
        lambda alpha: jax.lax.fori_loop(0, 2, lambda i, _: saxpy(X, alpha, Y, count=i * 0 + 64), Y),
        jax.checkpoint(lambda a: saxpy(X, a, Y, count=64)),
    ],
    ids=["by name", "a computed size", "NumPy arrays", "cond", "fori_loop", "checkpoint"],
)
def test_a_number_is_traced_wherever_arrays_are(call: Callable[[Any], Any]) -> None:
    np.testing.assert_array_equal(jax.jit(call)(2.5), expected(2.5, 64))


def test_vmap_batches_numbers_with_and_without_arrays() -> None:
    alphas, counts = jnp.array([1.0, 2.0, 3.0]), jnp.array([3, 64, 128])
    wanted = np.stack([expected(alpha, 64) for alpha in (1.0, 2.0, 3.0)])
    np.testing.assert_array_equal(jax.vmap(lambda a: saxpy(X, a, Y, count=64))(alphas), wanted)
    batched = jax.jit(jax.vmap(lambda x, a: saxpy(x, a, Y, count=64)))(jnp.stack([X] * 3), alphas)
    np.testing.assert_array_equal(batched, wanted)
    shared = jax.jit(lambda a: jax.vmap(lambda x: saxpy(x, a, Y, count=64))(jnp.stack([X] * 3)))(2.0)
    np.testing.assert_array_equal(shared, np.stack([expected(2.0, 64)] * 3))
    both = jax.vmap(lambda a, n: saxpy(X, a, Y, count=n))(alphas, counts)
    np.testing.assert_array_equal(
        both, np.stack([expected(a, n) for a, n in zip((1, 2, 3), (3, 64, 128), strict=True)])
    )


def test_a_kernel_of_numbers_alone_is_traced() -> None:
    jitted = jax.jit(lambda value: fill(value, N=64) + fill(value=value * 2, N=64))
    for value in (1.5, -2.0):
        np.testing.assert_array_equal(jitted(value), np.full(64, 3 * value, np.float32))


def test_a_number_has_no_derivative() -> None:
    with pytest.raises(NotDifferentiableError, match="saxpy is a plain kernel"):
        jax.grad(lambda a: saxpy(X, a, Y, count=64).sum())(2.0)
    stopped = jax.grad(lambda a: saxpy(X, jax.lax.stop_gradient(a), Y, count=64).sum() + a)(2.0)
    assert stopped == 1.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda a: saxpy(X, a, Y, count=a), "count has type float32, declared u32"),
        (lambda a: saxpy(X, a * 1j, Y, count=1), "alpha has type complex64, declared f32"),
        (lambda a: saxpy(X, jnp.stack([a, a]), Y, count=1), r"alpha must be a number, got an array of shape \(2,\)"),
        (lambda a: saxpy(X, 1.0, Y, count=1, times=a), "times is traced"),
        (lambda a: fill(a, N=a.astype(int)), "N is traced"),
    ],
    ids=["a float for an integer parameter", "complex", "an array", "a template value", "a size"],
)
def test_what_a_number_cannot_be_is_an_error_while_jax_traces(call: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(KeywordError, match=words) as raised:
        jax.jit(call)(2.0)
    assert "test_numbers.py" in raised.value.where


def test_a_value_that_does_not_fit_is_an_error_when_the_program_runs() -> None:
    jitted = jax.jit(lambda count: saxpy(X, 1.0, Y, count=count))
    with pytest.raises((ValueError, RuntimeError), match="invalid value -1 of count, which is declared u32"):
        jax.block_until_ready(jitted(-1))
    np.testing.assert_array_equal(jitted(1), expected(1.0, 1))


def test_an_exported_program_takes_numbers() -> None:
    allowed = [export.DisabledSafetyCheck.custom_call("pyptx_launch")]
    program = jax.jit(lambda x, a: saxpy(x, a, Y, count=64))
    exported = export.export(program, platforms=["cpu", "cuda"], disabled_checks=allowed)(X, jnp.float32(0))
    loaded = export.deserialize(exported.serialize())
    np.testing.assert_array_equal(loaded.call(X, jnp.float32(2.5)), expected(2.5, 64))


def record() -> dict[str, Any]:
    special = opened(fill.specialize((), {"N": 32, "value": 0}), ("value",))
    made: dict[str, Any] = json.loads(Records(1).write(special, None, operands_of({"value": jnp.float32(0)})))
    return made


@pytest.mark.parametrize(
    "operands", [None, {}, [], {"other": "float32"}, {"value": "key<fry>"}, {"value": "float32", "N": "int32"}, 3]
)
def test_a_record_whose_operands_are_not_its_open_scalars_is_refused(operands: object) -> None:
    sound = record()
    assert Records(1).read(json.dumps(sound)).operands[0].name == "value"
    damaged = (
        sound | {"operands": operands} if operands is not None else {k: sound[k] for k in sound if k != "operands"}
    )
    with pytest.raises(BundleError, match="other operands than the kernel's scalars"):
        Records(1).read(json.dumps(damaged))


def test_a_gpu_refuses_a_traced_number_and_says_why() -> None:
    with pytest.raises(RuntimeError, match=r"value cannot be traced on a GPU: a launch .* by value"):
        resolve("CUDA", json.dumps(record()).encode())
