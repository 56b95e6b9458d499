"""Dispatch tiers that the specification's torch page names, tested with the page's own code blocks, on the CPU.

The first tier, CUDA graphs, is in `tests/gpu/test_torch.py`, because graphs need CUDA.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from pyptx_torch import operators

from .end_to_end.seeds import SEEDS, block, on_cpu

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not SEEDS.is_dir(), reason="the specification's pages are not next to this checkout"),
    pytest.mark.filterwarnings("ignore::pyptx_ir.errors.SimulatedExecution"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
FIRST = "k = build_rms_norm(256, 4096)"


def run(source: str, **names: Any) -> dict[str, Any]:
    """Execute a code block of the specification in its own namespace, and return the namespace."""
    namespace: dict[str, Any] = {"__name__": "seed", "torch": torch, **names}
    exec(compile(on_cpu(source), "seeds/004", "exec"), namespace)  # noqa: S102 - the block is the specification
    return namespace


@pytest.fixture(scope="module")
def build() -> Any:
    return run(block("004", "import torch", "out = k(x, w)"))["build_rms_norm"]


def reference(x: Any, w: Any) -> Any:
    x, w = x.double(), w.double()
    return x * (x.square().mean(dim=1, keepdim=True) + 1e-6).rsqrt() * w


def fits(found: Any, x: Any, w: Any) -> bool:
    return bool(torch.allclose(found.double(), reference(x, w), rtol=1e-5, atol=1e-6))


def test_what_it_looks_like() -> None:
    names = run(block("004", "import torch", "out = k(x, w)"))
    assert fits(names["out"], names["x"], names["w"])


def test_turbo_eager(build: Any) -> None:
    names = run(block("004", FIRST, "out = k(x, w)", occurrence=1), build_rms_norm=build)
    assert fits(names["out"], names["x"], names["w"])
    assert len(names["k"]._traced) == 1, "both calls use one specialization"


def test_torch_compile(build: Any) -> None:
    torch._dynamo.reset()
    source = block("004", FIRST, "out = k_compiled(x, w)", occurrence=2)
    names = run(source, build_rms_norm=build)
    assert fits(names["out"], names["x"], names["w"])
    assert "keywords" in str(operators.operator_of(names["k"]).default._schema), "it is an operator of torch.library"


def test_torch_compile_needs_no_call_before_and_breaks_no_graph(build: Any) -> None:
    torch._dynamo.reset()
    kernel = build(16, 512)
    x, w = torch.randn(16, 512), torch.randn(512)
    compiled = torch.compile(lambda x, w: kernel(x, w) + 1, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(x, w), kernel(x, w) + 1)


def scaling_kernels() -> tuple[Any, Any]:
    """Return the builders that the page leaves to its readers: Y = X W by rows, and the gradients of X and W."""
    from pyptx import Tile, kernel, ptx, reg
    from pyptx.types import f32, u32

    def load(pointer: Any, at: Any) -> Any:
        value = reg.scalar(f32)
        ptx.inst.ld.global_.f32(value, ptx.addr(pointer + at * 4))
        return value

    def build_forward(rows: int, columns: int) -> Any:
        @kernel(
            in_specs=(Tile(rows, columns, f32), Tile(columns, f32)),
            out_specs=(Tile(rows, columns, f32),),
            grid=rows,
            block=columns,
        )
        def scale(X, W, Y):
            px, pw, py = ptx.global_ptrs(X, W, Y)
            lane = reg.from_(ptx.special.tid.x(), u32)
            at = lane + reg.from_(ptx.special.ctaid.x(), u32) * columns
            ptx.inst.st.global_.f32(ptx.addr(py + at * 4), load(px, at) * load(pw, lane))
            ptx.ret()

        return scale

    def build_backward(rows: int, columns: int) -> Any:
        tile, row = Tile(rows, columns, f32), Tile(columns, f32)

        @kernel(in_specs=(tile, row, tile), out_specs=(tile, row), grid=1, block=columns)
        def scale_gradients(X, W, DY, DX, DW):
            px, pw, pg, pa, pb = ptx.global_ptrs(X, W, DY, DX, DW)
            lane = reg.from_(ptx.special.tid.x(), u32)
            total = reg.scalar(f32, init=0.0)
            for number in range(rows):
                at = lane + number * columns
                gradient = load(pg, at)
                ptx.inst.st.global_.f32(ptx.addr(pa + at * 4), gradient * load(pw, lane))
                ptx.inst.fma.rn.f32(total, gradient, load(px, at), total)
            ptx.inst.st.global_.f32(ptx.addr(pb + lane * 4), total)
            ptx.ret()

        return scale_gradients

    return build_forward, build_backward


def test_autograd() -> None:
    forward, backward = scaling_kernels()
    last = "out.sum().backward()  # calls bwd kernel with saved tensors + grad_output"
    names = run(
        block("004", "from pyptx import differentiable_kernel", last),
        build_my_forward=forward,
        build_my_backward=backward,
        M=4,
        N=32,
    )
    x, w = names["x"], names["w"]
    assert torch.equal(names["out"], x.detach() * w.detach())
    assert torch.equal(x.grad, w.detach().expand(4, 32))
    assert torch.allclose(w.grad, x.detach().sum(dim=0))
    assert names["my_op"].forward_kernel is names["fwd"]
    assert names["my_op"].backward_kernel is names["bwd"]


def test_one_kernel_object_goes_through_eager_and_compiled_calls_and_the_simulator(build: Any) -> None:
    kernel = build(16, 512)
    x, w = torch.randn(16, 512), torch.randn(512)
    eager = kernel(x, w)
    assert torch.equal(torch.compile(kernel, backend="aot_eager", fullgraph=True)(x, w), eager)
    result = kernel.simulate(x, w)
    assert torch.equal(result.outputs[0], eager)
    assert not result.findings
    assert torch.equal(torch.from_numpy(kernel(x.numpy(), w.numpy())), eager)
