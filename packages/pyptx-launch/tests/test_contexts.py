"""Launches on streams of any context run in the stream's context and leave the current context unchanged."""

from __future__ import annotations

import gc
import threading

import pytest

from pyptx_launch import DriverError, Map, MapPointer, Module, Plan, Pointer, TensorMap

from .images import MAP, POINTER, image

TILE = TensorMap.dense("bf16", (128, 64), (64, 64), swizzle="128B")
KINDS = ("primary", "own", "green")
CAPACITY, CHUNK = 256, 64  # number of tensor maps in a MapPool, and in one device allocation of the pool


def plan_of(*parameters) -> Plan:
    declared = [MAP if isinstance(each, Map) else POINTER for each in parameters]
    return Plan(Module(image(*declared)), "k", grid=(4, 1, 1), block=(128, 1, 1), parameters=parameters)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("before", [None, 0, 1])
def test_a_stream_of_any_context_is_launched_on(null, streams, kind, before):
    plan = plan_of(Pointer(0), Map(0, TILE), MapPointer(0, TILE))
    stream = getattr(streams, kind)()
    null.context(before)
    for _ in range(3):
        plan.launch((0x1000,), stream, 0)
        assert null.current() == before
    assert [launch["stream"] for launch in null.launches()] == [stream] * 3


