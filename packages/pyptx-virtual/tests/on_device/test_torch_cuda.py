"""The Python code of `torch.cuda` runs unmodified on the virtual device."""

from __future__ import annotations

import os
import threading

import pytest
import torch

import pyptx_virtual


def test_the_device_is_available_and_says_that_it_is_virtual() -> None:
    assert torch.cuda.is_available()
    assert torch.cuda.is_initialized()
    assert torch.cuda.device_count() == 1
    assert torch.cuda.current_device() == 0
    assert torch.cuda.get_device_name() == "pyptx virtual GPU (sm_90a)"
    assert torch.cuda.get_device_capability() == (9, 0)
    assert torch.cuda.is_bf16_supported()
    assert torch.backends.cuda.is_built()
    assert not torch.backends.cudnn.is_available()
    assert torch.accelerator.current_accelerator() == torch.device("cuda")


def test_the_properties_are_those_of_the_simulated_target() -> None:
    found = torch.cuda.get_device_properties(0)
    row = pyptx_virtual.active().target
    assert (found.major, found.minor, found.warp_size) == (9, 0, 32)
    assert found.total_memory == pyptx_virtual.active().memory_bytes
    assert found.shared_memory_per_block_optin == row.shared_optin == 227 * 1024
    assert found.multi_processor_count == 132
    assert found.max_threads_per_multi_processor == 2048


def test_streams_nest_and_belong_to_a_thread() -> None:
    stream, other = torch.cuda.Stream(), torch.cuda.Stream(priority=-1)
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
        with other:
            assert torch.cuda.current_stream() == other
            assert torch._C._cuda_getCurrentRawStream(0) == other.cuda_stream != 0
        assert torch.cuda.current_stream() == stream
        seen: list[torch.cuda.Stream] = []
        thread = threading.Thread(target=lambda: seen.append(torch.cuda.current_stream()))
        thread.start()
        thread.join()
        assert seen == [torch.cuda.default_stream()]
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    assert isinstance(stream, torch.Stream)
    assert torch.cuda.ExternalStream(stream.cuda_stream) == stream
    with pytest.raises(pyptx_virtual.errors.UnknownStream, match="0xdead"):
        torch.cuda.ExternalStream(0xDEAD)


def test_streams_and_events_are_those_of_the_context() -> None:
    stream = torch.cuda.Stream()
    simulated = pyptx_virtual.active().streams.find(stream.cuda_stream)
    order: list[str] = []
    pyptx_virtual.active().context.enqueue(lambda: order.append("work"), "a callback", simulated)
    event = stream.record_event()
    torch.cuda.current_stream().wait_event(event)
    torch.cuda.current_stream().wait_stream(stream)
    event.synchronize()
    assert order == ["work"]
    assert event.query()
    assert stream.query()


def test_events_measure_time() -> None:
    start, end, untimed = (torch.cuda.Event(enable_timing=timed) for timed in (True, True, False))
    with pytest.raises(ValueError, match="must be recorded"):
        start.elapsed_time(end)
    start.record()
    end.record(torch.cuda.Stream())
    assert start.elapsed_time(end) >= 0
    with pytest.raises(ValueError, match="enable_timing"):
        start.elapsed_time(untimed)


def test_seeds_determine_the_random_numbers_of_the_device_only() -> None:
    def drawn() -> list[torch.Tensor]:
        x = torch.ones(50, device="cuda")
        return [
            torch.rand(5, device="cuda"),
            torch.randn(5, device="cuda", dtype=torch.float64),
            torch.randint(0, 100, (5,), device="cuda"),
            torch.randperm(10, device="cuda"),
            torch.nn.functional.dropout(x, 0.5),
            torch.empty(4, device="cuda").uniform_(),
            torch.bernoulli(x / 2),
            torch.multinomial(x, 5),
            torch.rand_like(x),
        ]

    torch.manual_seed(3)
    on_host = torch.rand(4)
    first = drawn()
    torch.manual_seed(3)
    second = drawn()
    assert torch.rand(4).equal(on_host)  # drawing on the device does not advance the CPU's generator
    torch.cuda.manual_seed(3)
    third = drawn()
    fourth = drawn()
    for each, again, once_more, different in zip(first, second, third, fourth, strict=True):
        assert each.equal(again)
        assert each.equal(once_more)
        assert not each.equal(different)


