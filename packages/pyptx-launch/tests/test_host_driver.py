"""The stand-in for NVIDIA's driver implements the driver's rules: bounds, stream order, contexts, captures, faults."""

from __future__ import annotations

import ctypes
import gc
import threading
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, byref, c_float, c_int, c_size_t, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any

import pytest

from pyptx_launch import DriverError, Module, Plan, Pointer, Scalar

from .host_driver.simulated import Request
from .images import POINTER as DECLARED
from .images import image, scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .null_driver import NullDriver
    from .streams import Streams

ONE = (1, 1, 1)
INVALID_VALUE, OUT_OF_MEMORY, INVALID_HANDLE, ILLEGAL_STATE, NOT_READY = 1, 2, 400, 401, 600
ILLEGAL_ADDRESS, LAUNCH_FAILED, COOPERATIVE_TOO_LARGE, INVALID_CLUSTER_SIZE = 700, 719, 720, 912
UNSUPPORTED, INVALIDATED, UNJOINED, ISOLATION, IMPLICIT, CAPTURED_EVENT = 900, 901, 904, 905, 906, 907

GIVEN_BACK = {
    "cuEventCreate": "cuEventDestroy_v2",
    "cuMemAlloc_v2": "cuMemFree_v2",
    "cuStreamCreate": "cuStreamDestroy_v2",
}


class Driver:
    """Driver functions by name; `ran` lists the parameter `value` of each executed kernel.

    A kernel is `k(.u64 to, .u32 value)`. The launch callback, which is not the simulator, stores `value` at `to`.
    """

    def __init__(self, null: NullDriver) -> None:
        self.library: Any = null._library
        self.handles: list[tuple[str, c_uint64]] = []
        self.ran: list[int] = []
        self.fault = 0  # error code that the next kernel returns; 0: success
        self.answer = CFUNCTYPE(c_int, POINTER(Request))(self._run)
        self.library.null_driver_on_launch(self.answer)
        module = Module(image(DECLARED, scalar("u32")))
        parameters = (Pointer(0), Scalar("u32", "value"))
        self.plan = Plan(module, "k", grid=(2, 1, 1), block=(32, 1, 1), parameters=parameters)

    def _run(self, request: Any) -> int:
        asked = request.contents
        assert (asked.entry, tuple(asked.grid), tuple(asked.block), asked.shared) == (b"k", (2, 1, 1), (32, 1, 1), 0)
        assert ctypes.string_at(asked.image, asked.image_bytes).startswith(b".version 8.0")
        bank = ctypes.string_at(asked.parameters, asked.parameter_bytes)
        to, value = int.from_bytes(bank[:8], "little"), bank[8:12]
        if to and not self.fault:
            ctypes.memmove(to, value, 4)
        self.ran.append(int.from_bytes(value, "little"))
        fault, self.fault = self.fault, 0
        return fault

    def __call__(self, function: str, *arguments: object) -> int:
        return int(getattr(self.library, function)(*arguments))

    def launch(self, stream: int, value: int, to: int = 0) -> None:
        self.plan.launch((to,), stream, 0, (value,))

    def made(self, function: str, *arguments: object) -> int:
        """Return the handle or address that a driver function creates."""
        found = c_uint64()
        assert self(function, byref(found), *arguments) == 0
        self.handles += [(GIVEN_BACK[function], found)] if function in GIVEN_BACK else []
        return found.value

    def close(self) -> None:
        """Free all driver objects of the test, so that other tests do not count them."""
        self("cuCtxSynchronize")
        for function, handle in reversed(self.handles):
            self(function, handle)  # the driver call only returns an error if the test has freed the object
        self.library.null_driver_on_launch(None)
        del self.plan, self.answer  # breaks a reference cycle: this test frees the module, not a later test
        gc.collect()

    def stream(self, flags: int = 1) -> int:
        return self.made("cuStreamCreate", flags)

    def word(self, address: int) -> int:
        value = ctypes.c_uint32()
        assert self("cuMemcpyDtoH_v2", byref(value), c_uint64(address), c_size_t(4)) == 0
        return value.value