def test_a_plan_serves_streams_of_several_contexts_and_devices_at_once(null, streams):
    plan = plan_of(Pointer(0), MapPointer(0, TILE))
    places = [(getattr(streams, kind)(device), device) for kind in KINDS for device in (0, 1)]
    wrong: list[BaseException] = []

    def run(stream: int, device: int) -> None:
        try:
            for step in range(100):
                plan.launch((0x1000 * (step % 7 + 1),), stream, device)
        except BaseException as error:  # noqa: BLE001 - a thread passes its error on
            wrong.append(error)

    threads = [threading.Thread(target=run, args=place) for place in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(null.launches()) == 600


def test_a_destroyed_context_is_an_error_of_its_launch_alone(null, streams):
    plan = plan_of(Pointer(0))
    stream = streams.own()
    plan.launch((0x1000,), stream, 0)
    null.fail("cuLaunchKernelEx", 709)
    with pytest.raises(DriverError, match="CUDA_ERROR_CONTEXT_IS_DESTROYED"):
        plan.launch((0x1000,), stream, 0)
    plan.launch((0x1000,), 0, 0)


# Tensor maps by address -----------------------------------------------------------------------------------------------


def addresses_in(launch) -> list[int]:
    return [int.from_bytes(each, "little") for each in launch["parameters"]]


def test_maps_are_pooled_by_content(null):
    plan = plan_of(MapPointer(0, TILE), MapPointer(1, TILE))
    before = null.live()["memory"]
    for pair in ((0x1000, 0x2000), (0x2000, 0x1000), (0x1000, 0x1000)):
        plan.launch(pair, 0, 0)
    first, second, third = map(addresses_in, null.launches())
    assert first == second[::-1]
    assert third == [first[0]] * 2
    assert null.live()["memory"] == before + 1, "one allocation holds many tensor maps"


def test_a_map_is_written_before_the_launch_and_in_spite_of_a_capture(null):
    plan = plan_of(MapPointer(0, TILE))
    plan.launch((0x1000,), 0, 0)
    calls = null.take()
    names = [call["call"] for call in calls]
    assert names.index("cuMemAlloc") < names.index("cuMemcpyHtoDAsync") < names.index("cuLaunchKernelEx")
    touched = [call for call in calls if call["call"] in ("cuMemAlloc", "cuMemcpyHtoDAsync", "cuKernelGetFunction")]
    assert [call["capture_mode"] for call in touched] == [2, 2, 2]
    (copied,) = (call for call in calls if call["call"] == "cuMemcpyHtoDAsync")
    assert copied["stream"] != 0
    assert bytes.fromhex(copied["bytes"]) == TILE.encode(0x1000)


def test_the_pool_is_bounded_and_its_places_are_used_again(null, streams):
    plan = plan_of(MapPointer(0, TILE))
    stream, before = streams.primary(), null.live()["memory"]
    for step in range(4_000):
        plan.launch((0x1000 * (step + 1),), stream, 0)
    assert null.live()["memory"] - before == CAPACITY // CHUNK
    found = null.take()
    places = {addresses_in({"parameters": map(bytes.fromhex, each["parameters"])})[0] for each in launches(found)}
    assert len(places) == CAPACITY


def launches(calls) -> list:
    return [call for call in calls if call["call"] == "cuLaunchKernelEx"]


def test_a_place_is_written_again_only_when_its_launches_are_complete(null, streams):
    plan = plan_of(MapPointer(0, TILE))
    stream = streams.primary()
    for step in range(CAPACITY):
        plan.launch((0x1000 * (step + 1),), stream, 0)
    null.fail("cuEventSynchronize", 700)
    with pytest.raises(DriverError, match="reusing a tensor map's memory: cuEventSynchronize"):
        plan.launch((0x1000 * 1000,), stream, 0)
    null.take()
    plan.launch((0x1000 * 1000,), stream, 0)
    names = [call["call"] for call in null.take()]
    assert "cuMemAlloc" not in names
    assert names.index("cuMemcpyHtoDAsync") < names.index("cuLaunchKernelEx")


def test_what_was_used_last_stays_longest(null):
    plan = plan_of(MapPointer(0, TILE))
    for step in range(CAPACITY):
        plan.launch((0x1000 * (step + 1),), 0, 0)
    plan.launch((0x1000,), 0, 0)
    plan.launch((0x1000 * 5000,), 0, 0)
    null.take()
    plan.launch((0x1000,), 0, 0)
    assert "cuMemcpyHtoDAsync" not in [call["call"] for call in null.take()]
    plan.launch((0x2000,), 0, 0)
    assert "cuMemcpyHtoDAsync" in [call["call"] for call in null.take()], "the oldest tensor map is still pooled"


def test_what_a_graph_has_captured_keeps_its_place(null, streams):
    plan = plan_of(MapPointer(0, TILE))
    stream = streams.primary()
    plan.launch((0x9000000,), stream, 0)
    with streams.captured(stream):
        plan.launch((0x9000000,), stream, 0)
        plan.launch((0xA000000,), stream, 0)
    kept = {each for launch in null.launches() for each in addresses_in(launch)}
    assert len(kept) == 2
    for step in range(2 * CAPACITY):
        plan.launch((0x1000 * (step + 1),), stream, 0)
    assert not kept & {each for launch in null.launches() for each in addresses_in(launch)}
    plan.launch((0xA000000,), stream, 0)
    assert set(addresses_in(null.launches()[0])) < kept, "the graph's copy serves"


def test_a_launch_may_take_more_maps_than_the_pool_keeps(null):
    plan = plan_of(*(MapPointer(index, TILE) for index in range(CAPACITY + 44)))
    pointers = [0x1000 * (index + 1) for index in range(CAPACITY + 44)]
    for _ in range(2):
        plan.launch(pointers, 0, 0)
        assert len(set(addresses_in(null.launches()[0]))) == CAPACITY + 44


def test_threads_never_read_each_others_maps(null, streams):
    plan = plan_of(Pointer(0), MapPointer(0, TILE))
    handles = [streams.primary() for _ in range(8)]

    def run(thread: int) -> None:
        for step in range(150):
            plan.launch((0x1000 * (1 + thread + 8 * step),), handles[thread], 0)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written: dict[int, int] = {}  # tensor address in each written map, by the map's device address
    for call in null.take():
        if call["call"] == "cuMemcpyHtoDAsync":
            written[call["address"]] = int.from_bytes(bytes.fromhex(call["bytes"])[:8], "little")
        elif call["call"] == "cuLaunchKernelEx":
            tensor, map_ = (int.from_bytes(bytes.fromhex(each), "little") for each in call["parameters"])
            assert written[map_] == tensor


def test_pools_go_with_their_module(null, streams):
    gc.collect()
    before = null.live()
    plan = plan_of(MapPointer(0, TILE))
    for kind in KINDS:
        plan.launch((0x1000,), getattr(streams, kind)(), 0)
    del plan
    gc.collect()
    assert null.live()["memory"] == before["memory"]
