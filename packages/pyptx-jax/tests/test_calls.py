"""Kernel calls with jax arrays: results, for every kind of array and under jit."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pyptx_dsl import types
from pyptx_dsl.contract.specs import Layout
from pyptx_jax import cpu
from pyptx_jax.runtime import launcher

from .kernels import accumulate, add_row, copy_of, double, fill, product, product_gradients, writes_to_its_input

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.jax

X = np.linspace(-3, 3, 64, dtype=np.float32)
W = np.linspace(5, 9, 64, dtype=np.float32)


@pytest.fixture
def x() -> jax.Array:
    return jnp.asarray(X)


@pytest.fixture
def w() -> jax.Array:
    return jnp.asarray(W)


def test_one_output_is_an_array(x: jax.Array, w: jax.Array) -> None:
    for _ in range(3):  # first kernel call: slow path of jax calls; later calls: fast path
        y = product(x, w)
        assert isinstance(y, jax.Array)
        np.testing.assert_array_equal(y, X * W)


def test_several_outputs_are_a_tuple(x: jax.Array, w: jax.Array) -> None:
    for call in (product_gradients, jax.jit(product_gradients)):
        dx, dw = call(x, w, x)
        np.testing.assert_array_equal(dx, X * W)
        np.testing.assert_array_equal(dw, X * X)


def test_a_call_inside_jit_is_part_of_the_program(x: jax.Array, w: jax.Array) -> None:
    function = jax.jit(lambda x, w: product(x + 1, w, scale=2.0) - w)
    np.testing.assert_array_equal(function(x, w), (X + 1) * W * 2 - W)
    assert function.trace(x, w).jaxpr.pretty_print(use_color=False).count("ffi_call") == 1


def test_keywords_make_programs_of_their_own(x: jax.Array, w: jax.Array) -> None:
    for _ in range(2):
        for scale in (1.0, 2.0, 0.5, jnp.float32(4)):
            np.testing.assert_array_equal(product(x, w, scale=scale), X * W * np.float32(scale))
    static = jax.jit(lambda x, w, scale: product(x, w, scale=scale), static_argnames="scale")
    np.testing.assert_array_equal(static(x, w, scale=3.0), X * W * 3)


def test_shapes_make_programs_of_their_own() -> None:
    for rows, columns in ((2, 32), (3, 32), (2, 64), (2, 32)):
        x = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
        w = np.arange(columns, dtype=np.float32)
        np.testing.assert_array_equal(add_row(jnp.asarray(x), jnp.asarray(w)), x + w)


def test_numpy_arrays_may_stand_beside_jax_arrays(x: jax.Array) -> None:
    y = product(x, W)
    assert isinstance(y, jax.Array)
    np.testing.assert_array_equal(y, X * W)
    np.testing.assert_array_equal(jax.jit(product)(X, W), X * W)


def test_a_kernel_that_writes_to_its_input_returns_the_new_value(x: jax.Array) -> None:
    for call in (double, jax.jit(double)):
        np.testing.assert_array_equal(call(x), 2 * X)
        np.testing.assert_array_equal(x, X)  # the kernel wrote to a copy: jax arrays are immutable


def test_new_values_come_behind_the_outputs(x: jax.Array, w: jax.Array) -> None:
    for call in (accumulate, jax.jit(accumulate), jax.jit(accumulate, donate_argnums=1)):
        old, total = call(x, w + 0)
        np.testing.assert_array_equal(old, W)
        np.testing.assert_array_equal(total, W + X)


def test_a_donated_array_is_written_in_place(x: jax.Array) -> None:
    given = x + 0
    address = given.unsafe_buffer_pointer()
    assert jax.jit(double, donate_argnums=0)(given).unsafe_buffer_pointer() == address


def test_an_input_that_is_written_to_against_the_declaration_stays_as_it_is(x: jax.Array) -> None:
    with pytest.raises(Exception, match="wrote to read-only array X"):
        writes_to_its_input(x)
    np.testing.assert_array_equal(x, X)


def test_only_the_memory_of_outputs_and_of_mutated_inputs_can_be_written(
    x: jax.Array, w: jax.Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_of(*_: object) -> Callable[[list[memoryview]], None]:
        return lambda memory: given.append([view.readonly for view in memory])

    given = list[list[bool]]()
    monkeypatch.setattr(cpu, "run_of", run_of)
    for arrays in ((x[:32], w[:32]), (jnp.stack([x] * 3), w)):
        function = accumulate if arrays[0].ndim == 1 else jax.vmap(accumulate, (0, None))
        jax.block_until_ready(jax.jit(function)(*arrays))
    assert given == [[True, False, False]] * 4  # X is read-only, TOTAL and OLD are not, in 1 launch and in 3 of a vmap


def test_a_kernel_without_inputs_runs_where_it_is_told() -> None:
    device = jax.devices()[0]
    for value in (1.5, -2.0):
        y = fill(N=32, value=value, device=device)
        assert y.devices() == {device}
        np.testing.assert_array_equal(y, np.full(32, value, np.float32))
    function = jax.jit(lambda: fill(N=32, value=3.0, device=device) + 1)
    np.testing.assert_array_equal(function(), np.full(32, 4, np.float32))


TYPES = {
    "u8": "uint8",
    "s8": "int8",
    "u16": "uint16",
    "s16": "int16",
    "u32": "uint32",
    "s32": "int32",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "ue8m0": "float8_e8m0fnu",
}


@pytest.mark.parametrize(("ptx", "name"), TYPES.items())
def test_element_types_pass_bit_by_bit(ptx: str, name: str) -> None:
    bits = np.random.default_rng(1).integers(0, 256, (3, 32 * jnp.dtype(name).itemsize), np.uint8)
    x = jnp.asarray(bits.view(jnp.dtype(name)))
    y = copy_of(types.from_name(ptx))(x)
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(y).view(np.uint8), bits)


@pytest.mark.parametrize(("ptx", "name"), {"u64": "uint64", "s64": "int64", "f64": "float64", "b64": "uint64"}.items())
def test_types_of_64_bits_need_x64(ptx: str, name: str) -> None:
    values = np.arange(64).reshape(2, 32)
    with jax.enable_x64(True):  # noqa: FBT003  jax's own signature
        y = copy_of(types.from_name(ptx))(jnp.asarray(values, name))
        assert y.dtype == name
        np.testing.assert_array_equal(y, values)
    with pytest.raises(TypeError, match="jax_enable_x64"):
        copy_of(types.from_name(ptx))(jnp.asarray(values, jnp.float32))


@pytest.mark.parametrize(("ptx", "name"), {"b8": "uint8", "b16": "uint16", "b32": "uint32", "tf32": "float32"}.items())
def test_types_that_jax_lacks_come_back_as_those_that_store_them(ptx: str, name: str) -> None:
    x = jnp.arange(32, dtype=name).reshape(1, 32)
    y = copy_of(types.from_name(ptx))(x)
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, x)


def test_bool_is_a_byte(x: jax.Array) -> None:
    mask = (x[:32] > 0).reshape(1, 32)
    np.testing.assert_array_equal(copy_of(types.u8)(mask), np.asarray(mask).astype(np.uint8))


def test_columns_are_laid_out_by_xla() -> None:
    x = jnp.arange(4 * 32, dtype=jnp.float32).reshape(4, 32)
    column_major = copy_of(types.f32, Layout.COL)
    np.testing.assert_array_equal(column_major(x), x)
    np.testing.assert_array_equal(jax.vmap(column_major)(jnp.stack([x, 2 * x])), jnp.stack([x, 2 * x]))
    text = jax.jit(column_major).trace(x).lower(lowering_platforms=("cuda",)).as_text()
    assert "operand_layouts = [dense<[0, 1]>" in text
    assert "result_layouts = [dense<[0, 1]>" in text


def test_simulate_finds_faults_and_returns_jax_arrays(x: jax.Array, w: jax.Array) -> None:
    result = product.simulate(x, w)
    assert result.findings == ()
    assert isinstance(result.outputs[0], jax.Array)
    np.testing.assert_array_equal(result.outputs[0], X * W)


def test_a_program_for_a_gpu_carries_kernel_and_aliases(x: jax.Array, w: jax.Array) -> None:
    lowered = jax.jit(accumulate).trace(x, w).lower(lowering_platforms=("cuda",))
    text = lowered.as_text()
    assert text.count("custom_call @pyptx_launch") == 1
    assert ".visible .entry accumulate(" in text
    where = lowered.as_text(debug_info=True)
    assert "test_calls.py" in where
    assert "pyptx_dsl" not in where
    assert "output_tuple_indices = [1], operand_index = 1" in text
    assert "-> (tensor<64xf32>, tensor<64xf32>)" in text


def test_a_jaxpr_shows_the_kernels_name_and_not_its_text(x: jax.Array, w: jax.Array) -> None:
    shown = str(jax.make_jaxpr(product)(x, w))
    assert "name=product" in shown
    assert "<product " in shown
    assert ".entry" not in shown


def test_the_shape_of_the_result_is_known_without_running(x: jax.Array, w: jax.Array) -> None:
    struct = jax.eval_shape(add_row, jax.ShapeDtypeStruct((3, 64), jnp.float32), w)
    assert (struct.shape, struct.dtype) == ((3, 64), jnp.float32)
    assert jax.eval_shape(double, x).shape == (64,)


def test_the_short_way_is_short_whoever_was_first(x: jax.Array, w: jax.Array) -> None:
    def miss(*arrays: object, **keywords: object) -> None:
        missed.append((arrays, keywords))

    def made() -> Callable[..., object]:
        launchers.append(launcher(product, miss))
        return launchers[-1]

    missed: list[object] = []
    launchers: list[Callable[..., object]] = []
    jax.jit(lambda x: x + (made() is not None))(x)
    for launch in (*launchers, made()):
        np.testing.assert_array_equal(launch(x, w), X * W)
        assert not missed
        np.testing.assert_array_equal(launch(x, W), X * W)  # NumPy and jax arrays may be mixed
        assert not missed
        wide, swapped = W.astype(np.float64), W.astype(">f4")
        for arrays, keywords in (
            ((X, W), {}),
            ((x, wide), {}),
            ((x, swapped), {}),
            ((x, [1.0]), {}),
            ((), {}),
            ((x, w), {"factor": 2.0}),
            ((x, w), {"scale": jnp.ones(())}),
        ):
            launch(*arrays, **keywords)
            assert missed.pop() == (arrays, keywords)


def test_a_kernel_that_nobody_holds_goes(x: jax.Array) -> None:
    kernel = copy_of(types.f32)
    for _ in range(3):
        kernel(x.reshape(2, 32))
    gone = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert gone() is None


EXIT = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("kernels", sys.argv[1])
kernels = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernels)
import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

import jax
function = jax.jit(lambda x: x.at[0].set(kernels.double((x @ x)[0])))
x = jax.numpy.ones((1024, 1024))
for _ in range(3):
    x = function(x)
"""


@pytest.mark.long
def test_a_process_may_end_while_a_kernel_runs() -> None:
    kernels = Path(__file__).with_name("kernels.py")
    words = [sys.executable, "-c", EXIT, str(kernels)]
    done = subprocess.run(words, env={**os.environ, "PYPTX_CPU": "quiet"}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
