"""Checks on several devices, as a program: XLA_FLAGS must be set before jax is imported.

Each check prints its name when it has passed.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas
from jax.sharding import NamedSharding, PartitionSpec

spec = importlib.util.spec_from_file_location("kernels", Path(__file__).with_name("kernels.py"))
assert spec is not None
assert spec.loader is not None
kernels = sys.modules["kernels"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernels)

MESH = jax.make_mesh((2,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
ROWS, WHOLE = PartitionSpec("d"), PartitionSpec()
X = jnp.arange(4 * 64, dtype=jnp.float32).reshape(4, 64)
W = jnp.linspace(1, 2, 64)


def calls_run_where_their_arrays_are() -> None:
    for device in jax.devices():
        x = jax.device_put(X, device)
        y = kernels.add_row(x, jax.device_put(W, device))
        assert y.devices() == {device}
        np.testing.assert_array_equal(y, X + W)
        z = kernels.fill(N=32, value=2.0, device=device)
        assert z.devices() == {device}


def arrays_on_different_devices_are_refused() -> None:
    first, second = jax.devices()
    try:
        kernels.add_row(jax.device_put(X, first), jax.device_put(W, second))
    except ValueError as error:
        assert type(error).__name__ == "DeviceError", error  # noqa: PT017  a program, no test
        assert "move all arrays to one device" in str(error)  # noqa: PT017  likewise
    else:
        raise AssertionError("no error")
    np.testing.assert_array_equal(kernels.add_row(jax.device_put(X, second), W), X + W)  # jax moves uncommitted array W


def shard_map_gives_each_device_its_rows() -> None:
    for check in (True, False):
        mapped = jax.shard_map(kernels.add_row, mesh=MESH, in_specs=(ROWS, WHOLE), out_specs=ROWS, check_vma=check)
        for function in (mapped, jax.jit(mapped)):
            np.testing.assert_array_equal(function(X, W), X + W)
    per_device = jax.shard_map(
        lambda x, w: jax.lax.psum(kernels.add_row(x, w), "d"), mesh=MESH, in_specs=(ROWS, WHOLE), out_specs=WHOLE
    )
    np.testing.assert_array_equal(jax.jit(per_device)(X, W), (X + W)[:2] + (X + W)[2:])
    gathered = jax.shard_map(
        lambda x, w: kernels.add_row(jax.lax.all_gather(kernels.add_row(x, w), "d", tiled=True), w),
        mesh=MESH,
        in_specs=(ROWS, WHOLE),
        out_specs=ROWS,
    )
    np.testing.assert_array_equal(jax.jit(gathered)(X, W)[:4], X + W + W)


def vmap_and_gradients_pass_shard_map() -> None:
    from pyptx_dsl.kernels.differentiable import differentiable_kernel

    multiply = differentiable_kernel(kernels.product, kernels.product_gradients)
    rows = jax.vmap(multiply, (0, None))

    def loss(x: jax.Array, w: jax.Array) -> jax.Array:
        return jax.lax.psum((rows(x, w) ** 2).sum(), "d")

    mapped = jax.jit(jax.shard_map(loss, mesh=MESH, in_specs=(ROWS, WHOLE), out_specs=WHOLE))
    dx, dw = jax.grad(mapped, (0, 1))(X, W)
    np.testing.assert_allclose(dx, 2 * X * W * W, rtol=1e-5)
    np.testing.assert_allclose(dw, (2 * X * X * W).sum(0), rtol=1e-5)


def sharded_arrays_are_gathered_for_a_call() -> None:
    x = jax.device_put(X, NamedSharding(MESH, ROWS))
    np.testing.assert_array_equal(jax.jit(kernels.add_row)(x, W), X + W)
    np.testing.assert_array_equal(kernels.add_row(x, jax.device_put(W, NamedSharding(MESH, WHOLE))), X + W)


def meshes_may_be_explicit() -> None:
    mesh = jax.make_mesh((2,), ("d",), axis_types=(jax.sharding.AxisType.Explicit,))
    with jax.set_mesh(mesh):
        x, w = jax.device_put(X, NamedSharding(mesh, ROWS)), jax.device_put(W, NamedSharding(mesh, WHOLE))
        np.testing.assert_array_equal(jax.jit(kernels.add_row)(x, w), X + W)
        y = jax.jit(jax.shard_map(kernels.add_row, in_specs=(ROWS, WHOLE), out_specs=ROWS))(x, w)
        assert jax.typeof(y).sharding.spec[0] == "d"
        np.testing.assert_array_equal(y, X + W)


def pmap_gives_each_device_an_item() -> None:
    np.testing.assert_array_equal(jax.pmap(kernels.product, in_axes=(0, None))(X[:2], W), X[:2] * W)


def a_pallas_kernel_and_ours_share_a_program_on_both_devices() -> None:
    def add_one(x_ref: jax.Array, o_ref: jax.Array) -> None:
        o_ref[...] = x_ref[...] + 1

    def both(x: jax.Array, w: jax.Array) -> jax.Array:
        y = kernels.add_row(x, w)
        return pallas.pallas_call(add_one, out_shape=jax.ShapeDtypeStruct(y.shape, y.dtype), interpret=True)(y)

    function = jax.jit(jax.shard_map(both, mesh=MESH, in_specs=(ROWS, WHOLE), out_specs=ROWS, check_vma=False))
    for _ in range(20):
        np.testing.assert_array_equal(function(X, W), X + W + 1)


def threads_on_both_devices() -> None:
    from concurrent.futures import ThreadPoolExecutor

    def work(number: int) -> bool:
        x = jax.device_put(X + number, jax.devices()[number % 2])
        return bool((kernels.add_row(kernels.add_row(x, W), W) == X + number + W + W).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(32)))


CHECKS = (
    calls_run_where_their_arrays_are,
    arrays_on_different_devices_are_refused,
    shard_map_gives_each_device_its_rows,
    vmap_and_gradients_pass_shard_map,
    sharded_arrays_are_gathered_for_a_call,
    meshes_may_be_explicit,
    pmap_gives_each_device_an_item,
    a_pallas_kernel_and_ours_share_a_program_on_both_devices,
    threads_on_both_devices,
)

if __name__ == "__main__":
    import traceback

    for check in CHECKS:
        try:
            check()
        except Exception:  # noqa: BLE001  the others are worth knowing
            traceback.print_exc()
        else:
            sys.stdout.write(f"passed {check.__name__}\n")
