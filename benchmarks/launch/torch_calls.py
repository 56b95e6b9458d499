"""Kernel calls through torch, compared with torch's own addition, Triton's launches and the driver's."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from benchmarks.launch.bare_driver import RawLaunch
from benchmarks.launch.rounds import measure
from benchmarks.launch.subjects import COUNT, THREADS, add_kernel, device_target, plan_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.launch.rounds import Calls

NUMBER = 200  # kernel launches per timed round, fewer than fill the device's launch queue
REPLAY = "replay of ours"


def torch_calls(repeat: int, device: str) -> list[dict[str, Any]]:
    """Measure the kernel and torch's own addition, on tensors of `device`."""
    import torch

    on_gpu = device == "cuda"
    kernel = add_kernel(device_target())
    x, w = torch.randn(COUNT, device=device), torch.randn(COUNT, device=device)
    y = torch.empty_like(x)
    assert torch.equal(kernel(x, w), x + w)
    calls: Calls = {
        "ours": lambda: kernel(x, w),
        "ours, out=": lambda: kernel(x, w, out=y),
        "torch.add": lambda: torch.add(x, w),
        "torch.add, out=": lambda: torch.add(x, w, out=y),
        "torch.empty_like": lambda: torch.empty_like(x),
    }
    if not on_gpu:
        return measure(calls, lambda: None, 50, repeat)
    plan, image = plan_of(kernel, x, w)
    raw = RawLaunch(image, "add", [each.data_ptr() for each in (x, w, y)])
    calls.update(driver_calls(plan, raw, x, w, y))
    calls.update(graph_calls(kernel, raw, x, w, y))
    calls["torch.compile(ours)"] = torch.compile(lambda: kernel(x, w), fullgraph=True)
    calls["torch.compile(x + w)"] = torch.compile(lambda: x + w, fullgraph=True)
    rows = measure(calls, torch.cuda.synchronize, NUMBER, repeat)
    assert torch.equal(y, x + w)
    return rows


def driver_calls(plan: Any, raw: RawLaunch, x: Any, w: Any, y: Any) -> Calls:  # noqa: ANN401 - a plan and tensors
    """Return driver launches of the kernel's machine code, and a launch of Triton's own kernel."""
    import torch

    pointers, stream = [each.data_ptr() for each in (x, w, y)], torch.cuda.current_stream().cuda_stream
    calls: Calls = {
        "plan.launch": lambda: plan.launch(pointers, stream, 0),
        "cuLaunchKernel, ctypes": raw.on(stream),
    }
    if importlib.util.find_spec("cuda") and importlib.util.find_spec("cuda.bindings"):
        calls["cuLaunchKernel, cuda-python"] = raw.through_cuda_python(stream)
    loop, called = raw.in_c(stream, NUMBER), [0]

    def floor() -> None:  # every NUMBER-th call makes NUMBER launches in a C loop; other calls do nothing
        called[0] += 1
        if called[0] % NUMBER == 0:
            loop()

    calls["cuLaunchKernel, a loop in C"] = floor
    if importlib.util.find_spec("triton"):
        calls["triton, out="] = triton_add(x, w, y)
    return calls


def triton_add(x: Any, w: Any, y: Any) -> Callable[[], object]:  # noqa: ANN401 - tensors
    """Return a launch of Triton's own vector addition."""
    import triton
    import triton.language as tl

    @triton.jit
    def add(x_pointer, w_pointer, y_pointer, count, block: tl.constexpr) -> None:
        at = tl.program_id(0) * block + tl.arange(0, block)
        total = tl.load(x_pointer + at, mask=at < count) + tl.load(w_pointer + at, mask=at < count)
        tl.store(y_pointer + at, total, mask=at < count)

    globals()["tl"] = tl  # Triton's compiler looks up `tl` in the module's globals
    return lambda: add[(COUNT // THREADS,)](x, w, y, COUNT, block=THREADS)


def graph_calls(kernel: Any, raw: RawLaunch, x: Any, w: Any, y: Any) -> Calls:  # noqa: ANN401 - a kernel and tensors
    """Return replays of CUDA graphs with one launch each: our kernel's, torch's and the driver's."""
    import torch

    def replay(call: Callable[[], object]) -> Callable[[], object]:
        graph = torch.cuda.CUDAGraph()
        call()
        with torch.cuda.graph(graph):
            call()
        return graph.replay

    return {
        REPLAY: replay(lambda: kernel(x, w, out=y)),
        "replay of torch.add": replay(lambda: torch.add(x, w, out=y)),
        "replay of cuLaunchKernel": replay(lambda: RawLaunch.check(raw.on(torch.cuda.current_stream().cuda_stream)())),
    }