def test_generators_of_the_device() -> None:
    generator = torch.Generator("cuda").manual_seed(5)
    assert generator.device == torch.device("cuda", 0)
    first = torch.rand(6, device="cuda", generator=generator)
    state = generator.get_state()
    second = torch.rand(6, device="cuda", generator=generator)
    generator.set_state(state)
    assert torch.rand(6, device="cuda", generator=generator).equal(second)
    assert not first.equal(second)
    assert torch.Generator("cuda").manual_seed(5).initial_seed() == 5
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
        torch.rand(2, device="cuda", generator=torch.Generator())
    kept = torch.cuda.get_rng_state()
    expected = torch.rand(3, device="cuda")
    torch.cuda.set_rng_state(kept)
    assert torch.rand(3, device="cuda").equal(expected)


def test_pinned_memory() -> None:
    host = torch.arange(6.0).reshape(2, 3).t()
    pinned = host.pin_memory()
    assert pinned.is_pinned()
    assert not host.is_pinned()
    assert pinned.stride() == host.stride()
    assert pinned.equal(host)
    assert pinned.to("cuda", non_blocking=True).tolist() == host.tolist()
    assert torch.empty(0).pin_memory().numel() == 0


def test_the_runtime_and_ranges_of_nvtx() -> None:
    assert torch.cuda.cudart().cudaProfilerStart() == torch.cuda.cudart().cudaError.success
    assert [torch.cuda.nvtx.range_push("a"), torch.cuda.nvtx.range_push("b")] == [0, 1]
    assert [torch.cuda.nvtx.range_pop() for _ in range(3)] == [1, 0, -2]
    torch.cuda.nvtx.mark("here")
    torch.cuda.synchronize()
    torch.accelerator.synchronize()
    torch.cuda.ipc_collect()


def test_a_forked_process_has_device_memory_of_its_own() -> None:
    tensor = torch.ones(4, device="cuda")
    process = os.fork()
    if not process:
        tensor.add_(1)
        os._exit(0 if tensor.sum().item() == 8 else 1)
    assert os.waitpid(process, 0)[1] == 0
    assert tensor.sum().item() == 4


def test_a_graph_runs_what_was_captured_at_each_replay() -> None:
    x, weight, count = torch.randn(4, 8, device="cuda"), torch.randn(8, 8, device="cuda"), torch.zeros(2, device="cuda")
    rows, total = torch.tensor([3, 1], device="cuda"), torch.empty(8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        assert torch.cuda.is_current_stream_capturing()
        count.add_(1)
        y = (x @ weight).relu() + count[0]
        values, indices = y[rows].max(-1)
        torch.sum(y, 0, out=total)
        y[0] = -1
    assert not torch.cuda.is_current_stream_capturing()
    assert count.tolist() == [0, 0]
    for number in range(1, 4):
        x.copy_(torch.randn(4, 8))
        graph.replay()
        expected = (x @ weight).relu() + number
        assert count.tolist() == [number, number]
        assert total.equal(expected.sum(0))
        assert values.equal(expected[rows].max(-1).values)
        assert indices.equal(expected[rows].max(-1).indices)
        assert y[1:].equal(expected[1:])
        assert y[0].tolist() == [-1] * 8
    graph.reset()
    with pytest.raises(RuntimeError, match="replay without a preceding successful capture"):
        graph.replay()


def test_random_operators_draw_new_numbers_at_each_replay() -> None:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        drawn = torch.rand(16, device="cuda")
    graph.replay()
    first = drawn.clone()
    graph.replay()
    assert not drawn.equal(first)


def test_what_cuda_refuses_during_a_capture_is_refused() -> None:
    x = torch.ones(3, device="cuda")
    for refused in (lambda: x.sum().item(), x.cpu, torch.cuda.synchronize, lambda: torch.nonzero(x).tolist()):
        capture = torch.cuda.graph(torch.cuda.CUDAGraph())
        with pytest.raises(RuntimeError, match="operation not permitted when stream is capturing"), capture:
            refused()
        assert not torch.cuda.is_current_stream_capturing()
    with pytest.raises(RuntimeError, match="must be captured on a non-default stream"):
        torch.cuda.CUDAGraph().capture_begin()


def test_graphed_callables_have_gradients() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Linear(8, 2)).cuda()
    graphed = torch.cuda.make_graphed_callables(model, (torch.randn(4, 8, device="cuda"),))
    x = torch.randn(4, 8, device="cuda")
    for _ in range(2):
        model.zero_grad()
        graphed(x).square().sum().backward()
    wanted = [each.grad.clone() for each in model.parameters()]
    plain = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Linear(8, 2)).cuda()
    plain.load_state_dict(model.state_dict())
    plain(x).square().sum().backward()
    for got, other in zip(wanted, plain.parameters(), strict=True):
        torch.testing.assert_close(got, other.grad)
