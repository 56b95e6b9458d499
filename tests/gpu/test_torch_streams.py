"""Kernels on CUDA tensors across streams, captures and threads: owner and lifetime of output memory."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
import torch

from pyptx_dsl import ptx, reg
from pyptx_dsl.contract.specs import Tile
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import u32
from pyptx_torch.device_types import CUDA
from pyptx_torch.operators import operator_of
from pyptx_torch.plans import Plans

from .torch_kernels import ARCH, build_double, build_scale

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_dsl.kernels.kernel import Kernel

pytestmark = [pytest.mark.gpu, pytest.mark.torch]

ENOUGH = 100_000_000  # cycles that `torch.cuda._sleep` spins (about 50 ms): longer than any launch takes
LONG = 20 * ENOUGH  # cycles of `torch.cuda._sleep` (about 1 s): longer than tracing, compiling and loading a kernel
SIZE = 1 << 20
MANY = 40  # number of scalar arguments of one kernel; an earlier version of pyptx cached at most 16


def numbers(size: int = SIZE) -> torch.Tensor:
    return torch.arange(size, dtype=torch.float32, device="cuda")


@pytest.fixture(params=["cold", "warm"])
def double(request: pytest.FixtureRequest) -> Kernel[Any]:
    """Return the kernel Y = X + X: warm (called for this size before) or cold.

    Its code and that of torch's own kernels are loaded: loading more code may wait for all running kernels.
    """
    built = build_double()
    for size in (2 * SIZE, *((SIZE, SIZE) if request.param == "warm" else ())):
        torch.full_like(built(numbers(size)), -1).add(1)
    torch.cuda.synchronize()
    return built


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()


# --- the memory of outputs --------------------------------------------------------------------------


def test_an_output_that_another_stream_reads_is_not_given_out_again_before_it_has(double: Kernel[Any]) -> None:
    x, side = numbers(), torch.cuda.Stream()
    y = double(x)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(ENOUGH)
        z = y + 1
    y.record_stream(side)
    address = y.data_ptr()
    del y
    others = [torch.full_like(x, -1) for _ in range(4)]
    assert not side.query(), "the other stream was done already: nothing was tested"
    assert address not in {each.data_ptr() for each in others}
    side.synchronize()
    assert torch.equal(z, 2 * x + 1)


def test_an_output_that_nobody_reads_any_more_is_given_out_again(double: Kernel[Any]) -> None:
    x = numbers()
    y = double(x)
    address = y.data_ptr()
    del y
    assert torch.empty_like(x).data_ptr() == address


def test_an_output_belongs_to_the_stream_that_it_was_made_on(double: Kernel[Any]) -> None:
    x, side = numbers(), torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(LONG)
        y = double(x)
    address = y.data_ptr()
    del y  # the kernel that writes `y` has not started
    other = torch.full_like(x, 7)
    assert not side.query(), "the other stream was done already: nothing was tested"
    assert other.data_ptr() != address
    side.synchronize()
    assert torch.equal(other, torch.full_like(x, 7))
    with torch.cuda.stream(side):
        assert torch.empty_like(x).data_ptr() == address


def test_an_output_is_resized_and_counted_as_any_other_tensor(double: Kernel[Any]) -> None:
    x = numbers()
    before = torch.cuda.memory_allocated()
    y = double(x)
    assert torch.cuda.memory_allocated() - before == x.untyped_storage().nbytes()
    assert y.untyped_storage().resizable()
    y.untyped_storage().resize_(0)
    assert torch.cuda.memory_allocated() == before
    y.untyped_storage().resize_(4 * SIZE)
    y.copy_(x)
    y.resize_(2 * SIZE)
    assert torch.equal(y[:SIZE], x)


# --- scalars ----------------------------------------------------------------------------------------


def build_many() -> Kernel[Any]:
    """Y[i] = scalar i; X is not read."""

    @kernel(
        in_specs=(Tile("N", u32),),
        out_specs=(Tile("N", u32),),
        grid=1,
        block=1,
        arch=ARCH,
        raw_params=[("u32", f"s{number}") for number in range(MANY)],
    )
    def many(X: Any, Y: Any) -> None:
        _, y = ptx.global_ptrs(X, Y)
        for number in range(MANY):
            value = reg.scalar(u32)
            ptx.inst.ld.param.u32(value, ptx.addr(f"s{number}"))
            ptx.inst.st.global_.u32(ptx.addr(y + 4 * number), value)
        ptx.ret()

    return many


def test_every_one_of_many_scalars_arrives_in_cold_and_warm_calls() -> None:
    many = build_many()
    x, out = (torch.zeros(MANY, dtype=torch.uint32, device="cuda") for _ in range(2))
    for call in range(4):
        values = {f"s{number}": 1000 * call + number for number in range(MANY)}
        many(x, **values, out=out)
        assert out.cpu().tolist() == list(values.values())


# --- captures and graphs ----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["global", "thread_local", "relaxed"])
def test_a_kernel_is_called_for_the_first_time_while_a_graph_is_captured(mode: str) -> None:
    double, x = build_double(), numbers()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode=mode):
        y = double(x)
    for factor in (1, 3):
        x.copy_(numbers() * factor)
        graph.replay()
        assert torch.equal(y, 2 * x)


def test_a_first_call_in_another_thread_breaks_no_capture() -> None:
    captured, elsewhere = build_double(), build_scale()
    x, y = numbers(), torch.empty(SIZE, device="cuda")
    captured(x, out=y)
    torch.cuda.synchronize()
    graph, other = torch.cuda.CUDAGraph(), torch.ones(64, device="cuda")

    stream = torch.cuda.Stream()

    def work() -> None:  # `out` is written in place: torch must not allocate during a capture
        with torch.cuda.stream(stream):
            elsewhere(other, alpha=3.0, out=other)

    with ThreadPoolExecutor(1) as pool, torch.cuda.graph(graph, capture_error_mode="global"):
        captured(x, out=y)
        pool.submit(work).result()
    y.zero_()
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(y, 2 * x)
    assert torch.equal(other, torch.full_like(other, 3.0))


def test_a_graph_replays_after_all_other_memory_was_given_back_and_taken_again(double: Kernel[Any]) -> None:
    x, graph = numbers(), torch.cuda.CUDAGraph()
    double(x)
    with torch.cuda.graph(graph):
        y = double(double(x))
    held = [torch.full((SIZE,), float(number), device="cuda") for number in range(16)]
    del held
    torch.cuda.empty_cache()
    held = [torch.full((SIZE,), -1.0, device="cuda") for _ in range(32)]
    x.fill_(3)
    graph.replay()
    assert torch.equal(y, torch.full_like(y, 12))
    assert all(bool((each == -1).all()) for each in held)


# --- threads ----------------------------------------------------------------------------------------


def test_threads_call_warm_kernels_while_plans_make_room_for_others() -> None:
    double, threads, calls = build_double(), 8, 400
    operator_of(double)._plans[CUDA.type] = Plans(operator_of(double), CUDA, limit=4)

    def work(number: int) -> int:
        wrong = 0
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            x = numbers(32 * (threads + 8))
            for call in range(calls):
                size = 32 * (1 + (number + call) % (threads + 8))
                wrong += not torch.equal(double(x[:size]), 2 * x[:size])
        stream.synchronize()
        return wrong

    with ThreadPoolExecutor(threads) as pool:
        assert list(pool.map(work, range(threads))) == [0] * threads


# --- profiles ---------------------------------------------------------------------------------------


def test_a_profile_names_the_kernel_on_the_host_and_on_the_device(double: Kernel[Any]) -> None:
    x = numbers()
    double(x)
    kinds = torch.profiler.ProfilerActivity
    with torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA]) as profile:
        for _ in range(3):
            double(x)
        torch.cuda.synchronize()
    host, device = torch.autograd.DeviceType.CPU, torch.autograd.DeviceType.CUDA
    found = [event for event in profile.events() if "double" in event.name]
    by_device = {kind: sum(event.device_type == kind for event in found) for kind in (host, device)}
    assert by_device[host] >= 3
    assert by_device[device] >= 3
