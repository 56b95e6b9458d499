"""cuda.core streams, events and graphs; contexts of every kind; calls refused in a capture; tensor maps in graphs."""

from __future__ import annotations

import ctypes
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pyptx_launch import Module, Plan, Pointer, Scalar, TensorMap

from .driver import DriverError, Handle
from .kernels import ADD, SPIN, constant, many
from .plans import module_of, plan_of, scale_plan, tile_plan
from .test_tensor_maps import boxes, noise, swizzled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .driver import Device

try:
    from cuda.bindings import driver as cuda
    from cuda.core import Device as CoreDevice
except ImportError as missing:
    pytest.skip(f"pip install cuda-core, whose streams and graphs these tests use ({missing})", allow_module_level=True)

pytestmark = pytest.mark.gpu

MILLISECOND = 1_000_000
GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2  # values of the enum CUstreamCaptureMode
MULTIPROCESSORS = cuda.CUdevResourceType.CU_DEV_RESOURCE_TYPE_SM
ZERO = np.zeros(1, np.uint32)


@pytest.fixture
def core(gpu: Device) -> Any:
    """Return cuda.core's device 0, current in this thread."""
    del gpu
    found = CoreDevice(0)
    found.set_current()
    return found


def done(result: tuple[Any, ...]) -> Any:
    """Return the result of a cuda.bindings function; raise AssertionError if the function failed."""
    assert int(result[0]) == 0, cuda.cuGetErrorName(result[0])
    return result[1] if len(result) == 2 else result[1:]


# --- cuda.core's streams and graphs -----------------------------------------------------------------


def test_an_event_of_cuda_core_orders_launches_on_two_streams(gpu: Device, core: Any) -> None:
    first, second = core.create_stream(), core.create_stream()
    place = gpu.upload(ZERO)
    spin = plan_of(SPIN, Pointer(0), Scalar("u32", "value", 5), Scalar("u64", "nanoseconds", 50 * MILLISECOND))
    add = plan_of(ADD, Pointer(0), Scalar("u32", "amount", 3))
    for _ in range(2):  # the first launches load the code, which may wait for the device
        spin.launch((place,), first, 0)
        second.wait(first.record())
        add.launch((place,), second, 0)
        second.sync()
    assert gpu.download(place, ZERO) == 8


def test_a_graph_of_cuda_core_runs_branches_and_what_follows_both(gpu: Device, core: Any) -> None:
    left, right, total = (gpu.upload(ZERO) for _ in range(3))
    add = plan_of(ADD, Pointer(0), Scalar("u32", "amount"))
    builder = core.create_graph_builder().begin_building()
    one, other = builder.split(2)
    add.launch((left,), one.stream, 0, {"amount": 1})
    add.launch((right,), other.stream, 0, {"amount": 2})
    builder = type(one).join(one, other)
    add.launch((total,), builder.stream, 0, {"amount": 3})
    graph = builder.end_building().complete()
    stream = core.create_stream()
    for _ in range(4):
        graph.launch(stream)
    stream.sync()
    assert [int(gpu.download(place, ZERO)[0]) for place in (left, right, total)] == [4, 8, 12]


def test_many_threads_launch_on_streams_of_their_own(gpu: Device) -> None:
    threads, launches = 8, 300
    add, rows = plan_of(ADD, Pointer(0), Scalar("u32", "amount", 1)), gpu.upload(np.zeros(threads, np.uint32))

    def work(number: int) -> None:
        found = CoreDevice(0)
        found.set_current()
        stream = found.create_stream()
        for _ in range(launches):
            add.launch((rows + 4 * number,), stream, 0)
        stream.sync()

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    assert (gpu.download(rows, np.zeros(threads, np.uint32)) == launches).all()


# --- contexts other than the primary one ------------------------------------------------------------


@contextmanager
def created_context(gpu: Device) -> Iterator[None]:
    """Make a new context current for the body."""
    context = Handle()
    gpu.call("cuCtxCreate_v2", ctypes.byref(context), 0, 0)
    try:
        yield
    finally:
        gpu.call("cuCtxDestroy_v2", context)


