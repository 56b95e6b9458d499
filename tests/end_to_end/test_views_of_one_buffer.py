"""Kernels on views of one buffer: NumPy, torch eager and compiled, jax."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32

sys.path.append(str(Path(__file__).parents[2] / "tools"))
from shares import at_most

pytestmark = pytest.mark.filterwarnings("ignore::pyptx_ir.errors.SimulatedExecution")


@kernel(raw_params=[("u32", "count"), ("u32", "sx"), ("u32", "sy")], mutates=("Y",), grid=1, block=1)
def plus_one(X, Y):
    """Y[i] = X[i] + 1, in increasing order of i; strides in bytes."""
    px, py = ptx.global_ptrs(X, Y)
    count, sx, sy = reg.scalar(u32), reg.scalar(u32), reg.scalar(u32)
    ptx.inst.ld.param.u32(count, ptx.addr("count"))
    ptx.inst.ld.param.u32(sx, ptx.addr("sx"))
    ptx.inst.ld.param.u32(sy, ptx.addr("sy"))
    for i in ptx.range_(0, count):
        value = reg.scalar(u32)
        ptx.inst.ld.global_.u32(value, ptx.addr(px + i * sx))
        ptx.inst.st.global_.u32(ptx.addr(py + i * sy), value + 1)
    ptx.ret()


def drawn(seed: int) -> tuple[int, list[tuple[int, int]]]:
    """Return a count, and offsets and strides of two views of 64 elements that may overlap or interleave."""
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 13))
    strides = random.choice([1, 1, 2, 3], 2)
    spans = [(count - 1) * int(stride) + 1 for stride in strides]
    near = int(random.integers(0, 64 - max(spans) + 1))
    offsets = [min(max(near + int(random.integers(-2, 3)), 0), 64 - span) for span in spans]
    return count, [(at, int(stride)) for at, stride in zip(offsets, strides, strict=True)]


CASES = [drawn(seed) for seed in range(200)]
APART = [
    (count, views)
    for count, views in CASES
    if not {at + n * step for n in range(count) for at, step in views[:1]}
    & {at + n * step for n in range(count) for at, step in views[1:]}
]


def views_of(buffer: Any, count: int, views: list[tuple[int, int]]) -> list[Any]:
    return [buffer[at : at + (count - 1) * step + 1 : step] for at, step in views]


def wanted(buffer: Any, count: int, views: list[tuple[int, int]]) -> Any:
    """Return the buffer expected after Y = X + 1, computed by a loop over the elements."""
    expected = buffer.copy()
    x, y = views_of(expected, count, views)
    for number in range(count):
        y[number] = x[number] + 1
    return expected


def scalars(count: int, views: list[tuple[int, int]]) -> dict[str, int]:
    return {"count": count, **{name: 4 * step for name, (_, step) in zip(("sx", "sy"), views, strict=True)}}


@pytest.mark.scaled
def test_numpy_views_alias_in_a_call_and_in_a_simulation() -> None:
    for number, (count, views) in enumerate(at_most(CASES, 12)):
        start = np.arange(64, dtype=np.uint32)
        for call in (plus_one, partial(plus_one.simulate, seed=number % 4, delay_async=bool(number % 2))):
            buffer = start.copy()
            call(*views_of(buffer, count, views), **scalars(count, views))
            assert (buffer == wanted(start, count, views)).all(), (count, views)


@pytest.mark.torch
@pytest.mark.scaled
def test_tensors_alias_in_a_call() -> None:
    import torch

    for count, views in at_most(CASES, 12):
        start = np.arange(64, dtype=np.int32)
        buffer = torch.from_numpy(start.copy())
        plus_one(*views_of(buffer, count, views), **scalars(count, views))
        assert (buffer.numpy() == wanted(start, count, views)).all(), (count, views)


@pytest.mark.torch
def test_views_that_have_no_element_in_common_are_written_in_compiled_graphs() -> None:
    import torch

    torch._dynamo.reset()
    for count, views in APART[:3]:
        start = np.arange(64, dtype=np.int32)
        buffer = torch.from_numpy(start.copy())

        def work(buffer: Any, count: int = count, views: Any = views) -> Any:
            plus_one(*views_of(buffer, count, views), **scalars(count, views))
            return buffer + 1

        compiled = torch.compile(work, backend="aot_eager", fullgraph=True)
        assert (compiled(buffer).numpy() == wanted(start, count, views) + 1).all(), (count, views)
        assert (buffer.numpy() == wanted(start, count, views)).all(), (count, views)


@kernel(mutates=("Q", "K"), grid=4, block=32)
def rotate(Q, K):
    """Q += 1000 and K += 2000, for matrices Q and K with rows of 32 elements with a stride of 64."""
    pq, pk = ptx.global_ptrs(Q, K)
    at = (reg.from_(ptx.special.ctaid.x(), u32) * 64 + reg.from_(ptx.special.tid.x(), u32)) * 4
    for pointer, more in ((pq, 1000), (pk, 2000)):
        value = reg.scalar(u32)
        ptx.inst.ld.global_.u32(value, ptx.addr(pointer + at))
        ptx.inst.st.global_.u32(ptx.addr(pointer + at), value + more)
    ptx.ret()


def halves() -> tuple[Any, Any]:
    both = np.arange(256, dtype=np.int32).reshape(4, 64)
    return both, both + np.repeat(np.array([1000, 2000], np.int32), 32)


def test_the_halves_of_a_packed_array_are_changed_in_place() -> None:
    both, expected = halves()
    rotate(both[:, :32], both[:, 32:])
    assert (both == expected).all()
    found = rotate.simulate(both[:, :32], both[:, 32:])
    assert found.clean


@pytest.mark.torch
@pytest.mark.parametrize("backend", ["", "aot_eager"])
def test_the_halves_of_a_packed_tensor_are_changed_in_place(backend: str) -> None:
    import torch

    torch._dynamo.reset()

    def work(both: Any) -> None:
        rotate(both[:, :32], both[:, 32:])

    both, expected = halves()
    tensor = torch.from_numpy(both)
    (torch.compile(work, backend=backend, fullgraph=True) if backend else work)(tensor)
    assert (both == expected).all()


@pytest.mark.jax
def test_jax_arrays_are_values_whatever_a_kernel_writes() -> None:
    import jax.numpy as jnp

    x = jnp.arange(16, dtype=jnp.int32)
    made = plus_one(x, x, count=16, sx=4, sy=4)
    assert (made == x + 1).all()
    assert (x == jnp.arange(16)).all()
    buffer = np.zeros(16, np.int32)
    plus_one(np.asarray(x)[3:11], buffer[4:12], count=8, sx=4, sy=4)  # np.asarray(x) is a view of jax's memory
    assert buffer.tolist() == [0] * 4 + list(range(4, 12)) + [0] * 4


@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=lambda N: N // 32, block=32)
def doubled(X, Y):
    """Y = 2 X, for a tile that may be a view."""
    px, py = ptx.global_ptrs(X, Y)
    at = (reg.from_(ptx.special.ctaid.x(), u32) * 32 + reg.from_(ptx.special.tid.x(), u32)) * 4
    value = reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, ptx.addr(px + at))
    ptx.inst.st.global_.f32(ptx.addr(py + at), value + value)
    ptx.ret()


@pytest.mark.parametrize(("shift", "races"), [(0, False), (4, True), (-4, True), (64, False)])
def test_an_output_that_overlaps_an_input_is_the_same_memory(shift: int, *, races: bool) -> None:
    buffer = np.arange(192, dtype=np.float32)
    x, out = buffer[64:128], buffer[64 + shift : 128 + shift]
    expected = 2 * x
    found = doubled.simulate(x, out=out)
    assert bool(found.findings) == races
    assert all(finding.rule in {"global-race", "lane-race"} for finding in found.findings)
    assert races or (out == expected).all()
