"""Kernels on CUDA tensors through torch: streams, threads, graphs, devices, memory, faults, with checked results."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from pyptx_dsl.errors import DeviceError, DtypeError, LayoutError
from pyptx_dsl.kernels.differentiable import differentiable_kernel
from pyptx_torch.device_types import CUDA
from pyptx_torch.errors import GradientError
from pyptx_torch.operators import operator_of
from pyptx_torch.plans import LIMIT, Plans

from .torch_kernels import build_double, build_product, build_scale, fill, scale_

pytestmark = [pytest.mark.gpu, pytest.mark.torch]

ROOT = Path(__file__).resolve().parents[2]
DEVICES = [torch.device("cuda", number) for number in range(max(1, torch.cuda.device_count()))]
ENOUGH = 100_000_000  # cycles that `torch.cuda._sleep` spins (about 50 ms): longer than any launch takes


def numbers(size: int = 4096, device: torch.device | str = "cuda") -> torch.Tensor:
    return torch.arange(size, dtype=torch.float32, device=device)


def test_a_call_and_the_next_give_the_same_as_torch() -> None:
    double, x = build_double(), numbers()
    for _ in range(3):
        assert torch.equal(double(x), 2 * x)
    assert len(operator_of(double).plans(CUDA)) == 1


def test_two_specializations_of_one_kernel_take_turns() -> None:
    double, small, large = build_double(), numbers(64), numbers(4096)
    for _ in range(3):
        assert torch.equal(double(small), 2 * small)
        assert torch.equal(double(large), 2 * large)


def test_numbers_and_template_values_change_from_call_to_call() -> None:
    scale, x = build_scale(), numbers()
    for alpha in (2.0, -0.5, 3):
        assert torch.equal(scale(x, alpha=alpha), x * alpha)
        assert torch.equal(scale(x, alpha=alpha, times=2), x * alpha * alpha)


def test_another_dtype_after_caching_is_an_error_and_never_the_cached_kernel() -> None:
    double, x = build_double(), numbers()
    assert torch.equal(double(x), 2 * x)
    with pytest.raises(DtypeError, match="X holds s32"):
        double(x.int())
    with pytest.raises(LayoutError, match="X has strides"):
        double(x[::2])
    assert torch.equal(double(x), 2 * x)


def test_a_launch_waits_for_what_is_before_it_on_the_current_stream() -> None:
    double, x = build_double(), torch.zeros(4096, device="cuda")
    double(x)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(ENOUGH)
        x.fill_(1)
        y = double(x)  # a launch on the default stream would read zeros
    stream.synchronize()
    assert torch.equal(y, torch.full((4096,), 2.0, device="cuda"))


def test_threads_launch_on_streams_of_their_own() -> None:
    double = build_double()
    wrong: list[int] = []

    def work(number: int) -> None:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            x = torch.full((32 * (1 + number % 4),), float(number), device="cuda")
            results = [double(x) for _ in range(200)]
        stream.synchronize()
        wrong.extend(number for result in results if not torch.equal(result, 2 * x))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def captured(call: Any) -> tuple[torch.cuda.CUDAGraph, Any]:
    """Capture a call as on the torch documentation page; return the graph and the result of the call."""
    call()
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call()
    torch.cuda.current_stream().wait_stream(stream)
    with torch.cuda.graph(graph, stream=stream):
        out = call()
    return graph, out


def test_the_cuda_graphs_tier() -> None:
    double, x = build_double(), numbers()
    graph, out = captured(lambda: double(x))
    for factor in (1, 3, -2):
        x.copy_(numbers() * factor)
        graph.replay()
        assert torch.equal(out, 2 * x)


def test_a_graph_replays_after_its_kernel_has_made_room_for_others() -> None:
    double, x = build_double(), numbers()
    operator_of(double)._plans[CUDA.type] = Plans(operator_of(double), CUDA, limit=4)
    graph, out = captured(lambda: double(x))
    for blocks in range(1, 64):
        double(numbers(32 * blocks))
    gc.collect()
    x.fill_(5)
    graph.replay()
    assert torch.equal(out, 2 * x)


def test_out_writes_and_zero_inputs() -> None:
    double, x, y = build_double(), numbers(), torch.empty(4096, device="cuda")
    for _ in range(2):
        assert double(x, out=y) is y
        assert torch.equal(y, 2 * x)
    before = y._version
    assert scale_(y, alpha=0.5) is None
    assert torch.equal(y, x)
    assert y._version > before
    assert torch.equal(fill(N=64, alpha=3.0, device="cuda"), torch.full((64,), 3.0, device="cuda"))


@pytest.mark.parametrize("device", DEVICES, ids=str)
def test_a_kernel_runs_where_its_tensors_are_and_leaves_the_current_device_alone(device: torch.device) -> None:
    double = build_double()
    current = torch.cuda.current_device()
    for where in (*DEVICES, device):
        x = numbers(device=where)
        y = double(x)
        assert y.device == where
        assert torch.equal(y, 2 * x)
    assert torch.cuda.current_device() == current
    assert fill(N=32, alpha=1.0, device=device).device == device
    with pytest.raises(DeviceError, match="cpu"):
        double(numbers(), out=torch.empty(4096))


def test_gradients_and_compiled_calls() -> None:
    forward, backward = build_product()
    multiply = differentiable_kernel(forward, backward, save_for_backward=[0, 1])
    for function in (multiply, torch.compile(multiply, fullgraph=True)):
        x, w = (torch.randn(4096, device="cuda", requires_grad=True) for _ in range(2))
        y = function(x, w)
        assert torch.equal(y, x * w)
        y.sum().backward()
        assert torch.equal(x.grad, w)
        assert torch.equal(w.grad, x)
    double = build_double()
    y = double(x)
    with pytest.raises(GradientError, match="differentiable_kernel"):
        y.sum().backward()


def test_a_compiled_function_makes_a_graph_of_its_own() -> None:
    torch._dynamo.reset()
    double = build_double()
    compiled = torch.compile(lambda x: double(x + 1) * 3, fullgraph=True, mode="reduce-overhead")
    for _ in range(4):
        x = torch.randn(4096, device="cuda")
        assert torch.allclose(compiled(x), (x + 1) * 6)


def test_ten_thousand_specializations_leave_little_on_the_device() -> None:
    double, x = build_double(), numbers(32 * 10_000)
    double(x[:32])
    torch.cuda.synchronize()
    before, _ = torch.cuda.mem_get_info()
    for blocks in range(1, 10_001):
        double(x[: 32 * blocks], out=x[: 32 * blocks])
    torch.cuda.synchronize()
    after, _ = torch.cuda.mem_get_info()
    assert before - after < 64 << 20
    assert len(operator_of(double).plans(CUDA)) <= LIMIT


def test_no_memory_for_an_output_is_an_error_and_the_next_call_works() -> None:
    double, x = build_double(), numbers(1 << 20)
    assert torch.equal(double(x), 2 * x)
    torch.cuda.set_per_process_memory_fraction(0.01)
    try:
        with pytest.raises((MemoryError, RuntimeError), match="memory"):
            _ = [double(x) for _ in range(100_000)]
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert torch.equal(double(x), 2 * x)


def test_a_trap_is_an_error_of_the_next_wait_and_the_process_lives() -> None:
    child = """
import json, torch
from tests.gpu.torch_kernels import build_double, trap

double, x = build_double(), torch.ones(32, device="cuda")
double(x), trap(x)
found = []
for step in (torch.cuda.synchronize, lambda: double(x), lambda: double(torch.ones(64, device="cuda"))):
    try:
        step()
    except RuntimeError as error:
        found.append(str(error).splitlines()[0])
print(json.dumps(found), flush=True)
import os; os._exit(0)  # the context is dead: no destructor may touch it
"""
    done = subprocess.run(
        [sys.executable, "-c", child],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) == 3
    assert "CUDA" in found[0]