def scaled_on(gpu: Device, stream: int) -> None:
    """Launch twice on a stream (the first and a later launch of a plan), and check the results."""
    x = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    px, py = gpu.upload(x), gpu.upload(np.full_like(x, np.nan))
    plan = scale_plan(len(x))
    for factor in (2.0, -3.0):
        plan.launch((px, py), stream, 0, {"factor": factor})
        gpu.synchronize(stream)
        assert (gpu.download(py, x) == np.float32(factor) * x).all()


def test_a_stream_of_a_created_context_takes_launches(gpu: Device) -> None:
    with created_context(gpu):
        scaled_on(gpu, gpu.stream())
    scaled_on(gpu, gpu.stream())  # after the `with` block, the primary context is current again


@contextmanager
def green_context(least: int) -> Iterator[Any]:
    """Create a green context with at least `least` SMs of device 0 for the body."""
    whole = done(cuda.cuDeviceGetDevResource(0, MULTIPROCESSORS))
    groups, _, _ = done(cuda.cuDevSmResourceSplitByCount(1, whole, 0, least))
    description = done(cuda.cuDevResourceGenerateDesc(groups[:1], 1))
    flag = cuda.CUgreenCtxCreate_flags.CU_GREEN_CTX_DEFAULT_STREAM
    green = done(cuda.cuGreenCtxCreate(description, 0, flag.value))
    try:
        yield green
    finally:
        cuda.cuGreenCtxDestroy(green)


def test_a_stream_of_a_green_context_takes_launches(gpu: Device) -> None:
    flag = cuda.CUstream_flags.CU_STREAM_NON_BLOCKING.value
    with green_context(8) as green:
        scaled_on(gpu, int(done(cuda.cuGreenCtxStreamCreate(green, flag, 0))))


def test_launches_of_one_plan_go_to_streams_of_every_context_in_turn(gpu: Device) -> None:
    add, flag = plan_of(ADD, Pointer(0), Scalar("u32", "amount", 1)), cuda.CUstream_flags.CU_STREAM_NON_BLOCKING.value
    place, streams = gpu.upload(ZERO), [gpu.stream()]
    with green_context(8) as green:
        streams.append(int(done(cuda.cuGreenCtxStreamCreate(green, flag, 0))))
        for _ in range(3):
            for stream in streams:
                add.launch((place,), stream, 0)
        gpu.synchronize()
    assert gpu.download(place, ZERO) == 6


def test_a_function_of_one_context_is_refused_on_a_stream_of_another_and_a_kernel_is_not(gpu: Device) -> None:
    # The launcher relies on the driver, which accepts a CUkernel as a CUfunction and runs it in the stream's context.
    module = module_of(constant(9))
    kernel = Handle(module.kernel("constant"))
    function = Handle()
    gpu.call("cuKernelGetFunction", ctypes.byref(function), kernel)
    with created_context(gpu):
        stream, place = gpu.stream(), gpu.upload(ZERO)
        pointer = ctypes.c_uint64(place)
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(pointer))
        launch = (1, 1, 1, 1, 1, 1, 0, Handle(stream), parameters, None)
        with pytest.raises(DriverError, match="CUDA_ERROR_INVALID_HANDLE"):
            gpu.call("cuLaunchKernel", function, *launch)
        gpu.call("cuLaunchKernel", kernel, *launch)
        gpu.synchronize(stream)
        assert gpu.download(place, ZERO) == 9


# --- parameters -------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [16, 17, 40])
def test_every_one_of_many_scalars_arrives_whether_it_is_fixed_or_given(gpu: Device, count: int) -> None:
    wanted = np.arange(100, 100 + count, dtype=np.uint32)
    out = gpu.upload(np.zeros_like(wanted))
    scalars = [Scalar("u32", f"s{i}", int(value) if i % 2 else None) for i, value in enumerate(wanted)]
    plan = plan_of(many(count), Pointer(0), *scalars)
    for more in (0, 1000):
        given = {f"s{i}": int(value) + more for i, value in enumerate(wanted) if not i % 2}
        plan.launch((out,), 0, 0, given)
        gpu.synchronize()
        even = np.arange(count) % 2 == 0
        assert (gpu.download(out, wanted) == wanted + np.uint32(more) * even).all()
    plan.launch((out,), 0, 0, [int(value) + 5 for value in wanted])  # values of the kernel's scalar parameters in order
    gpu.synchronize()
    assert (gpu.download(out, wanted) == wanted + 5).all()