@pytest.fixture
def driver(null: NullDriver) -> Iterator[Driver]:
    null.context(0)
    made = Driver(null)
    yield made
    made.close()
    null.live()


@contextmanager
def lost_at_the_end(driver: Driver) -> Iterator[None]:
    """Require that the primary context is lost, as after any fault; then restore it."""
    yield
    assert driver("cuCtxSynchronize") != 0
    driver.library.null_driver_mend()


# --- memory -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("offset", "size", "result"), [(0, 100, 0), (96, 4, 0), (96, 5, 1), (-1, 4, 1), (100, 1, 1)])
def test_a_copy_past_an_allocation_is_refused_whichever_way_it_goes(driver, offset, size, result):
    place = driver.made("cuMemAlloc_v2", c_size_t(100))
    host, at, bytes_ = ctypes.create_string_buffer(128), c_uint64(place + offset), c_size_t(size)
    assert driver("cuMemcpyHtoD_v2", at, host, bytes_) == result
    assert driver("cuMemcpyDtoH_v2", host, at, bytes_) == result
    assert driver("cuMemsetD8_v2", at, 7, bytes_) == result
    assert driver("cuMemFree_v2", c_uint64(place)) == 0
    assert driver("cuMemcpyDtoH_v2", host, at, bytes_) == INVALID_VALUE
    assert driver("cuMemFree_v2", c_uint64(place)) == INVALID_VALUE


def test_memory_is_counted_and_runs_out(driver, null):
    free, total = c_size_t(), c_size_t()
    assert driver("cuMemGetInfo_v2", byref(free), byref(total)) == 0
    null.set(memory=total.value - free.value + (1 << 20))  # memory limit: 1 MiB more than other tests use
    place = driver.made("cuMemAlloc_v2", c_size_t(1 << 19))
    assert driver("cuMemGetInfo_v2", byref(free), byref(total)) == 0
    assert free.value == 1 << 19
    assert driver("cuMemAlloc_v2", byref(c_uint64()), c_size_t((1 << 19) + 1)) == OUT_OF_MEMORY
    driver("cuMemFree_v2", c_uint64(place))
    assert driver("cuMemFree_v2", c_uint64(driver.made("cuMemAlloc_v2", c_size_t(1 << 20)))) == 0


def test_what_a_pointer_points_to_is_known(driver):
    place = driver.made("cuMemAlloc_v2", c_size_t(100))
    start, size, kind = c_uint64(), c_size_t(), c_int()
    assert driver("cuPointerGetAttribute", byref(kind), 2, c_uint64(place + 50)) == 0
    assert driver("cuMemGetAddressRange_v2", byref(start), byref(size), c_uint64(place + 50)) == 0
    assert (kind.value, start.value, size.value) == (2, place, 100)
    assert driver("cuPointerGetAttribute", byref(kind), 2, c_uint64(place + 100)) == INVALID_VALUE


# --- order ------------------------------------------------------------------------------------------


def test_work_runs_when_something_waits_for_it_in_the_order_of_its_stream(driver):
    one, other = driver.stream(), driver.stream()
    for value in (1, 2):
        driver.launch(one, value)
        driver.launch(other, 10 * value)
    assert driver.ran == []
    assert driver("cuStreamQuery", c_void_p(other)) == NOT_READY
    assert driver("cuStreamSynchronize", c_void_p(one)) == 0
    assert driver.ran == [10, 1, 2]  # cuStreamQuery completed one operation, 10, so that polling loops end
    assert driver("cuStreamQuery", c_void_p(one)) == 0
    assert driver("cuCtxSynchronize") == 0
    assert driver.ran == [10, 1, 2, 20]


