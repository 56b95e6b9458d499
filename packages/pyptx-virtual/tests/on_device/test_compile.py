"""torch.compile, torch.export and operators of libraries see CUDA tensors, and nothing of this package."""

from __future__ import annotations

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend
from torch._subclasses.fake_tensor import FakeTensorMode


@torch.library.custom_op("pyptx_test::thrice", mutates_args=(), device_types="cuda")
def thrice(x: torch.Tensor) -> torch.Tensor:
    assert x.is_cuda
    return x * 3


@thrice.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


thrice.register_autograd(lambda _context, grad: grad * 3)


def on_stream(x: torch.Tensor) -> torch.Tensor:
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        result = x + 1
    torch.cuda.current_stream().wait_stream(stream)
    return result


FUNCTIONS = {
    "pointwise": lambda x: x.sin() + x.cos() * 2,
    "matmul": lambda x: torch.relu(x @ x.t()),
    "factory": lambda x: x + torch.arange(x.shape[1], device="cuda"),
    "custom operator": lambda x: thrice(x) + 1,
    "stream": on_stream,
}


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_functions_are_whole_graphs_with_gradients(name: str, *, dynamic: bool) -> None:
    function = FUNCTIONS[name]
    backend = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(function, backend=backend, fullgraph=True, dynamic=dynamic)
    for rows in (3, 4):
        x = torch.linspace(-1, 1, rows * 5, device="cuda").reshape(rows, 5).requires_grad_()
        y = x.detach().clone().requires_grad_()
        found, expected = compiled(x), function(y)
        torch.testing.assert_close(found, expected)
        found.sum().backward()
        expected.sum().backward()
        torch.testing.assert_close(x.grad, y.grad)
    assert backend.frame_count == (1 if dynamic else 2) or not dynamic


def test_operators_after_a_graph_break_are_not_compiled() -> None:
    backend = CompileCounterWithBackend("eager")

    @torch.compile(backend=backend)
    def broken(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        torch._dynamo.graph_break()
        return y + torch.cuda.current_device() + torch.rand(2, device="cuda").sum().item()

    x = torch.zeros(3, device="cuda")
    torch.manual_seed(0)
    expected = torch.rand(2, device="cuda").sum().item()
    torch.manual_seed(0)
    torch.testing.assert_close(broken(x), torch.full((3,), expected, device="cuda"))
    names = {str(node.target) for graph in backend.graphs for node in graph.graph.nodes}
    assert not any("pyptx" in name for name in names)


def test_exported_programs_run() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.SiLU()).cuda()
    x = torch.ones(3, 5, device="cuda")
    torch.testing.assert_close(torch.export.export(model, (x,)).module()(x), model(x))


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # torch 2.14 reads it
def test_checks_of_an_operator_pass() -> None:
    found = torch.library.opcheck(thrice, (torch.ones(3, device="cuda", requires_grad=True),))
    assert set(found.values()) == {"SUCCESS"}


def test_functions_with_a_backward_of_their_own() -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: torch.autograd.function.FunctionCtx, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: torch.autograd.function.FunctionCtx, grad: torch.Tensor) -> torch.Tensor:
            return 2 * ctx.saved_tensors[0] * grad

    x = torch.arange(3.0, device="cuda", requires_grad=True)
    Square.apply(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0, 2, 4]


def test_fake_tensors_are_on_the_device_without_memory() -> None:
    before = torch.cuda.memory_allocated()
    with FakeTensorMode() as mode:
        fake = torch.empty(1 << 20, device="cuda") + mode.from_tensor(torch.ones(1, device="cuda"))
    assert fake.device == torch.device("cuda", 0)
    assert torch.cuda.memory_allocated() - before < 1 << 12
    assert torch.nn.Linear(3, 3, device="meta").to_empty(device="cuda").weight.is_cuda
