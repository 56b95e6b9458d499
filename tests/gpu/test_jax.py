"""Kernels on jax arrays of a GPU, compared with jax's results and the simulator's."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import pytest

from pyptx import Tile, differentiable_kernel, kernel, ptx, reg
from pyptx.types import f32, u32

from .driver import device

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.gpu, pytest.mark.jax]

VECTOR = Tile("N", f32)


def offset() -> Any:
    """Emit the byte offset of this thread's float, for 128 threads per CTA."""
    thread, block = reg.from_(ptx.special.tid.x(), u32), reg.from_(ptx.special.ctaid.x(), u32)
    return (block * 128 + thread) * 4


def load(pointer: Any, at: Any) -> Any:
    value = reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, ptx.addr(pointer + at))
    return value


def store(pointer: Any, at: Any, value: Any) -> None:
    ptx.inst.st.global_.f32(ptx.addr(pointer + at), value)


def blocks(N: int) -> int:
    return N // 128


@kernel(in_specs=(VECTOR, VECTOR), out_specs=(VECTOR,), grid=blocks, block=128, arch="sm_80")
def product(X, W, Y, *, scale: float = 1.0):
    x, w, y = ptx.global_ptrs(X, W, Y)
    at = offset()
    store(y, at, load(x, at) * load(w, at) * scale)
    ptx.ret()


@kernel(in_specs=(VECTOR,) * 3, out_specs=(VECTOR, VECTOR), grid=blocks, block=128, arch="sm_80")
def product_gradients(X, W, G, DX, DW):
    x, w, g, dx, dw = ptx.global_ptrs(X, W, G, DX, DW)
    at = offset()
    gradient = load(g, at)
    store(dx, at, gradient * load(w, at))
    store(dw, at, gradient * load(x, at))
    ptx.ret()


@kernel(in_specs=(VECTOR,), raw_params=[("f32", "factor")], grid=blocks, block=128, arch="sm_80")
def multiply_by(X):
    (x,) = ptx.global_ptrs(X)
    at = offset()
    factor = reg.scalar(f32)
    ptx.inst.ld.param.f32(factor, ptx.addr("factor"))
    store(x, at, load(x, at) * factor)
    ptx.ret()


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTX_CPU", "quiet")


def normal(*shape: int, seed: int = 0) -> Any:
    return jax.device_put(np.random.default_rng(seed).standard_normal(shape, np.float32), jax.devices("cuda")[0])


@pytest.mark.parametrize("size", [128, 4096, 1 << 22])
@pytest.mark.parametrize("transform", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_a_kernel_computes_what_jax_computes(size: int, transform: Callable[..., Any]) -> None:
    x, w = normal(size), normal(size, seed=1)
    for _ in range(3):
        y = transform(product)(x, w)
        assert y.devices() == x.devices()
        np.testing.assert_array_equal(y, x * w)


def test_the_gpu_and_the_simulator_agree() -> None:
    x, w = normal(256), normal(256, seed=1)
    cpu = jax.devices("cpu")[0]
    simulated = product(jax.device_put(x, cpu), jax.device_put(w, cpu), scale=1.7)
    assert simulated.devices() == {cpu}
    np.testing.assert_array_equal(product(x, w, scale=1.7), simulated)


def test_two_specializations_in_one_program() -> None:
    x, w = normal(1024), normal(1024, seed=1)
    function = jax.jit(lambda x, w: (product(x, w, scale=2.0), product(x[:512], w[512:], scale=0.5), product(x, x)))
    doubled, halved, squared = function(x, w)
    np.testing.assert_array_equal(doubled, x * w * 2)
    np.testing.assert_array_equal(halved, x[:512] * w[512:] * 0.5)
    np.testing.assert_array_equal(squared, x * x)


def test_new_values_of_what_is_written_to() -> None:
    x = normal(4096)
    given = np.asarray(x)
    np.testing.assert_array_equal(multiply_by(x, factor=3.0), given * 3)
    np.testing.assert_array_equal(x, given)
    donated = x + 0
    place = donated.unsafe_buffer_pointer()
    scaled = jax.jit(lambda x: multiply_by(x, factor=-1.0), donate_argnums=0)(donated)
    assert scaled.unsafe_buffer_pointer() == place
    np.testing.assert_array_equal(scaled, -given)


def test_a_kernel_without_inputs_for_this_very_device() -> None:
    @kernel(out_specs=(VECTOR,), grid=blocks, block=128, arch="auto")
    def ones(Y):
        (y,) = ptx.global_ptrs(Y)
        store(y, offset(), reg.scalar(f32, init=1.0))
        ptx.ret()

    for cuda in jax.devices("cuda"):
        y = ones(N=1024, device=cuda)
        assert y.devices() == {cuda}
        np.testing.assert_array_equal(y, np.ones(1024))


def test_vmap_launches_for_each_item() -> None:
    x, w = normal(5, 3, 256), normal(5, 256, seed=1)
    y = jax.jit(jax.vmap(jax.vmap(product, (0, None))))(x, w)
    np.testing.assert_array_equal(y, x * w[:, None])
    np.testing.assert_array_equal(jax.vmap(lambda x: multiply_by(x, factor=2.0))(w), w * 2)


def test_gradients_are_the_backward_kernels() -> None:
    multiply = differentiable_kernel(product, product_gradients, save_for_backward=[0, 1])
    x, w = normal(2048), normal(2048, seed=1)
    for transform in (lambda f: f, jax.jit):
        dx, dw = transform(jax.grad(lambda x, w: (multiply(x, w) ** 2).sum(), (0, 1)))(x, w)
        np.testing.assert_allclose(dx, 2 * x * w * w, rtol=1e-6)
        np.testing.assert_allclose(dw, 2 * x * x * w, rtol=1e-6)


def test_loops_hold_calls() -> None:
    x, half = normal(1024), jax.device_put(np.full(1024, 0.5, np.float32), jax.devices("cuda")[0])
    np.testing.assert_array_equal(jax.lax.fori_loop(0, 20, lambda _, c: product(c, half), x), x * 0.5**20)
    scanned, each = jax.lax.scan(lambda c, _: (product(c, half), c), x, length=8)
    np.testing.assert_array_equal(scanned, x / 256)
    np.testing.assert_array_equal(each[7], x / 128)


def test_many_threads_call_at_once() -> None:
    w = normal(1 << 16, seed=1)

    def work(number: int) -> bool:
        x = normal(1 << 16, seed=number)
        for _ in range(50):
            y = product(product(x, w), w, scale=float(number % 3))
        return bool((y == x * w * w * (number % 3)).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(32)))