def test_an_event_keeps_what_waits_for_it_behind_what_it_was_recorded_behind(driver):
    one, other, event = driver.stream(), driver.stream(), driver.made("cuEventCreate", 0)
    driver.launch(one, 1)
    assert driver("cuEventRecord", c_void_p(event), c_void_p(one)) == 0
    driver.launch(one, 2)
    assert driver("cuStreamWaitEvent", c_void_p(other), c_void_p(event), 0) == 0
    driver.launch(other, 3)
    assert driver("cuEventQuery", c_void_p(event)) == NOT_READY
    assert driver("cuStreamSynchronize", c_void_p(other)) == 0
    assert driver.ran == [1, 3]
    assert driver("cuEventQuery", c_void_p(event)) == 0
    later, time = driver.made("cuEventCreate", 0), c_float(-1)
    assert driver("cuEventRecord", c_void_p(later), c_void_p(one)) == 0
    assert driver("cuEventElapsedTime", byref(time), c_void_p(event), c_void_p(later)) == NOT_READY
    assert driver("cuEventSynchronize", c_void_p(later)) == 0
    assert driver("cuEventElapsedTime", byref(time), c_void_p(event), c_void_p(later)) == 0
    assert driver.ran == [1, 3, 2]
    assert time.value >= 0


def test_the_default_stream_waits_for_blocking_streams_and_they_for_it_and_no_others(driver):
    blocking, free = driver.stream(flags=0), driver.stream(flags=1)
    for stream, value in ((blocking, 1), (free, 9), (0, 2), (blocking, 3)):
        driver.launch(stream, value)
    assert driver("cuStreamSynchronize", c_void_p(blocking)) == 0
    assert driver.ran == [1, 2, 3]


def test_a_copy_of_pageable_memory_takes_what_was_there_when_it_was_asked_for(driver):
    stream, place = driver.stream(), driver.made("cuMemAlloc_v2", c_size_t(4))
    host = ctypes.c_uint32(5)
    driver.launch(stream, 1, place)
    assert driver("cuMemcpyHtoDAsync_v2", c_uint64(place), byref(host), c_size_t(4), c_void_p(stream)) == 0
    host.value = 6
    assert driver.word(place) != 5, "a copy in the default stream must not wait for a non-blocking stream"
    assert driver("cuStreamSynchronize", c_void_p(stream)) == 0
    assert driver.word(place) == 5


def test_memory_is_given_back_when_what_may_use_it_is_done(driver):
    stream, place = driver.stream(), driver.made("cuMemAlloc_v2", c_size_t(4))
    driver.launch(stream, 1, place)
    assert driver("cuMemFree_v2", c_uint64(place)) == 0
    assert driver.ran == [1]


def test_code_that_is_unloaded_under_a_launch_is_a_fault(driver):
    loaded = driver.made("cuLibraryLoadData", image(DECLARED, scalar("u32")), None, None, 0, None, None, 0)
    kernel = driver.made("cuLibraryGetKernel", c_void_p(loaded), b"k")
    to, value, stream = c_uint64(0), ctypes.c_uint32(1), driver.stream()
    parameters = (c_void_p * 2)(ctypes.addressof(to), ctypes.addressof(value))
    shape = (2, 1, 1, 32, 1, 1, 0, c_void_p(stream), parameters, None)
    assert driver("cuLaunchKernel", c_void_p(kernel), *shape) == 0
    assert driver("cuLibraryUnload", c_void_p(loaded)) == 0
    with lost_at_the_end(driver):
        assert driver("cuStreamSynchronize", c_void_p(stream)) == LAUNCH_FAILED
    assert driver.ran == []


def test_a_fault_is_the_error_of_the_next_wait_and_of_all_that_follows(driver):
    stream, place = driver.stream(), driver.made("cuMemAlloc_v2", c_size_t(4))
    driver.fault = ILLEGAL_ADDRESS
    driver.launch(stream, 1)
    driver.launch(stream, 2)
    with lost_at_the_end(driver):
        assert driver("cuStreamSynchronize", c_void_p(stream)) == ILLEGAL_ADDRESS
        assert driver("cuMemAlloc_v2", byref(c_uint64()), c_size_t(4)) == ILLEGAL_ADDRESS
        with pytest.raises(DriverError, match="the context is lost"):
            driver.launch(0, 3)
    assert driver.ran == [1]
    assert driver("cuMemFree_v2", c_uint64(place)) == 0


# --- contexts ---------------------------------------------------------------------------------------