# --- what a capture refuses -------------------------------------------------------------------------


def begin(gpu: Device, stream: int, mode: int = GLOBAL) -> None:
    gpu.call("cuStreamBeginCapture_v2", Handle(stream), mode)


def end(gpu: Device, stream: int) -> str | None:
    """End a capture; return its error, None if there is none."""
    graph = Handle()
    try:
        gpu.call("cuStreamEndCapture", Handle(stream), ctypes.byref(graph))
    except DriverError as error:
        return str(error)
    gpu.call("cuGraphDestroy", graph)
    return None


def captured_event(gpu: Device, stream: int) -> Handle:
    event = Handle()
    gpu.call("cuEventCreate", ctypes.byref(event), 0)
    gpu.call("cuEventRecord", event, Handle(stream))
    return event


REFUSED: dict[str, tuple[str, Callable[[Device, int], object]]] = {
    "memory": ("STREAM_CAPTURE_UNSUPPORTED", lambda gpu, _: gpu.allocate(64)),
    "waiting for the stream": ("STREAM_CAPTURE_UNSUPPORTED", lambda gpu, stream: gpu.synchronize(stream)),
    "waiting for the device": ("STREAM_CAPTURE_UNSUPPORTED", lambda gpu, _: gpu.synchronize()),
    "querying a captured event": (
        "CAPTURED_EVENT",
        lambda gpu, stream: gpu.call("cuEventQuery", captured_event(gpu, stream)),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_capture_refuses_breaks_it_and_launches_go_on_afterwards(gpu: Device, name: str) -> None:
    error, call = REFUSED[name]
    stream, place, plan = gpu.stream(), gpu.upload(ZERO), plan_of(constant(4), Pointer(0))
    plan.launch((place,), stream, 0)
    gpu.synchronize()
    begin(gpu, stream)
    with pytest.raises(DriverError, match=f"CUDA_ERROR_{error}"):
        call(gpu, stream)
    assert "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED" in (end(gpu, stream) or "")
    plan.launch((place,), stream, 0)
    gpu.synchronize()
    assert gpu.download(place, ZERO) == 4


@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL, RELAXED])
@pytest.mark.parametrize("slot", ["value", "pointer"])
def test_the_first_launch_of_code_breaks_no_capture_of_its_own_stream_or_of_another_threads(
    gpu: Device, mode: int, slot: str
) -> None:
    array, stream, elsewhere = noise((32, 32), "u4"), gpu.stream(), gpu.stream()
    out = np.zeros((2, 16 * 32 * 4), np.uint8)
    source, target, place = gpu.upload(array), gpu.upload(out), gpu.upload(ZERO)
    image = constant(1000 + 10 * mode + len(slot)).ptx(gpu.target).encode()

    def work() -> None:  # loads a module and launches its kernel while another thread captures a stream
        gpu.current()
        shape: Any = {"grid": (1, 1, 1), "block": (1, 1, 1)}
        Plan(Module(image), "constant", **shape, parameters=(Pointer(0),)).launch((place,), elsewhere, 0)

    begin(gpu, stream, mode)
    tile_plan(TensorMap.dense("u32", array.shape, (16, 32)), slot).launch((source, target), stream, 0)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert end(gpu, stream) is None
    gpu.synchronize(elsewhere)
    assert gpu.download(place, ZERO) == 1000 + 10 * mode + len(slot)


# --- graphs and freed memory ------------------------------------------------------------------------


