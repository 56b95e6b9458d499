"""Every kind of launch on the hardware: plans without a framework; the tests check device memory."""

from __future__ import annotations

import ctypes
import runpy
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pyptx_ir.toolchain import assemble
from pyptx_launch import Module, Plan, Pointer, Scalar, TensorMap, driver, plan_for

from .driver import Device, Handle
from .kernels import ADD, CLUSTER, COOPERATIVE, FIRST, LOCAL, SECOND, SHARED, SPIN, constant, scale
from .plans import THREADS, module_of, plan_of, scale_plan, tile_plan

pytestmark = pytest.mark.gpu

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
# CUlaunchAttributeID (cuda.h).
COOPERATIVE_LAUNCH, PROGRAMMATIC, PRIORITY = 2, 6, 8
ON = struct.pack("<i", 1)
MILLISECOND = 1_000_000
# Stream handles that every context has: the legacy default stream (two handles), and the per-thread default stream.
DEFAULT_STREAMS = {"zero": 0, "legacy": 1, "per thread": 2}


def floats(count: int, kind: str = "f32", seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(count).astype(f"f{int(kind[1:]) // 8}")


def results(gpu: Device, plan: Plan, x: np.ndarray, stream: int = 0, **scalars: float) -> np.ndarray:
    """Run the kernel y = x * factor and return y, whose memory is NaN before the launch."""
    px, py = gpu.upload(x), gpu.upload(np.full_like(x, np.nan))
    plan.launch((px, py), stream, 0, scalars)
    gpu.synchronize()
    y = gpu.download(py, x)
    gpu.free(px)
    gpu.free(py)
    return y


def test_the_device_is_what_the_driver_says(gpu: Device) -> None:
    assert driver.available(), driver.reason()
    assert driver.devices()[0].capability == gpu.capability
    assert driver.version() >= (12, 0)


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("count", [1, THREADS, 100_003])
def test_a_plan_computes_what_its_entry_says(gpu: Device, kind: str, count: int) -> None:
    x = floats(count, kind)
    assert (results(gpu, scale_plan(count, kind), x) == 2 * x).all()
    assert (results(gpu, scale_plan(count, kind), x, factor=-0.5) == x * -0.5).all()


@pytest.mark.ptxas
def test_a_cubin_and_ptx_give_the_same(gpu: Device) -> None:
    x, entry = floats(1000), scale("f32")
    image = assemble(entry.ptx(gpu.target), gpu.target).cubin
    parameters = (Pointer(0), Pointer(1), Scalar("f32", "factor", 2.0), Scalar("u32", "n", 1000))
    compiled = Plan(Module(image), "scale", grid=(8, 1, 1), block=(THREADS, 1, 1), parameters=parameters)
    assert (results(gpu, compiled, x) == results(gpu, scale_plan(1000), x)).all()


def test_attributes_are_those_of_the_code(gpu: Device) -> None:
    found = module_of(LOCAL).attributes("deep")
    assert found.local >= 16384
    assert 0 < found.registers <= 255
    assert found.max_threads >= 128
    assert found.binary == 10 * gpu.capability[0] + gpu.capability[1]


# --- streams and threads ----------------------------------------------------------------------------


@pytest.mark.parametrize("stream", DEFAULT_STREAMS.values(), ids=DEFAULT_STREAMS)
def test_default_streams_take_launches(gpu: Device, stream: int) -> None:
    x = floats(1000)
    assert (results(gpu, scale_plan(1000), x, stream) == 2 * x).all()


def test_launches_run_on_the_stream_that_was_named_and_in_its_order(gpu: Device) -> None:
    busy, free = gpu.stream(), gpu.stream()
    spin = plan_of(SPIN, Pointer(0), Scalar("u32", "value"), Scalar("u64", "nanoseconds", 100 * MILLISECOND))
    slow, fast = gpu.upload(np.zeros(1, np.uint32)), gpu.upload(np.zeros(1, np.uint32))
    add = plan_of(ADD, Pointer(0), Scalar("u32", "amount", 3))
    for plan in (spin, add):  # the first launch loads the code, which may wait for the device
        plan.launch((slow,), busy, 0, (1,))
    gpu.synchronize()
    spin.launch((slow,), busy, 0, {"value": 2})
    add.launch((slow,), busy, 0)
    spin.launch((fast,), free, 0, {"value": 9, "nanoseconds": 1})
    gpu.synchronize(free)
    overtaken = not gpu.idle(busy)
    gpu.synchronize()
    assert overtaken
    assert gpu.download(fast, np.zeros(1, np.uint32)) == 9
    assert gpu.download(slow, np.zeros(1, np.uint32)) == 5


def test_many_threads_launch_one_plan(gpu: Device) -> None:
    threads, launches = 8, 500
    plan = plan_of(ADD, Pointer(0), Scalar("u32", "amount"), threads=32)
    rows = gpu.upload(np.zeros((threads, 32), np.uint32))

    def work(number: int) -> None:
        gpu.current()
        stream = gpu.stream()
        for each in range(launches):
            plan.launch((rows + 128 * number,), stream, 0, {"amount": each + number})
        gpu.synchronize(stream)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    wanted = [launches * (launches - 1) // 2 + launches * number for number in range(threads)]
    assert (gpu.download(rows, np.zeros((threads, 32), np.uint32)) == np.array(wanted)[:, None]).all()


def test_a_thread_without_a_context_launches_and_has_none_afterwards(gpu: Device) -> None:
    plan, place, current = plan_of(constant(3), Pointer(0)), gpu.upload(np.zeros(1, np.uint32)), Handle(1)

    def work() -> None:
        plan.launch((place,), 0, 0)
        gpu.call("cuCtxGetCurrent", ctypes.byref(current))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    gpu.synchronize()
    assert current.value is None
    assert gpu.download(place, np.zeros(1, np.uint32)) == 3


# --- CUDA graphs ------------------------------------------------------------------------------------


def test_a_graph_replays_what_was_captured_on_what_the_memory_holds_then(gpu: Device) -> None:
    x, stream = floats(1000), gpu.stream()
    px, py, pz = (gpu.upload(np.zeros_like(x)) for _ in range(3))
    plan = scale_plan(1000)
    with gpu.capturing(stream) as graph:
        plan.launch((px, py), stream, 0, {"factor": 3.0})
        plan.launch((py, pz), stream, 0)
    for seed in range(3):
        x = floats(1000, seed=seed)
        gpu.write(px, x)
        graph.replay(stream)
        gpu.synchronize(stream)
        assert (gpu.download(pz, x) == x * np.float32(3) * 2).all()
    assert len(graph) == 2


def test_a_plan_may_be_launched_first_under_capture(gpu: Device) -> None:
    stream, place = gpu.stream(), gpu.upload(np.zeros(1, np.uint32))
    image = constant(77).ptx(gpu.target).encode()
    with gpu.capturing(stream) as graph:
        plan = Plan(Module(image), "constant", grid=(1, 1, 1), block=(1, 1, 1), parameters=(Pointer(0),))
        plan.launch((place,), stream, 0)
    assert gpu.download(place, np.zeros(1, np.uint32)) == 0
    graph.replay(stream)
    gpu.synchronize(stream)
    assert gpu.download(place, np.zeros(1, np.uint32)) == 77


# --- launch attributes ------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16], ids=lambda size: f"of {size}")
def test_blocks_of_a_cluster_see_each_other(gpu: Device, size: int) -> None:
    blocks = 4 * size
    out = gpu.upload(np.zeros((blocks, 3), np.uint32))
    plan_of(CLUSTER, Pointer(0), blocks=blocks, cluster=size).launch((out,), 0, 0)
    gpu.synchronize()
    each = np.arange(blocks, dtype=np.uint32)
    first, rank = each // size * size, each % size
    wanted = np.stack([rank, np.full_like(each, size), first + (rank + 1) % size], axis=1)
    assert (gpu.download(out, wanted) == wanted).all()


def test_blocks_of_a_cooperative_launch_meet(gpu: Device) -> None:
    blocks = driver.devices()[0].multiprocessors
    counter, out = gpu.upload(np.zeros(1, np.uint32)), gpu.upload(np.zeros(blocks, np.uint32))
    attributes = ((COOPERATIVE_LAUNCH, ON),)
    plan_of(COOPERATIVE, Pointer(0), Pointer(1), blocks=blocks, attributes=attributes).launch((counter, out), 0, 0)
    gpu.synchronize()
    assert (gpu.download(out, np.zeros(blocks, np.uint32)) == blocks).all()


def stamps(gpu: Device, attributes: tuple[tuple[int, bytes], ...]) -> np.ndarray:
    """Run two consecutive kernels; return end time of the first, start time of the second, word written, word read."""
    times, stream = gpu.upload(np.zeros(4, np.uint64)), gpu.stream()
    first = plan_of(FIRST, Pointer(0), Scalar("u64", "nanoseconds", 5 * MILLISECOND))
    second = plan_of(SECOND, Pointer(0), attributes=attributes)
    for _ in range(2):  # the first run loads the code, which serializes the kernels
        gpu.write(times, np.zeros(4, np.uint64))
        first.launch((times,), stream, 0)
        second.launch((times,), stream, 0)
        gpu.synchronize()
    return gpu.download(times, np.zeros(4, np.uint64))


@pytest.mark.hardware
def test_a_programmatic_dependent_begins_early_and_waits_for_what_it_reads(gpu: Device) -> None:
    ended, begun, written, seen = stamps(gpu, ((PROGRAMMATIC, ON),))
    assert begun < ended
    assert written == seen == 7


def test_without_the_attribute_a_kernel_begins_when_the_one_in_front_has_ended(gpu: Device) -> None:
    ended, begun, written, seen = stamps(gpu, ())
    assert begun >= ended
    assert written == seen == 7


def test_launches_of_every_priority_run(gpu: Device) -> None:
    least, greatest = ctypes.c_int(), ctypes.c_int()
    gpu.call("cuCtxGetStreamPriorityRange", ctypes.byref(least), ctypes.byref(greatest))
    place, stream = gpu.upload(np.zeros(1, np.uint32)), gpu.stream()
    for priority in range(greatest.value, least.value + 1):
        attributes = ((PRIORITY, struct.pack("<i", priority)),)
        plan_of(ADD, Pointer(0), Scalar("u32", "amount", 1), attributes=attributes).launch((place,), stream, 0)
    gpu.synchronize()
    assert gpu.download(place, np.zeros(1, np.uint32)) == least.value - greatest.value + 1


def test_all_the_shared_memory_that_a_block_may_have_can_be_used(gpu: Device) -> None:
    most = driver.devices()[0].shared_optin
    # 1024 bytes come last: a smaller launch must not lower the entry's limit of dynamic shared memory.
    for size in (1, 48 * 1024, 48 * 1024 + 1, most, 1024):
        out = gpu.upload(np.zeros(2, np.uint32))
        plan = plan_of(SHARED, Pointer(0), Scalar("u32", "bytes", size), shared_bytes=size)
        plan.launch((out,), 0, 0)
        gpu.synchronize()
        read, told = gpu.download(out, np.zeros(2, np.uint32))
        assert read == 42
        assert size <= told < size + 1024, "allocated in units"


# --- kernels, and the framework next to pyptx --------------------------------------------------------


def test_two_specializations_of_a_kernel_run_side_by_side(gpu: Device) -> None:
    from pyptx_dsl.kernels.images import image_of
    from pyptx_ir.plugins.rows import Argument

    kernel = runpy.run_path(str(EXAMPLES / "ampere" / "vector_add.py"))["vector_add"]
    plans = {}
    for count in (1000, 100_003):
        traced = kernel.specialize([Argument((count,), "f32", (1,), 0, "cuda:0")] * 2, {})
        plans[count] = plan_for(traced, Module(image_of(traced, gpu.target)))
    for count in (1000, 100_003, 1000):
        a, b = floats(count, seed=1), floats(count, seed=2)
        pa, pb, pc = gpu.upload(a), gpu.upload(b), gpu.upload(np.full_like(a, np.nan))
        plans[count].launch((pa, pb, pc), 0, 0)
        gpu.synchronize()
        assert (gpu.download(pc, a) == a + b).all()


@pytest.mark.torch
def test_torch_and_plans_share_the_primary_context(gpu: Device) -> None:
    import torch

    context = Handle()
    x = torch.randn(1000, device="cuda")
    y = torch.empty_like(x)
    gpu.call("cuCtxGetCurrent", ctypes.byref(context))
    with torch.cuda.stream(torch.cuda.Stream()):
        stream = torch.cuda.current_stream().cuda_stream
        z = x + 1  # only the stream orders the addition, the launch and the subtraction
        scale_plan(1000).launch((z.data_ptr(), y.data_ptr()), stream, 0)
        w = y - 1
    torch.cuda.synchronize()
    assert torch.equal(w, (x + 1) * 2 - 1)
    after = Handle()
    gpu.call("cuCtxGetCurrent", ctypes.byref(after))
    assert after.value == context.value


@pytest.mark.torch
def test_a_launcher_follows_dtypes_shapes_and_streams_that_change(gpu: Device) -> None:  # noqa: ARG001 - opens it first
    import torch

    from pyptx_launch import Launcher, Signature

    missed: list[object] = []
    launcher = Launcher(
        lambda *tensors, **_: missed.append(tensors), types=(torch.Tensor,), empty_like=torch.empty_like
    )
    for kind in ("f32", "f64"):
        for count in (100, 5000):
            signature = Signature((count,), None, kind, (2, 0), 4)
            prototype = torch.empty(count, device="cuda", dtype={"f32": torch.float32, "f64": torch.float64}[kind])
            launcher.add(scale_plan(count, kind), (signature,), (signature,), like=[prototype])
    for dtype, count in [(torch.float32, 100), (torch.float64, 100), (torch.float32, 5000), (torch.float32, 100)] * 3:
        with torch.cuda.stream(torch.cuda.Stream()):
            x = torch.randn(count, device="cuda", dtype=dtype)
            y, out = launcher(x), torch.empty_like(x)
            assert launcher(x, out=out) is out
            assert torch.equal(y, 2 * x)
            assert torch.equal(out, 2 * x)
    assert not missed
    launcher(torch.randn(101, device="cuda"))
    assert len(missed) == 1


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.ptxas
@pytest.mark.parametrize(("slot", "rounds"), [("value", 10_000), ("pointer", 1_000)])
def test_specializations_that_are_dropped_leave_nothing_behind(gpu: Device, slot: str, rounds: int) -> None:
    image = assemble(constant(1).ptx(gpu.target), gpu.target).cubin
    x = gpu.upload(np.zeros((8, 8), np.float32))
    out = gpu.upload(np.zeros((8, 8), np.float32))
    held: list[tuple[int, int]] = []
    for number in range(rounds):
        pointers = (out,) if slot == "value" else (x, out)
        if slot == "value":
            plan = Plan(Module(image), "constant", grid=(1, 1, 1), block=(1, 1, 1), parameters=(Pointer(0),))
        else:
            plan = tile_plan(TensorMap.dense("f32", (8, 8), (8, 8)), slot)
        plan.launch(pointers, 0, 0)
        gpu.synchronize()  # waits for the kernel to end: then its code may be unloaded
        del plan
        if number in (rounds // 5, rounds - 1):
            held.append((gpu.free_bytes(), resident()))
    (free, before), (free_after, after) = held
    assert free - free_after < 4 << 20
    assert after - before < 16 << 20
