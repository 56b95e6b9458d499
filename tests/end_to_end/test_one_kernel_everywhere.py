"""One kernel object works in NumPy, PyTorch eager, torch.compile and jax.jit, as shown on the front page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pyptx import Tile, differentiable_kernel, kernel, ptx, reg
from pyptx.types import f32, u32

from .gallery import EXAMPLE_LIST

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.torch,
    pytest.mark.jax,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),  # torch.compile warns about torch's own modules
]


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTX_CPU", "quiet")


def ways(rms_norm: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """Return ways to call one kernel, each from NumPy arrays to a NumPy array."""
    import jax
    import torch

    def from_torch(call: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arrays: call(*map(torch.from_numpy, arrays)).numpy()

    def from_jax(call: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arrays: np.asarray(call(*map(jax.numpy.asarray, arrays)))

    def function(x: Any, w: Any) -> Any:
        return rms_norm(x, w)

    return {
        "NumPy": rms_norm,
        "torch eager": from_torch(rms_norm),
        "torch.compile": from_torch(torch.compile(function, fullgraph=True)),
        "jax, un-jitted": from_jax(rms_norm),
        "jax.jit": from_jax(jax.jit(function)),
    }


@pytest.mark.parametrize("first", ["NumPy", "torch eager", "jax.jit"])
def test_one_kernel_object_gives_the_same_everywhere(first: str) -> None:
    import torch

    torch.compiler.reset()
    example = next(each for each in EXAMPLE_LIST if each.kernel == "rms_norm")
    x, w = example.inputs(np.random.default_rng(5))
    calls = ways(example.launch())
    expected = calls.pop(first)(x, w)  # calling one framework first must not change the others' results
    reference = example.module().reference(x, w)
    assert np.abs(expected - reference).max() <= example.bound * np.abs(reference).max()
    for _ in range(2):
        for name, call in calls.items():
            np.testing.assert_array_equal(call(x, w), expected, err_msg=name)


@kernel(in_specs=(Tile("N", f32), Tile("N", f32)), out_specs=(Tile("N", f32),), grid=1, block=32, arch="sm_80")
def product(X, W, Y):
    x, w, y = ptx.global_ptrs(X, W, Y)
    at = reg.from_(ptx.special.tid.x(), u32) * 4
    a, b = reg.scalar(f32), reg.scalar(f32)
    ptx.inst.ld.global_.f32(a, ptx.addr(x + at))
    ptx.inst.ld.global_.f32(b, ptx.addr(w + at))
    ptx.inst.st.global_.f32(ptx.addr(y + at), a * b)
    ptx.ret()


@kernel(in_specs=(Tile("N", f32),) * 3, out_specs=(Tile("N", f32),) * 2, grid=1, block=32, arch="sm_80")
def product_gradients(X, W, G, DX, DW):
    x, w, g, dx, dw = ptx.global_ptrs(X, W, G, DX, DW)
    at = reg.from_(ptx.special.tid.x(), u32) * 4
    a, b, c = reg.scalar(f32), reg.scalar(f32), reg.scalar(f32)
    ptx.inst.ld.global_.f32(a, ptx.addr(x + at))
    ptx.inst.ld.global_.f32(b, ptx.addr(w + at))
    ptx.inst.ld.global_.f32(c, ptx.addr(g + at))
    ptx.inst.st.global_.f32(ptx.addr(dx + at), c * b)
    ptx.inst.st.global_.f32(ptx.addr(dw + at), c * a)
    ptx.ret()


def test_one_differentiable_function_has_gradients_in_both_frameworks() -> None:
    import jax
    import torch

    multiply = differentiable_kernel(product, product_gradients, save_for_backward=[0, 1])
    x, w = np.random.default_rng(6).standard_normal((2, 32), np.float32)
    of_jax = jax.grad(lambda x, w: (multiply(x, w) ** 2).sum(), (0, 1))(jax.numpy.asarray(x), jax.numpy.asarray(w))
    a, b = (torch.from_numpy(array).requires_grad_() for array in (x, w))
    (multiply(a, b) ** 2).sum().backward()
    for ours, torchs, right in zip(of_jax, (a.grad, b.grad), (2 * x * w * w, 2 * x * x * w), strict=True):
        np.testing.assert_allclose(ours, right, rtol=1e-6)
        np.testing.assert_allclose(torchs.numpy(), right, rtol=1e-6)