def test_every_device_runs_its_own() -> None:
    calls = []
    for number, cuda in enumerate(jax.devices("cuda")):
        x = jax.device_put(np.full(1 << 20, number + 1, np.float32), cuda)
        calls.append((cuda, number + 1, product(x, x)))
    for cuda, number, y in calls:
        assert y.devices() == {cuda}
        assert (y == number**2).all()


def test_shard_map_over_all_devices() -> None:
    devices = jax.devices("cuda")
    mesh = jax.sharding.Mesh(np.array(devices), ("d",))
    rows = jax.sharding.PartitionSpec("d")
    mapped = jax.shard_map(jax.vmap(product), mesh=mesh, in_specs=(rows, rows), out_specs=rows)
    x = np.random.default_rng(0).standard_normal((2 * len(devices), 512), np.float32)
    np.testing.assert_array_equal(jax.jit(mapped)(x, x), x * x)


def test_ten_thousand_calls_leave_nothing_behind() -> None:
    x, w = normal(128), normal(128, seed=1)
    cuda = jax.devices("cuda")[0]
    product(x, w).block_until_ready()
    before = cuda.memory_stats()["bytes_in_use"]
    for _ in range(10_000):
        y = product(x, w)
    np.testing.assert_array_equal(y, x * w)
    assert cuda.memory_stats()["bytes_in_use"] <= before + (1 << 16)


# --- in processes of their own ----------------------------------------------------------------------------------------

GRAPHS = """
import jax, numpy as np
from tests.gpu.test_jax import normal, product
x, w = normal(4096), normal(4096, seed=1)
function = jax.jit(lambda x, w: product(product(x, w) + 1, w) * 2)
for _ in range(20):
    np.testing.assert_allclose(function(x, w), (x * w + 1) * w * 2, rtol=1e-6)
print("right")
"""

TRAP = """
import jax
from pyptx import Tile, kernel, ptx
from pyptx.types import f32
from tests.gpu.test_jax import normal
@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=1, block=32, arch="sm_80")
def trapping(X, Y):
    ptx.inst.trap()
    ptx.ret()
try:
    jax.block_until_ready(trapping(normal(128)))
except Exception as error:
    print("caught", type(error).__name__, error)
print("alive")
"""


def run(program: str, **environment: str) -> str:
    import os

    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("commands", ["FUSION,CUSTOM_CALL", ""])
def test_calls_are_part_of_command_buffers_where_there_are_any(commands: str, tmp_path: Path) -> None:
    """XLA builds command buffers from thunks; XLA's dump of its thunks shows whether there are any."""
    flags = f"--xla_gpu_enable_command_buffer={commands} --xla_gpu_graph_min_graph_size=1"
    said = run(GRAPHS, XLA_FLAGS=f"{flags} --xla_dump_to={tmp_path} --xla_dump_hlo_as_text")
    assert "right" in said, said
    thunks = "".join(path.read_text() for path in tmp_path.glob("*thunk_sequence*"))
    assert thunks, sorted(path.name for path in tmp_path.iterdir())
    assert ("CommandBuffer" in thunks) == bool(commands)


def test_a_trap_is_an_error_and_no_crash() -> None:
    output = run(TRAP)
    assert "caught" in output
    assert "alive" in output


def test_code_is_compiled_for_this_device() -> None:
    assert product.arch == "sm_80"  # other tests ran this sm_80 kernel on this device
    assert device().capability >= (8, 0)