def test_a_function_belongs_to_a_context_and_a_kernel_goes_with_the_stream(driver, streams: Streams):
    kernel = driver.plan.module.kernel("k")
    function = driver.made("cuKernelGetFunction", c_void_p(kernel))
    to, value = c_uint64(0), ctypes.c_uint32(1)
    parameters = (c_void_p * 2)(ctypes.addressof(to), ctypes.addressof(value))
    for stream, result in ((streams.primary(), 0), (streams.own(), INVALID_HANDLE), (streams.green(), INVALID_HANDLE)):
        shape = (2, 1, 1, 32, 1, 1, 0, c_void_p(stream), parameters, None)
        assert driver("cuLaunchKernel", c_void_p(function), *shape) == result
        assert driver("cuLaunchKernel", c_void_p(kernel), *shape) == 0
        assert driver("cuStreamSynchronize", c_void_p(stream)) == 0
    assert driver.ran == [1] * 4


def test_a_stream_that_was_destroyed_or_never_made_is_no_handle(driver):
    stream = driver.stream()
    driver.launch(stream, 1)
    assert driver("cuStreamDestroy_v2", c_void_p(stream)) == 0
    assert driver.ran == [1], "work submitted before cuStreamDestroy is executed"
    for handle in (stream, 0x5000):
        with pytest.raises(DriverError, match="INVALID_HANDLE"):
            driver.launch(handle, 2)


@pytest.mark.usefixtures("null")
@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"attributes": ((2, (1).to_bytes(4, "little")),)}, COOPERATIVE_TOO_LARGE),
        ({"cluster": (32, 1, 1)}, INVALID_CLUSTER_SIZE),
        ({"attributes": ((9999, bytes(4)),)}, INVALID_VALUE),
    ],
    ids=["cooperative", "cluster", "unknown"],
)
def test_launches_that_no_device_takes_are_refused(asked, error):
    plan = Plan(Module(image()), "k", grid=(1 << 20, 1, 1), block=(1024, 1, 1), **asked)
    with pytest.raises(DriverError) as caught:
        plan.launch((), 0, 0)
    assert caught.value.code == error


# --- captures ---------------------------------------------------------------------------------------


def end(driver: Driver, stream: int) -> tuple[int, int]:
    """End a capture; return the error code and the graph."""
    graph = c_uint64()
    return driver("cuStreamEndCapture", c_void_p(stream), byref(graph)), graph.value


def test_a_graph_replays_launches_copies_and_fills_on_what_is_there_then(driver):
    stream, place, copied = driver.stream(), *(driver.made("cuMemAlloc_v2", c_size_t(4)) for _ in range(2))
    assert driver("cuStreamBeginCapture_v2", c_void_p(stream), 0) == 0
    driver.launch(stream, 7, place)
    both = (c_uint64(copied), c_uint64(place), c_size_t(4), c_void_p(stream))
    assert driver("cuMemcpyDtoDAsync_v2", *both) == 0
    assert driver("cuMemsetD32Async", c_uint64(place), 3, c_size_t(1), c_void_p(stream)) == 0
    error, graph = end(driver, stream)
    assert error == 0
    assert driver.ran == []
    executable, count = driver.made("cuGraphInstantiateWithFlags", c_void_p(graph), c_uint64(0)), c_size_t()
    assert driver("cuGraphGetNodes", c_void_p(graph), None, byref(count)) == 0
    assert count.value == 3
    assert driver("cuGraphDestroy", c_void_p(graph)) == 0
    for _ in range(2):
        assert driver("cuGraphLaunch", c_void_p(executable), c_void_p(stream)) == 0
    assert driver("cuStreamSynchronize", c_void_p(stream)) == 0
    assert (driver.ran, driver.word(copied), driver.word(place)) == ([7, 7], 7, 3)
    assert driver("cuGraphExecDestroy", c_void_p(executable)) == 0


