"""Gradients: a plain kernel raises an error; `differentiable_kernel` uses its backward kernel.

`PYPTX_KERNELS=all` runs every pair of backend and `dynamic`; the default is two pairs.
"""

from __future__ import annotations

import inspect
import itertools

import pytest
import torch
from tools.shares import share
from torch._dynamo.testing import CompileCounterWithBackend

from pyptx_dsl import ptx
from pyptx_dsl.contract.specs import Tile
from pyptx_dsl.errors import ArgumentCountError, KernelError, KeywordError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.kernels.differentiable import differentiable_kernel
from pyptx_dsl.types import f32, s32
from pyptx_torch import differentiable, errors, gradients

from .kernels import LANES, build_product, double, index, load, parameter, scale_, store, sum_and_difference

pytestmark = [pytest.mark.scaled, pytest.mark.torch, pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")]

product_kernel, product_gradients = build_product()
product = differentiable_kernel(product_kernel, product_gradients, save_for_backward=[0, 1])


def pair(size=32, **options):
    torch.manual_seed(0)
    return [torch.randn(size, dtype=torch.float64, requires_grad=True, **options) for _ in range(2)]


def test_a_plain_kernel_runs_forwards_and_its_backward_is_an_error_that_says_what_to_do():
    x = torch.ones(32, requires_grad=True)
    y = double(x)
    assert torch.equal(y, 2 * x)
    with pytest.raises(errors.GradientError, match=r"pyptx\.differentiable_kernel\(double, …\)"):
        y.sum().backward()
    assert x.grad is None
    with torch.no_grad():
        assert not double(x).requires_grad
    assert not double(x.detach()).requires_grad


def test_derivatives_of_a_plain_kernel_through_torch_func_are_errors_too():
    x = torch.ones(32)
    with pytest.raises(errors.GradientError, match="without a gradient"):
        torch.func.grad(lambda x: double(x).sum())(x)
    with pytest.raises(errors.GradientError, match="forward-mode"):
        torch.func.jvp(double, (x,), (x,))
    with torch.autograd.forward_ad.dual_level(), pytest.raises(errors.GradientError, match="forward-mode"):
        double(torch.autograd.forward_ad.make_dual(x, x))


@pytest.mark.parametrize("function", [gradients.NoGradient, differentiable.Differentiable])
def test_autograd_functions_have_the_context_that_torch_func_asks_for(function):
    """Since torch 2.14, torch.func rejects functions without `setup_context`."""
    assert function.setup_context is not torch.autograd.Function.setup_context
    assert "ctx" not in inspect.signature(function.forward).parameters


def test_the_function_of_a_missing_gradient_chooses_no_level_of_torch_func_again():
    """Since torch 2.14, `apply` of a `torch.autograd.Function` raises inside the dispatcher."""
    assert not issubclass(gradients.NoGradient, torch.autograd.Function)


def test_a_plain_kernel_in_a_loss_of_torch_func_needs_no_gradient_where_none_flows():
    x, w = torch.linspace(1, 2, 32), torch.linspace(2, 3, 32)
    assert torch.equal(torch.func.grad(lambda x: (x * double(w)).sum())(x), 2 * w)
    assert torch.equal(torch.func.grad(lambda x: (x * double(x.detach())).sum())(x), 2 * x)
    rows = torch.vmap(torch.func.grad(lambda x: (x * double(w)).sum()))(torch.ones(3, 32))
    assert torch.equal(rows, (2 * w).expand(3, 32))


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")  # torch, not pyptx, warns
def test_compiled_autograd_reports_a_missing_gradient_too():
    x = torch.ones(32, requires_grad=True)
    compiler = torch.compile(backend="eager")
    with (
        torch._dynamo.compiled_autograd._enable(compiler),
        pytest.raises(errors.GradientError, match="without a gradient"),
    ):
        (x * double(x)).sum().backward()


def test_the_backward_kernel_computes_the_gradients():
    x, w = pair()
    product(x, w).sum().backward()
    assert torch.equal(x.grad, w)
    assert torch.equal(w.grad, x)
    assert product.forward_kernel is product_kernel
    assert product.backward_kernel is product_gradients


@pytest.mark.long
def test_gradients_equal_finite_differences():
    assert torch.autograd.gradcheck(product, pair())


@pytest.mark.long
def test_a_second_derivative_is_an_error():
    x, w = pair()
    (gradient,) = torch.autograd.grad(product(x, w).sum(), x, create_graph=True)
    assert torch.equal(gradient, w)
    with pytest.raises(errors.GradientError, match=r"backward of a differentiable_kernel has no gradient"):
        gradient.sum().backward()
    with pytest.raises(errors.GradientError):
        torch.autograd.gradgradcheck(product, pair())


def test_an_input_that_needs_no_gradient_gets_none():
    x, w = pair()
    w.requires_grad_(requires_grad=False)
    product(x, w).sum().backward()
    assert torch.equal(x.grad, w)
    assert w.grad is None
    y = product(x.detach(), w)
    assert not y.requires_grad
    with torch.no_grad():
        assert not product(*pair()).requires_grad


def test_an_integer_input_gets_none():
    @kernel(in_specs=(Tile(32, f32), Tile(32, s32)), out_specs=(Tile(32, f32), Tile(32, s32)), grid=1, block=LANES)
    def pick(X, Which, Y, Seen):
        px, pi, py, ps = ptx.global_ptrs(X, Which, Y, Seen)
        which = load(pi, index(), s32)
        store(py, index(), load(px, which, f32), f32)
        store(ps, index(), which, s32)
        ptx.ret()

    @kernel(in_specs=(Tile(32, s32), Tile(32, f32), Tile(32, s32)), out_specs=(Tile(32, f32),), grid=1, block=LANES)
    def pick_gradient(Which, DY, DSeen, DX):
        pi, pg, _, px = ptx.global_ptrs(Which, DY, DSeen, DX)
        store(px, load(pi, index(), s32), load(pg, index(), f32), f32)
        ptx.ret()

    function = differentiable_kernel(pick, pick_gradient, save_for_backward=[1], num_grad_inputs=1)
    x = torch.randn(32, requires_grad=True)
    which = torch.arange(31, -1, -1, dtype=torch.int32)
    for run in (function, torch.compile(function, fullgraph=True, backend="aot_eager")):
        x.grad = None
        y, seen = run(x, which)
        assert torch.equal(y, x.flip(0))
        assert not seen.requires_grad
        (y * torch.arange(32)).sum().backward()
        assert torch.equal(x.grad, torch.arange(31.0, -1, -1))


def test_gradients_of_any_layout_are_made_dense():
    x, w = pair()
    weights = torch.arange(64, dtype=torch.float64)[::2]
    (product(x, w) * weights).sum().backward()  # contiguous output gradient
    first = x.grad
    x.grad = None
    torch.stack([product(x, w), product(x, w)], dim=1)[:, 0].mul(weights).sum().backward()  # strided output gradient
    assert torch.equal(x.grad, first)


def test_a_gradient_whose_negation_is_pending_counts_with_its_sign():
    x, w = (torch.linspace(1, 2, 64, dtype=torch.float64, requires_grad=True) for _ in range(2))
    product(x, w).backward(torch._neg_view(torch.full((64,), 3.0, dtype=torch.float64)))
    assert torch.equal(x.grad, -3 * w)


def test_several_outputs_and_outputs_that_nothing_uses():
    # The gradients of (a + b, a - b) are sum and difference of their output gradients: the kernel is its own backward.
    both = differentiable_kernel(sum_and_difference, sum_and_difference, save_for_backward=[])
    a, b = (torch.ones(32, requires_grad=True) for _ in range(2))
    total, difference = both(a, b)
    (total * 2 + difference * 5).sum().backward()
    assert a.grad.tolist() == [7] * 32
    assert b.grad.tolist() == [-3] * 32
    a.grad = b.grad = None
    both(a, b)[1].sum().backward()
    assert a.grad.tolist() == [1] * 32
    assert b.grad.tolist() == [-1] * 32


def test_outputs_are_saved_where_one_asks():
    # Wrong gradient on purpose: it uses the output in place of the second input.
    odd = differentiable_kernel(product_kernel, product_gradients, save_for_backward=[0], save_outputs=[0])
    x, w = pair()
    y = odd(x, w)
    y.sum().backward()
    assert torch.equal(x.grad, y)


def test_a_saved_tensor_that_was_written_to_is_an_error():
    x, w = build_inputs = [torch.ones(32, requires_grad=True), torch.ones(32)]
    forward, backward = build_product(f32)
    y = differentiable_kernel(forward, backward)(*build_inputs)
    scale_(w, alpha=2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    assert x.grad is None


def test_torch_func_differentiates_and_batches():
    x, w = (tensor.detach() for tensor in pair())
    gradient = torch.func.grad(lambda x, w: product(x, w).sum())
    assert torch.equal(gradient(x, w), w)
    rows = torch.randn(3, 32, dtype=torch.float64)
    assert torch.equal(torch.vmap(product, in_dims=(0, None))(rows, w), rows * w)
    assert torch.equal(torch.vmap(gradient, in_dims=(0, None))(rows, w), w.expand(3, 32))
    assert torch.equal(torch.func.jacrev(product)(x, w), torch.diag(w))


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_forward_and_backward_compile(backend):
    torch._dynamo.reset()
    function = differentiable_kernel(*build_product(), save_for_backward=[0, 1])  # a kernel that no call has traced
    compiled = torch.compile(lambda x, w: function(x * 2, w) + 1, fullgraph=True, backend=backend)
    x, w = pair()
    y = compiled(x, w)
    assert torch.equal(y, 2 * x * w + 1)
    y.sum().backward()
    assert torch.equal(x.grad, 2 * w)
    assert torch.equal(w.grad, 2 * x)


@kernel(
    in_specs=(Tile("N", f32),),
    out_specs=(Tile("N", f32),),
    grid=lambda N: N // LANES,
    block=LANES,
    raw_params=[("f32", "factor")],
)
def line(X, Y, *, slope=1.0, terms=(0, 0.0)):
    """Compute Y = slope * factor * X + sum(terms); without terms, the kernel of dX is this kernel, applied to dY."""
    px, py = ptx.global_ptrs(X, Y)
    store(py, index(), load(px, index(), f32) * parameter("factor", f32) * slope + sum(terms), f32)
    ptx.ret()


def line_gradient(gradient, *, slope, factor):
    """Return the gradient of `line` with respect to X."""
    return line(gradient, slope=slope, factor=factor)


@pytest.mark.parametrize(("backend", "dynamic"), share(itertools.product(["eager", "aot_eager"], [None, True]), 3))
@pytest.mark.long
def test_numbers_of_a_compiled_differentiable_kernel_may_change_from_call_to_call(backend, dynamic):
    torch._dynamo.reset()
    counter = CompileCounterWithBackend(backend)
    function = differentiable_kernel(line, line_gradient, save_for_backward=[])
    compiled = torch.compile(function, fullgraph=True, backend=counter, dynamic=dynamic)
    x = torch.arange(32.0, requires_grad=True)
    for slope, factor in ((2.0, 1.0), (0.5, 3.0), (2.0, 4.0), (0.5, 1.0)):
        for run in (compiled, function):
            x.grad = None
            y = run(x, slope=slope, factor=factor, terms=(1, slope))
            assert torch.equal(y, slope * factor * x + (1 + slope))
            y.sum().backward()
            assert torch.equal(x.grad, torch.full((32,), slope * factor))
    # torch compiles a graph per slope, and per factor where torch specializes on float arguments of operators.
    assert counter.frame_count <= (3 if backend == "eager" else 5)


def test_a_compiled_plain_kernel_runs_forwards_and_its_backward_is_the_same_error():
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: double(x) + 1, fullgraph=True, backend="aot_eager")
    x = torch.ones(32, requires_grad=True)
    y = compiled(x)
    assert torch.equal(y, 2 * x + 1)
    with pytest.raises(errors.GradientError, match=r"differentiable_kernel\(double, …\)"):
        y.sum().backward()


def test_keywords_go_to_both_kernels_and_out_to_neither():
    x, w = pair()
    assert torch.equal(product(x, w, N=32), x * w)
    with pytest.raises(KeywordError, match="allocates its outputs"):
        product(x, w, out=torch.empty(32, dtype=torch.float64))


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"save_for_backward": [0, 2]}, "out of range"),
        ({"save_for_backward": [0]}, "must take 2 tensors"),
        ({"num_grad_inputs": 1}, "return 1; it takes 3 and returns 2"),
        ({"num_grad_inputs": 3}, "out of range"),
        ({"save_outputs": [1]}, "out of range"),
    ],
)
def test_kernels_that_do_not_fit_are_an_error(keywords, words):
    with pytest.raises(ArgumentCountError, match=words):
        differentiable_kernel(product_kernel, product_gradients, **keywords)(*pair())


