"""Calls with empty arrays of NumPy, torch and jax are legal; if the grid has no CTAs, no kernel runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx import Layout, Tile, kernel, ptx, reg
from pyptx.types import f32, u32
from pyptx_dsl.errors import LaunchError, ShapeError
from pyptx_sim.errors import FindingWarning

pytestmark = pytest.mark.filterwarnings("ignore::pyptx_ir.errors.SimulatedExecution")


def doubling(grid: Any, block: int = 32, layout: Any = Layout.ROW, align: int = 4) -> Any:
    """Y = 2 X for tiles of M x N."""
    tile = Tile("M", "N", f32, layout, align=align)

    @kernel(in_specs=(tile,), out_specs=(tile,), grid=grid, block=block)
    def doubled(X, Y):
        m, n = X.shape
        px, py = ptx.global_ptrs(X, Y)
        threads = reg.from_(ptx.special.ntid.x(), u32)
        at = reg.from_(ptx.special.ctaid.x(), u32) * threads + reg.from_(ptx.special.tid.x(), u32)
        with ptx.if_(at < m * n):
            value = reg.scalar(f32)
            ptx.inst.ld.global_.f32(value, ptx.addr(px + at * 4))
            ptx.inst.st.global_.f32(ptx.addr(py + at * 4), value + value)
        ptx.ret()

    return doubled


by_elements = doubling(lambda M, N: -(-M * N // 32))
fixed = doubling(2)
columns = doubling(lambda M, N: -(-M * N // 32), layout=Layout.COL, align=32)
SHAPES = [(0, 4), (4, 0), (0, 0), (3, 4)]


@kernel(in_specs=(Tile("M", "N", f32),), out_specs=(Tile("N", f32),), grid=lambda M, N: -(-M // 32), block=32)
def total(X, Y):
    """Y = the first row of X, with a grid that depends on the number of rows."""
    px, py = ptx.global_ptrs(X, Y)
    at = reg.from_(ptx.special.tid.x(), u32)
    with ptx.if_(at < X.shape[1]):
        value = reg.scalar(f32)
        ptx.inst.ld.global_.f32(value, ptx.addr(px + at * 4))
        ptx.inst.st.global_.f32(ptx.addr(py + at * 4), value)
    ptx.ret()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("run", [by_elements, fixed], ids=["by elements", "fixed"])
def test_numpy_arrays_of_any_size_are_doubled(run: Any, shape: tuple[int, int]) -> None:
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    found = run.simulate(x)
    out = np.empty(shape, np.float32)
    for y in (run(x), found.outputs[0], run(x, out=out), run.simulate(x, out=out).outputs[0]):
        assert (type(y), y.shape, y.dtype) == (np.ndarray, shape, np.float32)
        assert (y == 2 * x).all()
    assert found.clean
    assert found.statistics.ctas == (2 if run is fixed else -(-x.size // 32))


@pytest.mark.torch
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("run", [by_elements, fixed], ids=["by elements", "fixed"])
@pytest.mark.long
def test_tensors_of_any_size_are_doubled(run: Any, shape: tuple[int, int]) -> None:
    import torch

    torch._dynamo.reset()
    x = torch.arange(shape[0] * shape[1], dtype=torch.float32).reshape(shape)
    compiled = torch.compile(run.__call__, backend="aot_eager", fullgraph=True)
    for y in (run(x), compiled(x), run(x, out=torch.empty(shape)), run.simulate(x).outputs[0]):
        assert y.shape == shape
        assert torch.equal(y, 2 * x)
    batch = torch.vmap(run)(torch.stack([x, x + 1]))
    assert torch.equal(batch, torch.stack([2 * x, 2 * x + 2]))


@pytest.mark.torch
@pytest.mark.long
def test_a_graph_for_sizes_that_vary_takes_none_too() -> None:
    import torch

    torch._dynamo.reset()
    compiled = torch.compile(by_elements.__call__, backend="aot_eager", fullgraph=True, dynamic=True)
    for rows in (3, 5, 0, 7):
        x = torch.ones(rows, 4)
        assert torch.equal(compiled(x), 2 * x)


@pytest.mark.jax
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("run", [by_elements, fixed], ids=["by elements", "fixed"])
def test_jax_arrays_of_any_size_are_doubled(run: Any, shape: tuple[int, int]) -> None:
    import jax
    import jax.numpy as jnp

    x = jnp.arange(shape[0] * shape[1], dtype=jnp.float32).reshape(shape)
    for y in (run(x), jax.jit(run)(x), run.simulate(x).outputs[0]):
        assert y.shape == shape
        assert (y == 2 * x).all()
    for batch in (2, 0):
        stacked = jnp.stack([x] * batch) if batch else jnp.zeros((0, *shape))
        assert (jax.vmap(run)(stacked) == 2 * stacked).all()
        assert jax.vmap(run)(stacked).shape == (batch, *shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_strides_and_alignment_of_an_empty_array_mean_nothing(shape: tuple[int, int]) -> None:
    buffer = np.zeros(64, np.float32)
    x = np.lib.stride_tricks.as_strided(buffer[1:], shape, (4, 4 * shape[0]) if all(shape) else (28, 12))
    if all(shape):
        x = np.zeros(shape[::-1], np.float32).T
    assert columns(x).shape == shape
    assert columns.simulate(x).clean


def test_an_output_with_elements_that_no_block_writes_is_found() -> None:
    x = np.zeros((0, 4), np.float32)
    (finding,) = total.simulate(x).findings
    assert finding.rule == "unwritten-output"
    assert finding.message == "4 elements of output 'Y' never written: the grid has no CTAs"
    with pytest.warns(FindingWarning, match="the grid has no CTAs"):
        assert total(x).shape == (4,)
    assert total.simulate(x, out=np.ones(4, np.float32)).clean
    assert total.simulate(x, checks="none").clean
    assert total.simulate(x, checks=["global-race"]).clean
    assert total.simulate(np.ones((2, 4), np.float32)).clean


def test_a_grid_of_no_blocks_for_arrays_with_elements_is_an_error() -> None:
    rounded_down = doubling(lambda M, N: M * N // 32)
    with pytest.raises(LaunchError, match=r"grid=0 has a dimension smaller than 1(.|\n)*only a call with"):
        rounded_down(np.zeros((2, 4), np.float32))
    assert rounded_down(np.zeros((2, 0), np.float32)).shape == (2, 0)
    with pytest.raises(LaunchError, match="grid=-1 has a dimension smaller than 0"):
        doubling(lambda M, N: M * N - 1)(np.zeros((2, 0), np.float32))
    with pytest.raises(LaunchError, match="grid=0 has a dimension smaller than 1"):
        doubling(0)
    with pytest.raises(ShapeError, match="N=4 contradicts the arrays"):
        by_elements(np.zeros((2, 0), np.float32), N=4)


def test_a_kernel_that_cannot_be_traced_without_elements_is_not_traced_for_no_blocks() -> None:
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=lambda N: N // 32, block=32)
    def shares(X, Y):
        assert 1024 // X.shape[0]
        px, py = ptx.global_ptrs(X, Y)
        at = reg.from_(ptx.special.tid.x(), u32) * 4
        value = reg.scalar(f32)
        ptx.inst.ld.global_.f32(value, ptx.addr(px + at))
        ptx.inst.st.global_.f32(ptx.addr(py + at), value)
        ptx.ret()

    assert shares(np.zeros(0, np.float32)).shape == (0,)
    with pytest.raises(ZeroDivisionError):
        shares.ptx(N=0)


@pytest.mark.torch
def test_a_size_given_by_name_may_be_zero() -> None:
    @kernel(out_specs=(Tile("N", f32),), grid=lambda N: N, block=1)
    def ones(Y):
        (py,) = ptx.global_ptrs(Y)
        one = reg.scalar(f32, init=1.0)
        ptx.inst.st.global_.f32(ptx.addr(py + reg.from_(ptx.special.ctaid.x(), u32) * 4), one)
        ptx.ret()

    assert ones(N=0, device="cpu").shape == (0,)
    assert ones(N=3, device="cpu").tolist() == [1, 1, 1]