class Captured:
    """Active capture: its blocking stream, an event recorded in it, an event recorded before it, and memory."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.stream, self.event, self.earlier = driver.stream(flags=0), *(driver.made("cuEventCreate", 0) for _ in "ab")
        self.place = driver.made("cuMemAlloc_v2", c_size_t(4))
        assert driver("cuEventRecord", c_void_p(self.earlier), c_void_p(driver.stream())) == 0
        assert driver("cuStreamBeginCapture_v2", c_void_p(self.stream), 0) == 0
        assert driver("cuEventRecord", c_void_p(self.event), c_void_p(self.stream)) == 0


FORBIDDEN: dict[str, tuple[int, str, Callable[[Captured], tuple[object, ...]]]] = {
    "allocating": (UNSUPPORTED, "cuMemAlloc_v2", lambda _: (byref(c_uint64()), c_size_t(4))),
    "cuStreamSynchronize of the stream": (UNSUPPORTED, "cuStreamSynchronize", lambda it: (c_void_p(it.stream),)),
    "cuStreamQuery of the stream": (UNSUPPORTED, "cuStreamQuery", lambda it: (c_void_p(it.stream),)),
    "cuCtxSynchronize of the context": (UNSUPPORTED, "cuCtxSynchronize", lambda _: ()),
    "a query of a captured event": (CAPTURED_EVENT, "cuEventQuery", lambda it: (c_void_p(it.event),)),
    "default stream memset": (IMPLICIT, "cuMemsetD8Async", lambda it: (c_uint64(it.place), 0, c_size_t(4), None)),
    "an earlier event": (ISOLATION, "cuStreamWaitEvent", lambda it: (c_void_p(it.stream), c_void_p(it.earlier), 0)),
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_what_is_forbidden_in_a_capture_fails_and_ends_it(driver, what):
    error, function, arguments = FORBIDDEN[what]
    captured = Captured(driver)
    assert driver(function, *arguments(captured)) == error
    with pytest.raises(DriverError, match="CAPTURE_INVALIDATED"):
        driver.launch(captured.stream, 1)
    assert end(driver, captured.stream)[0] == INVALIDATED
    assert end(driver, captured.stream)[0] == ILLEGAL_STATE
    driver.launch(captured.stream, 2)
    assert driver("cuStreamSynchronize", c_void_p(captured.stream)) == 0
    assert driver.ran == [2]


@pytest.mark.parametrize("joined", [True, False])
def test_a_stream_that_was_drawn_into_a_capture_must_be_waited_for(driver, joined):
    stream, side, event = driver.stream(), driver.stream(), driver.made("cuEventCreate", 0)
    assert driver("cuStreamBeginCapture_v2", c_void_p(stream), 0) == 0
    assert driver("cuEventRecord", c_void_p(event), c_void_p(stream)) == 0
    assert driver("cuStreamWaitEvent", c_void_p(side), c_void_p(event), 0) == 0
    driver.launch(side, 1)
    if joined:
        assert driver("cuEventRecord", c_void_p(event), c_void_p(side)) == 0
        assert driver("cuStreamWaitEvent", c_void_p(stream), c_void_p(event), 0) == 0
    error, graph = end(driver, stream)
    assert error == (0 if joined else UNJOINED)
    assert bool(graph) == joined
    driver.launch(side, 2)
    assert driver("cuStreamSynchronize", c_void_p(side)) == 0
    assert driver.ran == [2], "the side stream is still captured"


@pytest.mark.parametrize(("mode", "mine", "error"), [(0, 0, UNSUPPORTED), (1, 0, 0), (2, 0, 0), (0, 1, 0), (0, 2, 0)])
def test_captures_of_other_threads_forbid_what_their_mode_and_this_threads_say(driver, mode, mine, error):
    stream, found = driver.stream(), []
    assert driver("cuStreamBeginCapture_v2", c_void_p(stream), mode) == 0

    def work() -> None:
        context = driver.made("cuDevicePrimaryCtxRetain", 0)
        driver("cuCtxSetCurrent", c_void_p(context))
        driver("cuThreadExchangeStreamCaptureMode", byref(c_int(mine)))
        found.append(driver("cuMemAlloc_v2", byref(c_uint64()), c_size_t(4)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [error]
    assert end(driver, stream)[0] == (INVALIDATED if error else 0)