def through_two_kernels(x, w, gradient):
    """Return the gradients of `product_kernel` by two kernel calls."""
    gradient, _ = product_gradients(torch.ones_like(x), w, gradient)
    return product_gradients(x, w, gradient / w)


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_the_gradients_may_come_from_a_function_that_calls_several_kernels(backend):
    function = differentiable_kernel(product_kernel, through_two_kernels, save_for_backward=[0, 1])
    assert repr(function) == "differentiable_kernel(product, through_two_kernels)"
    x, w = pair()
    run = torch.compile(function, fullgraph=True, backend=backend) if backend else function
    weights = torch.arange(64, dtype=torch.float64)[::2]
    (run(x, w) * weights).sum().backward()
    assert torch.allclose(x.grad, w * weights)
    assert torch.allclose(w.grad, x * weights)


def test_a_function_of_gradients_gets_the_keywords_that_it_names_and_must_return_as_many_as_inputs_have_one():
    def scaled(x, w, gradient, *, factor=1.0):
        return w * gradient * factor, x * gradient * factor

    @kernel(in_specs=(Tile(32, f32), Tile(32, f32)), out_specs=(Tile(32, f32),), grid=1, block=LANES)
    def scaled_product(X, W, Y, *, factor=1.0, more=0.0):
        px, pw, py = ptx.global_ptrs(X, W, Y)
        store(py, index(), load(px, index(), f32) * load(pw, index(), f32) * factor + more, f32)
        ptx.ret()

    x, w = (tensor.detach().float().requires_grad_() for tensor in pair())
    differentiable_kernel(scaled_product, scaled)(x, w, factor=3.0, more=1.0).sum().backward()
    assert torch.equal(x.grad, 3 * w)
    one = differentiable_kernel(scaled_product, scaled, num_grad_inputs=1)
    with pytest.raises(ArgumentCountError, match="scaled returns 2 gradients, expected 1"):
        one(x, w).sum().backward()


def test_a_kernel_that_writes_to_its_inputs_cannot_be_differentiated():
    with pytest.raises(KernelError, match="writes to its inputs"):
        differentiable_kernel(scale_, product_gradients)(*pair())