def test_a_graph_reads_what_lies_at_its_addresses_after_memory_was_given_back_and_taken_again(gpu: Device) -> None:
    x, stream = np.arange(1000, dtype=np.float32), gpu.stream()
    px, py = gpu.upload(x), gpu.upload(np.zeros_like(x))
    plan = scale_plan(len(x))
    with gpu.capturing(stream) as graph:
        plan.launch((px, py), stream, 0)
    others = [gpu.upload(x) for _ in range(8)]
    gpu.free(px)
    held = []
    while (place := gpu.allocate(x.nbytes)) != px and len(held) < 100:
        held.append(place)
    for each in (*others, *held):
        gpu.free(each)
    if place != px:
        pytest.fail("the driver did not give the memory out again: nothing was tested")
    gpu.write(px, x + 1)
    graph.replay(stream)
    gpu.synchronize(stream)
    assert (gpu.download(py, x) == 2 * (x + 1)).all()


def copies(gpu: Device, plan: Plan, arrays: Sequence[np.ndarray], stream: int, rounds: int = 1) -> None:
    """Copy each array with a plan for its tensor map, without waiting between copies; check the results."""
    tiles = np.zeros((2, 16 * 32 * 4), np.uint8)
    sources = [gpu.upload(array) for array in arrays]
    targets = gpu.upload(np.zeros((len(arrays), *tiles.shape), np.uint8))
    for _ in range(rounds):
        for number, source in enumerate(sources):
            plan.launch((source, targets + number * tiles.nbytes), stream, 0)
    gpu.synchronize(stream)
    found = gpu.download(targets, np.zeros((len(arrays), *tiles.shape), np.uint8))
    for number, array in enumerate(arrays):
        assert (found[number] == swizzled(boxes(array, (16, 32)), 7)).all()
    for place in (*sources, targets):
        gpu.free(place)


def map_plan(slot: str) -> Plan:
    return tile_plan(TensorMap.dense("u32", (32, 32), (16, 32), swizzle="128B"), slot)


@pytest.mark.parametrize("slot", ["value", "pointer"])
def test_more_tensors_than_a_pool_has_places_are_copied_right_and_take_no_more_memory(gpu: Device, slot: str) -> None:
    plan, stream = map_plan(slot), gpu.stream()
    arrays = [noise((32, 32), "u4", seed=seed) for seed in range(400)]
    copies(gpu, plan, arrays, stream, rounds=2)
    free = gpu.free_bytes()
    copies(gpu, plan, arrays, stream)
    assert free - gpu.free_bytes() < 1 << 20


@pytest.mark.parametrize("slot", ["value", "pointer"])
def test_a_graph_keeps_the_maps_of_its_launches_whatever_is_launched_since(gpu: Device, slot: str) -> None:
    plan, stream, array = map_plan(slot), gpu.stream(), noise((32, 32), "u4", seed=77)
    out = np.zeros((2, 16 * 32 * 4), np.uint8)
    source, target = gpu.upload(array), gpu.upload(out)
    with gpu.capturing(stream) as graph:
        plan.launch((source, target), stream, 0)
    copies(gpu, plan, [noise((32, 32), "u4", seed=seed) for seed in range(300)], stream)
    graph.replay(stream)
    gpu.synchronize(stream)
    assert (gpu.download(target, out) == swizzled(boxes(array, (16, 32)), 7)).all()


@pytest.mark.parametrize("slot", ["value", "pointer"])
def test_threads_copy_more_tensors_through_one_plan_than_a_pool_has_places(gpu: Device, slot: str) -> None:
    plan = map_plan(slot)

    def work(number: int) -> None:
        gpu.current()
        copies(gpu, plan, [noise((32, 32), "u4", seed=1000 * number + i) for i in range(100)], gpu.stream())

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


def test_a_priority_is_an_attribute_of_a_launch_in_a_graph_too(gpu: Device) -> None:
    stream, place = gpu.stream(), gpu.upload(ZERO)
    attributes = ((8, struct.pack("<i", -1)),)  # CU_LAUNCH_ATTRIBUTE_PRIORITY
    plan = plan_of(ADD, Pointer(0), Scalar("u32", "amount", 2), attributes=attributes)
    with gpu.capturing(stream) as graph:
        plan.launch((place,), stream, 0)
    for _ in range(3):
        graph.replay(stream)
    gpu.synchronize(stream)
    assert gpu.download(place, ZERO) == 6
