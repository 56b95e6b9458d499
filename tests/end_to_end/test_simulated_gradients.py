"""Torch tensors on the simulator alone: no gradient is lost silently, and autograd sees every write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32
from pyptx_dsl.errors import GradientError, LayoutError, RuntimeMissingError
from pyptx_dsl.kernels import runtimes
from pyptx_ir.origins import install_command

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")]

VECTOR = Tile(32, f32)


def body(x: Any, y: Any) -> None:
    """Y = 2 X."""
    at, value = ptx.special.tid.x() * 4, reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, ptx.addr(x + at))
    ptx.inst.st.global_.f32(ptx.addr(y + at), value + value)
    ptx.ret()


@kernel(in_specs=(VECTOR,), out_specs=(VECTOR,), grid=1, block=32)
def double(X, Y):
    body(*ptx.global_ptrs(X, Y))


@kernel(in_specs=(VECTOR,), grid=1, block=32)
def double_(X):
    (x,) = ptx.global_ptrs(X)
    body(x, x)


@pytest.fixture(params=["call", "simulate"])
def run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., object]:
    """Call a kernel as if pyptx-torch were not installed, or by `simulate`, which never uses pyptx-torch."""
    monkeypatch.setenv("PYPTX_CPU", "quiet")
    if request.param == "simulate":
        return lambda kernel_, *arrays, **keywords: kernel_.simulate(*arrays, **keywords)
    only = (runtimes.simulator("kernel"),)
    monkeypatch.setattr(runtimes, "_runtimes", lambda: only)
    return lambda kernel_, *arrays, **keywords: kernel_._run(*arrays, **keywords)


def first(result: Any) -> Any:
    return getattr(result, "outputs", (result,))[0]


def ones(**options: Any) -> torch.Tensor:
    return torch.ones(32, **options)


def freed() -> torch.Tensor:
    tensor = ones()
    tensor.untyped_storage().resize_(0)
    return tensor


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda run: run(double, ones(requires_grad=True)), GradientError, "X requires a gradient"),
        (lambda run: run(double, torch.nn.Parameter(ones())), GradientError, "X requires a gradient"),
        (lambda run: run(double, ones(requires_grad=True) * 2), GradientError, "X requires a gradient"),
        (lambda run: run(double, ones(), out=ones(requires_grad=True) * 1), GradientError, "out= for Y requires"),
        (lambda run: run(double_, ones(requires_grad=True) * 1), GradientError, "X requires a gradient"),
        (lambda run: torch.func.grad(lambda x: first(run(double, x)).sum())(ones()), GradientError, "X requires"),
        (
            lambda run: torch.func.jvp(lambda x: first(run(double, x)), (ones(),), (ones(),)),
            GradientError,
            "X requires",
        ),
        (lambda run: run(double, freed()), LayoutError, "X has no memory"),
        (lambda run: run(double, ones(), out=freed()), LayoutError, "out= for Y has no memory"),
    ],
    ids=["leaf", "parameter", "graph", "out", "in place", "torch.func.grad", "torch.func.jvp", "freed", "out freed"],
)
def test_a_gradient_that_would_be_lost_is_an_error(run, call, error, words):
    with pytest.raises(error, match=words) as raised:
        call(run)
    assert "test_simulated_gradients.py" in raised.value.where


def vmapped(run: Any, kernel_: Any) -> object:
    return torch.vmap(lambda x: first(run(kernel_, x)))(torch.ones(2, 32))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda run: vmapped(run, double), RuntimeMissingError, "X is a tensor of torch.vmap .* without pyptx-torch"),
        (lambda run: vmapped(run, double_), RuntimeMissingError, "X is a tensor of torch.vmap"),
        (
            lambda run: torch.vmap(lambda y: first(run(double, ones(), out=y)))(torch.ones(2, 32)),
            RuntimeMissingError,
            "out= for Y is a tensor of torch.vmap",
        ),
        (lambda run: torch.func.functionalize(lambda x: run(double, x))(ones()), RuntimeMissingError, "torch.func"),
        (
            lambda run: torch.jit.trace(lambda x: first(run(double, x)), ones()),
            RuntimeMissingError,
            "recording a program",
        ),
        (lambda run: make_fx(lambda x: first(run(double, x)))(ones()), RuntimeMissingError, "recording a program"),
        (lambda run: run(double, ones().to_sparse()), LayoutError, "X is a torch.sparse_coo tensor"),
        (lambda run: run(double, ones().to_mkldnn()), LayoutError, "X is a torch._mkldnn tensor"),
        (lambda run: run(double, torch.nested.nested_tensor([ones()], layout=torch.jagged)), LayoutError, "jagged"),
    ],
    ids=["vmap", "in place", "out", "functionalize", "jit.trace", "make_fx", "sparse", "mkldnn", "jagged"],
)
@pytest.mark.filterwarnings("ignore::UserWarning:torch")
def test_what_torch_does_besides_autograd_is_an_error_that_names_pyptx_torch(run, call, error, words):
    with pytest.raises(error, match=words) as raised:
        call(run)
    assert "test_simulated_gradients.py" in raised.value.where
    if error is RuntimeMissingError:
        assert raised.value.help.startswith(install_command("torch"))


def test_torch_compile_runs_several_kernels_on_the_simulator_alone(monkeypatch):
    monkeypatch.setenv("PYPTX_CPU", "quiet")
    only = (runtimes.simulator("kernel"),)
    monkeypatch.setattr(runtimes, "_runtimes", lambda: only)
    x = ones()
    for kernel_, wanted in ((double_, 2.0), (double, 4.0), (double_, 4.0)):
        result = torch.compile(lambda x, kernel_=kernel_: kernel_(x), backend="eager")(x)
        assert torch.equal(x if result is None else result, torch.full((32,), wanted))


def test_tensors_that_autograd_does_not_follow_pass(run):
    x = ones(requires_grad=True)
    with torch.no_grad():
        assert torch.equal(first(run(double, x)), torch.full((32,), 2.0))
    assert torch.equal(first(run(double, x.detach())), torch.full((32,), 2.0))


def test_a_write_counts_a_version_so_that_autograd_notices(run):
    x, written = ones(requires_grad=True), ones()
    loss = (x * written).sum()
    run(double_, written)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    before = written._version
    run(double, ones(), out=written)
    assert written._version > before
